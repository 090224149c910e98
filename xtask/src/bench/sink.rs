//! An HTTP server in this process that accepts every report, and counts them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;

/// Its thread runs until the process ends.
pub(super) struct Sink {
    pub(super) url: String,
    requests: Arc<AtomicUsize>,
}

impl Sink {
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let sink =
            Self { url: format!("http://{}", listener.local_addr()?), requests: Arc::default() };
        let requests = Arc::clone(&sink.requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let requests = Arc::clone(&requests);
                std::thread::spawn(move || accept(&stream, &requests));
            }
        });
        Ok(sink)
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

/// Answers requests until the client closes the connection. An error ends it, too.
fn accept(stream: &TcpStream, requests: &AtomicUsize) {
    const ANSWER: &[u8] = b"HTTP/1.1 202 Accepted\r\ncontent-type: application/json\r\n\
        content-length: 21\r\n\r\n{\"status\":\"accepted\"}";
    let _ = stream.set_nodelay(true);
    let mut from = BufReader::new(stream);
    let mut to = stream;
    while let Some(length) = body_length(&mut from) {
        let body = std::io::copy(&mut from.by_ref().take(length), &mut std::io::sink());
        if body.is_err() || to.write_all(ANSWER).is_err() {
            break;
        }
        requests.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads a request up to its body.
fn body_length(from: &mut impl BufRead) -> Option<u64> {
    let mut length = 0;
    for line in from.lines() {
        let line = line.ok()?.to_ascii_lowercase();
        if line.is_empty() {
            return Some(length);
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    None
}
