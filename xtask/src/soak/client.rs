//! Small clients of the two transports, one question at a time.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{ChildStdin, ChildStdout};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

/// Longer than any request may take: an answer must come by then, if only to refuse.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a tool answered.
#[derive(Debug)]
pub(super) enum Answer {
    Given(Value),
    /// With the code of the contract.
    Refused(String, String),
}

pub(super) enum Client {
    Stdio(Stdio),
    Http(Http),
}

impl Client {
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Answer> {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = match self {
            Self::Stdio(stdio) => stdio.ask("tools/call", &params)?,
            Self::Http(http) => http.ask("tools/call", &params)?,
        };
        read(&answer)
    }
}

fn read(answer: &Value) -> Result<Answer> {
    let result = &answer["result"];
    ensure!(result.is_object(), "no result: {answer}");
    if result["isError"] != true {
        return Ok(Answer::Given(result["structuredContent"].clone()));
    }
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    let error: Value = serde_json::from_str(text).unwrap_or_default();
    let code = error["error"].as_str().context("an error without a code")?;
    Ok(Answer::Refused(code.to_owned(), text.to_owned()))
}

/// A session on the streams of a process.
pub(super) struct Stdio {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Stdio {
    pub(super) fn open(input: ChildStdin, output: ChildStdout) -> Result<Self> {
        let mut session = Self { input, output: BufReader::new(output), asked: 0 };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "soak", "version": "1"}});
        session.ask("initialize", &hello)?;
        writeln!(session.input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
        Ok(session)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.asked += 1;
        let asked = self.asked;
        let request = json!({"jsonrpc": "2.0", "id": asked, "method": method, "params": params});
        writeln!(self.input, "{request}")?;
        self.input.flush()?;
        loop {
            let mut line = String::new();
            ensure!(self.output.read_line(&mut line)? > 0, "the server has ended");
            let message: Value = serde_json::from_str(&line).context("a line of no protocol")?;
            // It also tells of changes.
            if message["id"] == asked && message.get("method").is_none() {
                return Ok(message);
            }
        }
    }
}

/// A connection that is kept.
pub(super) struct Http {
    stream: BufReader<TcpStream>,
    address: String,
    asked: u64,
}

impl Http {
    /// `address` is a host and a port.
    pub(super) fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream), address: address.to_owned(), asked: 0 })
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.asked += 1;
        let asked = self.asked;
        let request = json!({"jsonrpc": "2.0", "id": asked, "method": method, "params": params});
        let (status, body) = self.send("POST", "/mcp", Some(&request))?;
        ensure!(status == 200, "status {status}: {body}");
        let message = if body.trim_start().starts_with('{') {
            serde_json::from_str::<Value>(&body)?
        } else {
            events(&body, asked).with_context(|| format!("no answer in {body}"))?
        };
        ensure!(message["id"] == asked, "an answer to another question: {message}");
        Ok(message)
    }

    /// A request to the REST interface: its status and what came.
    pub(super) fn request(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value)> {
        let (status, body) = self.send(method, path, body)?;
        Ok((status, serde_json::from_str(&body).unwrap_or(Value::String(body))))
    }

    fn send(&mut self, method: &str, path: &str, body: Option<&Value>) -> Result<(u16, String)> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.context("no status line")?;
        let (mut length, mut chunked) = (0, false);
        loop {
            let header = self.line()?.to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            chunked |= header.starts_with("transfer-encoding:") && header.contains("chunked");
        }
        let body = if chunked { self.chunks()? } else { self.bytes(length)? };
        Ok((status, String::from_utf8(body)?))
    }

    fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size = self.line()?;
            let size = usize::from_str_radix(size.split(';').next().unwrap_or_default(), 16)?;
            let chunk = self.bytes(size)?;
            ensure!(self.line()?.is_empty(), "a chunk is longer than it says");
            if size == 0 {
                return Ok(body);
            }
            body.extend(chunk);
        }
    }

    fn bytes(&mut self, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            bail!("the server closed the connection");
        }
        Ok(line.trim_end().to_owned())
    }
}

/// The answer among the events of a stream.
fn events(body: &str, asked: u64) -> Option<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    let mut messages = data.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
    messages.find(|message| message["id"] == asked)
}
