//! A place on this machine that takes whatever is reported to it, and counts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Result;

/// Takes reports as long as this value lives.
pub(super) struct Sink {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
}

impl Sink {
    pub(super) fn open() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let sink = Self {
            address: listener.local_addr()?,
            requests: Arc::default(),
            is_over: Arc::default(),
        };
        let (requests, is_over) = (Arc::clone(&sink.requests), Arc::clone(&sink.is_over));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let requests = Arc::clone(&requests);
                std::thread::spawn(move || take(&stream, &requests));
            }
        });
        Ok(sink)
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes whoever waits for the next one.
        let _ = TcpStream::connect(self.address);
    }
}

/// Takes requests until the client goes. What is wrong with one ends the connection.
fn take(stream: &TcpStream, requests: &AtomicUsize) {
    const ANSWER: &[u8] = b"HTTP/1.1 202 Accepted\r\ncontent-type: application/json\r\n\
        content-length: 21\r\n\r\n{\"status\":\"accepted\"}";
    let _ = stream.set_nodelay(true);
    let mut from = BufReader::new(stream);
    let mut to = stream;
    while let Some(length) = length(&mut from) {
        let body = std::io::copy(&mut from.by_ref().take(length), &mut std::io::sink());
        if body.is_err() || to.write_all(ANSWER).is_err() {
            break;
        }
        requests.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads a request up to its body, whose length it returns.
fn length(from: &mut impl BufRead) -> Option<u64> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            return Some(length);
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
}
