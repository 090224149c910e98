//! Waiting with a deadline, so that a test whose event never comes fails instead of hanging.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Far more than a busy machine needs: no test depends on how fast the machine is.
pub const DEADLINE: Duration = Duration::from_mins(3);

/// Calls `probe` until it returns a value, and panics after `deadline`.
#[track_caller]
pub fn eventually<T>(deadline: Duration, mut probe: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(started.elapsed() < deadline, "this did not happen within {deadline:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for a process to end. Kills it at the deadline, so that nothing outlives the test.
#[track_caller]
pub fn wait(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    eventually(DEADLINE * 2, || {
        if started.elapsed() > DEADLINE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the process did not end within {DEADLINE:?}");
        }
        child.try_wait().unwrap()
    })
}

/// Runs a command without input to its end.
#[track_caller]
pub fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(command.spawn().unwrap())
}

/// Closes the input of a process and collects its output until it ends.
#[track_caller]
pub fn finish(mut child: Child) -> Output {
    drop(child.stdin.take());
    let (stdout, stderr) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let status = wait(&mut child);
    let all = |bytes: Receiver<Vec<u8>>| bytes.recv_timeout(DEADLINE).unwrap();
    Output { status, stdout: all(stdout), stderr: all(stderr) }
}

fn collect(source: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut source) = source {
            let _ = source.read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
    });
    receiver
}

/// A pipe or socket whose reads fail with [`io::ErrorKind::TimedOut`] when nothing arrives until
/// [`DEADLINE`].
#[derive(Debug)]
pub struct DeadlineReader<S>(S);

impl<S: Read + AsFd> DeadlineReader<S> {
    pub fn new(source: S) -> Self {
        Self(source)
    }
}

impl<S: Read + AsFd> Read for DeadlineReader<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let deadline = Timespec::try_from(DEADLINE).unwrap();
        let mut sources = [PollFd::new(&self.0, PollFlags::IN)];
        if poll(&mut sources, Some(&deadline))? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.0.read(buffer)
    }
}
