//! A child process that writes to a store until it is killed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Runs the test `child` with `variable` set to the location, kills it some time after it printed
/// so many lines `begun N`, and returns all its lines.
pub(crate) fn run_and_kill(
    variable: &str,
    location: &str,
    begun: usize,
    pause: Duration,
) -> Vec<String> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(variable, location);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut printed = Vec::new();
    while printed.iter().filter(|line: &&String| line.starts_with("begun ")).count() < begun {
        printed.push(lines.next().expect("the child goes on until it is killed"));
    }
    std::thread::sleep(pause);
    child.kill().unwrap();
    child.wait().unwrap();
    // It may have got further before it was killed.
    printed.extend(lines);
    printed
}

/// The number in the last line `WORD N`.
pub(crate) fn last(printed: &[String], word: &str) -> Option<u64> {
    printed.iter().rev().find_map(|line| line.strip_prefix(word)?.parse().ok())
}
