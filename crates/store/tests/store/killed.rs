//! A child process that writes to a store until it is killed.

use std::process::{Command, Stdio};
use std::time::Duration;

use kenning_testkit::{LineProcess, wait};

/// Starts a child that writes `size` skills or calls at a time to the location, kills it some time
/// after it printed so many lines `begun N`, and returns all its lines.
pub(crate) fn run_and_kill(
    kind: &str,
    location: &str,
    size: u64,
    begun: usize,
    pause: Duration,
) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_store-crash-child"));
    command.args([kind, location, &size.to_string()]).stderr(Stdio::null());
    let mut process = LineProcess::start(&mut command);
    let mut printed = Vec::new();
    while printed.iter().filter(|line: &&String| line.starts_with("begun ")).count() < begun {
        printed.push(next(&mut process).expect("the child goes on until it is killed"));
    }
    std::thread::sleep(pause);
    process.child.kill().unwrap();
    wait(&mut process.child);
    // It may have got further before it was killed.
    printed.extend(std::iter::from_fn(|| next(&mut process)));
    printed
}

/// The next line, unless the output has ended.
fn next(process: &mut LineProcess) -> Option<String> {
    let line = process.line();
    (!line.is_empty()).then(|| line.trim_end().to_owned())
}

/// The number in the last line `WORD N`.
pub(crate) fn last(printed: &[String], word: &str) -> Option<u64> {
    printed.iter().rev().find_map(|line| line.strip_prefix(word)?.parse().ok())
}
