//! Waiting with a deadline, so that a test whose event never comes fails instead of hanging.

use std::io::{self, Cursor, Read};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

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

/// A reader that fails with [`io::ErrorKind::TimedOut`] when nothing arrives until [`DEADLINE`].
///
/// A thread reads ahead by a few chunks only, so that a slow test still slows the writer down.
#[derive(Debug)]
pub struct DeadlineReader {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Cursor<Vec<u8>>,
}

impl DeadlineReader {
    pub fn new(mut source: impl Read + Send + 'static) -> Self {
        let (sender, chunks) = sync_channel(2);
        thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            loop {
                let chunk = source.read(&mut bytes).map(|read| bytes[..read].to_vec());
                let is_last = chunk.as_ref().map_or(true, Vec::is_empty);
                if sender.send(chunk).is_err() || is_last {
                    return;
                }
            }
        });
        Self { chunks, chunk: Cursor::default() }
    }
}

impl Read for DeadlineReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.chunk.position() == self.chunk.get_ref().len() as u64 {
            match self.chunks.recv_timeout(DEADLINE) {
                Ok(chunk) => self.chunk = Cursor::new(chunk?),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
        self.chunk.read(buffer)
    }
}
