//! An OpenAI-compatible endpoint whose responses a test defines.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use serde_json::{Value, json};

/// Serves until the test's process ends.
#[derive(Debug)]
pub struct Scripted(SocketAddr);

impl Scripted {
    /// `respond` maps a request to the model's message.
    pub fn start(respond: fn(&Value) -> Value) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                std::thread::spawn(move || answer_all(stream, respond));
            }
        });
        Self(address)
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1/", self.0)
    }
}

fn answer_all(mut stream: TcpStream, respond: fn(&Value) -> Value) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(body) = read_request(&mut reader) {
        let answer = json!({
            "id": "1", "object": "chat.completion", "created": 0, "model": "scripted",
            "choices": [{"index": 0, "message": respond(&body), "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        });
        let answer = answer.to_string();
        let length = answer.len();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json";
        if write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n{answer}").is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
