//! A second process that ends the server if the wrapper is killed.
//!
//! A killed wrapper cannot clean up, and a server need not notice that its input has ended. So a
//! small process reads a pipe from the wrapper, which the kernel closes however the wrapper ends:
//! if it closes before the watchdog was dismissed, the watchdog ends the server's process group.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{ffi::OsString, os::unix::process::CommandExt};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use crate::WrapError;

const DISMISSAL: &str = "done";
/// Between SIGTERM and SIGKILL.
const PATIENCE: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs as the watchdog process, until it is dismissed or has ended the server.
pub fn run() -> io::Result<()> {
    watch(io::stdin().lock())
}

fn watch(wrapper: impl Read) -> io::Result<()> {
    let mut lines = BufReader::new(wrapper).lines();
    let Some(group) = lines.next().transpose()? else { return Ok(()) };
    let group = group.trim().parse().ok().and_then(Pid::from_raw);
    let Some(group) = group else { return Ok(()) };
    match lines.next() {
        Some(Ok(line)) if line.trim() == DISMISSAL => {}
        _ => end(group, PATIENCE),
    }
    Ok(())
}

/// Ends a process group: SIGTERM first, SIGKILL after `patience`.
pub(crate) fn end(group: Pid, patience: Duration) {
    if kill_process_group(group, Signal::TERM).is_err() {
        return;
    }
    let begun = Instant::now();
    while begun.elapsed() < patience {
        if test_kill_process_group(group).is_err() {
            return;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let _ = kill_process_group(group, Signal::KILL);
}

/// The wrapper's handle on its watchdog.
#[derive(Debug)]
pub(crate) struct Watchdog {
    process: Child,
}

impl Watchdog {
    /// Starts it in a process group of its own, which signals to the wrapper's group do not reach.
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
            WrapError::Watchdog { program, source }
        })?;
        Ok(Self { process })
    }

    /// Names the process group to end.
    pub(crate) fn watch(&mut self, group: Pid) {
        self.write(&group.as_raw_nonzero().to_string());
    }

    /// The server has ended: the watchdog exits and does nothing.
    pub(crate) fn dismiss(mut self) {
        self.write(DISMISSAL);
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }

    fn write(&mut self, line: &str) {
        if let Some(pipe) = &mut self.process.stdin
            && let Err(error) = writeln!(pipe, "{line}")
        {
            tracing::warn!(%error, "the watchdog cannot be reached; a killed wrapper would leave its server running");
        }
    }
}
