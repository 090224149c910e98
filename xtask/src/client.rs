//! MCP clients over standard streams and over HTTP that send one request at a time.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::process::{self, Watchdog};

const PROTOCOL: &str = "2025-11-25";
/// Longer than a server lets any request take: a response must come by then, if only an error.
const RESPONSE_LIMIT: Duration = Duration::from_mins(1);
const EXIT_LIMIT: Duration = Duration::from_secs(30);

/// A JSON-RPC request.
pub(crate) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

pub(crate) fn tool_call(tool: &str, arguments: &Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

/// What a tool answered.
#[derive(Debug)]
pub(crate) enum ToolResult {
    Ok(Value),
    Error { code: String, text: String },
}

impl ToolResult {
    fn read(result: &Value) -> Result<Self> {
        if result["isError"] != true {
            return Ok(Self::Ok(result["structuredContent"].clone()));
        }
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let error: Value = serde_json::from_str(text).unwrap_or_default();
        let code = error["error"].as_str().context("a tool error without a code")?;
        Ok(Self::Error { code: code.to_owned(), text: text.to_owned() })
    }

    pub(crate) fn ok(self) -> Result<Value> {
        match self {
            Self::Ok(value) => Ok(value),
            Self::Error { code, text } => bail!("{code}: {text}"),
        }
    }
}

/// A client on either transport.
pub(crate) enum Client {
    Stdio(StdioClient),
    Http(HttpClient),
}

impl Client {
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<ToolResult> {
        match self {
            Self::Stdio(client) => client.call(tool, arguments),
            Self::Http(client) => client.call(tool, arguments),
        }
    }
}

/// A session with a server on standard streams, which is killed when it is dropped.
pub(crate) struct StdioClient {
    child: Child,
    /// `None` once the session is closed.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: u64,
    _watchdog: Watchdog,
}

impl StdioClient {
    /// Starts the server and initialises the session, which may last as long as `limit`.
    pub(crate) fn start(command: &mut Command, limit: Duration) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("its output is piped")?);
        let watchdog = Watchdog::start(child.id(), limit);
        let mut client = Self { child, input, output, requests: 0, _watchdog: watchdog };
        let client_info = json!({"name": "xtask", "version": "1"});
        let hello =
            json!({"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client_info});
        client.request("initialize", &hello)?;
        client.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(client)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<ToolResult> {
        ToolResult::read(&self.request("tools/call", &tool_call(tool, arguments))?)
    }

    /// The result of a request; a JSON-RPC error is an error.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.requests += 1;
        let id = self.requests;
        self.send(&format!("{}\n", request(id, method, params)))?;
        loop {
            let line = self.line()?;
            // Some SDKs by others print a greeting before the first response.
            if id == 1 && !line.starts_with('{') {
                continue;
            }
            let mut message: Value = serde_json::from_str(&line)?;
            // Notifications and the server's own requests may come before the response.
            if message["id"] == id && message.get("method").is_none() {
                let result = message["result"].take();
                ensure!(result.is_object(), "{method}: {message}");
                return Ok(result);
            }
        }
    }

    /// How long each of so many equal calls took. Responses are not parsed, to measure the server alone.
    pub(crate) fn time_calls(&mut self, call: &Value, times: usize) -> Result<Vec<Duration>> {
        let line = format!("{}\n", request(0, "tools/call", call));
        let mut time = || {
            let began = Instant::now();
            self.send(&line)?;
            loop {
                let response = self.line()?;
                let took = began.elapsed();
                if response.contains("\"id\"") {
                    let failed =
                        ["\"error\"", "\"isError\":true"].iter().any(|it| response.contains(it));
                    ensure!(!failed, "{response}");
                    return Ok(took);
                }
            }
        };
        (0..times).map(|_| time()).collect()
    }

    /// Closes the server's input, after which it must end by itself with exit code 0.
    pub(crate) fn close(mut self) -> Result<()> {
        drop(self.input.take());
        let status = process::wait_for_exit(&mut self.child, EXIT_LIMIT)?;
        ensure!(status.success(), "it ended with {status}");
        Ok(())
    }

    fn send(&mut self, line: &str) -> Result<()> {
        let input = self.input.as_mut().context("the session is closed")?;
        Ok(input.write_all(line.as_bytes())?)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.output.read_line(&mut line)? > 0, "the server has ended");
        Ok(line)
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        process::kill_tree(self.child.id());
        let _ = self.child.wait();
    }
}

/// One connection over HTTP/1.1 that is kept open.
pub(crate) struct HttpClient {
    stream: BufReader<TcpStream>,
    /// All headers that are the same in every request.
    headers: String,
    requests: u64,
}

impl HttpClient {
    /// `address` is a host and a port.
    pub(crate) fn open(address: &str, token: Option<&str>) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(RESPONSE_LIMIT))?;
        let mut headers = format!(
            "Host: {address}\r\nContent-Type: application/json\r\nMCP-Protocol-Version: {PROTOCOL}\r\n\
             Accept: application/json, text/event-stream\r\n"
        );
        if let Some(token) = token {
            headers += &format!("Authorization: Bearer {token}\r\n");
        }
        Ok(Self { stream: BufReader::new(stream), headers, requests: 0 })
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<ToolResult> {
        self.requests += 1;
        let body = request(self.requests, "tools/call", &tool_call(tool, arguments));
        let (status, message) = self.request("POST", "/mcp", Some(&body))?;
        let is_response = status == 200 && message["id"] == self.requests;
        ensure!(is_response && message["result"].is_object(), "status {status}: {message}");
        ToolResult::read(&message["result"])
    }

    /// The status and the body, which is a string if it is not JSON.
    pub(crate) fn request(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value)> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let (headers, length) = (&self.headers, body.len());
        let head = format!("{method} {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n");
        self.stream.get_mut().write_all((head + &body).as_bytes())?;
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.context("no status line")?;
        let (mut length, mut chunked) = (0, false);
        loop {
            let header = self.line()?.to_ascii_lowercase();
            match header.split_once(':') {
                Some(("content-length", value)) => length = value.trim().parse()?,
                Some(("transfer-encoding", value)) => chunked = value.trim() == "chunked",
                Some(_) => {}
                None => break,
            }
        }
        let body = if chunked { self.chunks()? } else { self.bytes(length)? };
        let body = String::from_utf8(body)?;
        Ok((status, serde_json::from_str(&body).unwrap_or(Value::String(body))))
    }

    fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size = usize::from_str_radix(&self.line()?, 16)?;
            body.extend(self.bytes(size)?);
            ensure!(self.line()?.is_empty(), "a chunk is longer than announced");
            if size == 0 {
                return Ok(body);
            }
        }
    }

    fn bytes(&mut self, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        ensure!(self.stream.read_line(&mut line)? > 0, "the server closed the connection");
        Ok(line.trim_end().to_owned())
    }
}
