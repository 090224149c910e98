//! Sees to it that a server does not outlive its wrapper.
//!
//! A wrapper that is killed outright can do nothing any more, and a server need not notice that
//! its input has ended. So a second, tiny process waits at a pipe from the wrapper: when the pipe
//! closes without a farewell, it ends the server's process group.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{ffi::OsString, os::unix::process::CommandExt};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::WrapError;

const FAREWELL: &str = "done";
/// Between the request to end and the end.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What the guard's process does, from its start to its end.
pub fn keep() -> io::Result<()> {
    watch(io::stdin().lock())
}

fn watch(wrapper: impl Read) -> io::Result<()> {
    let mut lines = BufReader::new(wrapper).lines();
    let Some(group) = lines.next().transpose()? else { return Ok(()) };
    let group = group.trim().parse().ok().and_then(Pid::from_raw);
    let Some(group) = group else { return Ok(()) };
    match lines.next() {
        Some(Ok(word)) if word.trim() == FAREWELL => {}
        _ => end(group, PATIENCE),
    }
    Ok(())
}

/// Ends all of a process group: asks first.
pub(crate) fn end(group: Pid, patience: Duration) {
    if kill_process_group(group, Signal::TERM).is_err() {
        return;
    }
    let begun = Instant::now();
    while begun.elapsed() < patience {
        if test_kill_process_group(group).is_err() {
            return;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let _ = kill_process_group(group, Signal::KILL);
}

/// The wrapper's side of a guard.
#[derive(Debug)]
pub(crate) struct Guard {
    process: Child,
}

impl Guard {
    /// In a group of its own: what is meant for the wrapper's group must not reach it.
    pub(crate) fn start(command: &[OsString]) -> Result<Self, WrapError> {
        let (program, arguments) = command.split_first().ok_or(WrapError::NoCommand)?;
        let started = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        let process = started.map_err(|source| {
            let program = program.to_string_lossy().into_owned();
            WrapError::Guard { program, source }
        })?;
        Ok(Self { process })
    }

    /// Says whom to guard.
    pub(crate) fn watch(&mut self, group: Pid) {
        self.say(&group.as_raw_nonzero().to_string());
    }

    /// The server has ended; there is nothing left to guard.
    pub(crate) fn dismiss(mut self) {
        self.say(FAREWELL);
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }

    fn say(&mut self, word: &str) {
        if let Some(pipe) = &mut self.process.stdin
            && let Err(error) = writeln!(pipe, "{word}")
        {
            tracing::warn!(%error, "the guard does not listen");
        }
    }
}
