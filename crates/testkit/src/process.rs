//! Child processes of tests: one that speaks in lines, and one that serves HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use crate::wait::{DEADLINE, DeadlineReader, wait};

/// A process that reads and writes lines. It is killed when this value is dropped.
#[derive(Debug)]
pub struct LineProcess {
    pub child: Child,
    pub input: Option<ChildStdin>,
    pub output: BufReader<DeadlineReader<ChildStdout>>,
}

impl LineProcess {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(DeadlineReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    #[track_caller]
    pub fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line with its end, or an empty string at the end of the output.
    #[track_caller]
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// Closes the input and waits for the process to end.
    #[track_caller]
    pub fn close(mut self) -> ExitStatus {
        drop(self.input.take());
        wait(&mut self.child)
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        kill(&mut self.child);
    }
}

/// `kenning serve --http`, with the address that it printed. It is killed when this value is
/// dropped.
#[derive(Debug)]
pub struct HttpProcess {
    pub child: Child,
    address: String,
    log: Receiver<String>,
}

impl HttpProcess {
    /// Starts the command and returns once it listens.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (found, address) = channel();
        let (ended, log) = channel();
        thread::spawn(move || {
            let mut log = String::new();
            for line in stderr.lines().map_while(Result::ok) {
                if let Some(address) = address_in(&line) {
                    let _ = found.send(address.to_owned());
                }
                log += &line;
                log.push('\n');
            }
            let _ = ended.send(log);
        });
        let address = address.recv_timeout(DEADLINE).unwrap_or_else(|_| {
            kill(&mut child);
            panic!("the server does not listen: {}", log.recv_timeout(DEADLINE).unwrap())
        });
        Self { child, address, log }
    }

    /// Host and port, as in `127.0.0.1:8765`.
    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let mut kill = Command::new("kill");
        assert!(kill.arg("-TERM").arg(self.child.id().to_string()).status().unwrap().success());
    }

    /// Waits until the server has ended by itself, and returns how, and its log.
    #[track_caller]
    pub fn wait(mut self) -> (ExitStatus, String) {
        let status = wait(&mut self.child);
        (status, self.log.recv_timeout(DEADLINE).unwrap())
    }

    /// Sends SIGTERM, checks that the server ends with exit code 0, and returns its log.
    #[track_caller]
    pub fn stop(self) -> String {
        self.terminate();
        let (status, log) = self.wait();
        assert_eq!(status.code(), Some(0), "{log}");
        log
    }

    /// Ends the server without giving it a chance to clean up, and returns its log.
    pub fn kill(mut self) -> String {
        kill(&mut self.child);
        self.log.recv_timeout(DEADLINE).unwrap()
    }

    /// The answer to a request whose head is sent exactly as given, which no client library does.
    #[track_caller]
    pub fn raw(&self, head: &str, body: &str) -> String {
        let mut stream = self.connect();
        let length = body.len();
        write!(stream, "{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// A connection on which nothing is waited for longer than the deadline.
    #[track_caller]
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }
}

/// The address in the line that announces the MCP endpoint, as text or as JSON.
fn address_in(line: &str) -> Option<&str> {
    line.split_once("MCP   http://")?.1.split('/').next()
}

impl Drop for HttpProcess {
    fn drop(&mut self) {
        kill(&mut self.child);
    }
}

fn kill(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}
