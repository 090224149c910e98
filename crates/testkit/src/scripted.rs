//! An OpenAI-compatible endpoint whose responses a test defines.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use serde_json::{Value, json};

/// Serves until the test's process ends.
#[derive(Debug)]
pub struct Scripted(SocketAddr);

/// A request to a [`Scripted`] endpoint.
#[derive(Debug)]
pub struct Request {
    /// The request line and the headers, as they were sent.
    pub head: Vec<String>,
    pub body: Value,
}

impl Scripted {
    /// An OpenAI-compatible endpoint. `respond` maps the body of a request to the model's message.
    pub fn start(respond: fn(&Value) -> Value) -> Self {
        Self::serve(move |request| {
            let message = respond(&request.body);
            let answer = json!({
                "id": "1", "object": "chat.completion", "created": 0, "model": "scripted",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            });
            (200, answer)
        })
    }

    /// An endpoint of any kind. `respond` maps a request to a status and a body.
    pub fn serve(respond: impl Fn(&Request) -> (u16, Value) + Clone + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let respond = respond.clone();
                std::thread::spawn(move || answer_all(stream, respond));
            }
        });
        Self(address)
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1/", self.0)
    }
}

fn answer_all(mut stream: TcpStream, respond: impl Fn(&Request) -> (u16, Value)) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(request) = read_request(&mut reader) {
        let (status, answer) = respond(&request);
        let answer = answer.to_string();
        let length = answer.len();
        let head = format!("HTTP/1.1 {status} Scripted\r\nContent-Type: application/json");
        if write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n{answer}").is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut length = 0;
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_owned();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { head, body: serde_json::from_slice(&body).ok()? })
}
