//! The program, and the smallest clients that speak to it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with a base of knowledge in `base`, and everything that is remembered in `home`.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self(TempDir::new().unwrap());
        fs::create_dir(place.base()).unwrap();
        fs::create_dir(place.home()).unwrap();
        place.write("pelican.md", "# Pelicans\nA pelican keeps fish in its pouch.\n");
        place
    }

    pub(crate) fn base(&self) -> PathBuf {
        self.0.path().join("base")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    /// Where the store is, unless told otherwise.
    pub(crate) fn data(&self) -> PathBuf {
        self.home().join(".local/share/kenning")
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.data().join("kenning.db")
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.base().join(name), text).unwrap();
    }

    /// The program in the base.
    pub(crate) fn kenning(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
        command.args(words).current_dir(self.base()).env("HOME", self.home());
        for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "KENNING_STORE_URL"] {
            command.env_remove(variable);
        }
        command
    }

    /// What a command said, and how it ended.
    pub(crate) fn run(&self, words: &[&str]) -> Ended {
        ended(&mut self.kenning(words))
    }

    /// What a command answered as JSON.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let ended = self.run(&[&["--json"], words].concat());
        serde_json::from_str(&ended.good().out).unwrap()
    }
}

#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    #[track_caller]
    pub(crate) fn good(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// It failed, and said this in one sentence that names what to do, without a panic.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) {
        assert!(matches!(self.code, Some(1 | 2)), "{self:?}");
        assert!(!self.err.contains("panicked"), "{}", self.err);
        for word in words {
            assert!(self.err.contains(word), "`{word}` is not in: {}", self.err);
        }
        let sentences = self.err.lines().filter(|line| line.starts_with("error:")).count();
        assert_eq!(sentences, 1, "{}", self.err);
    }
}

pub(crate) fn ended(command: &mut Command) -> Ended {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// A server over HTTP. It is killed with this value.
pub(crate) struct Web {
    pub(crate) child: Child,
    address: String,
}

impl Web {
    pub(crate) fn start(place: &Place) -> Self {
        Self::run(place.kenning(&["--log-level", "error", "serve", "--http", "127.0.0.1:0"]))
    }

    pub(crate) fn run(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut lines = stderr.lines().map_while(Result::ok);
        let page = lines.find_map(|line| Some(line.strip_prefix("Page  http://")?.to_owned()));
        std::thread::spawn(move || lines.for_each(drop));
        let address = page.unwrap().trim_end_matches('/').to_owned();
        Self { child, address }
    }

    /// As nobody can prepare for.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Status and answer; `None` if the connection broke.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
        ask(&self.address, method, path, body)
    }

    pub(crate) fn address(&self) -> String {
        self.address.clone()
    }

    pub(crate) fn register(&self, agent: i64, skill: &str, version: &str) -> (u16, Value) {
        let one = json!({"skill_name": skill, "version": version});
        let body = json!({"agent_id": agent, "capabilities": [one]});
        self.ask("POST", "/api/v1/register_agent_capabilities", &body).unwrap()
    }

    /// The tool's answer, or its error.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        call(&self.address, tool, arguments)
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn ask(address: &str, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut stream = TcpStream::connect(address).ok()?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2025-11-25\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    // Chunks and events have lines of their own around the line of the answer.
    let line = body.lines().find_map(|line| {
        let line = line.strip_prefix("data: ").unwrap_or(line);
        serde_json::from_str::<Value>(line).ok().filter(Value::is_object)
    });
    Some((status, line.unwrap_or_else(|| Value::String(body.to_owned()))))
}

pub(crate) fn call(address: &str, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let (status, answer) = ask(address, "POST", "/mcp", &request).unwrap();
    assert_eq!(status, 200, "{answer}");
    told(&answer)
}

fn told(answer: &Value) -> Value {
    let result = &answer["result"];
    if result["isError"] == true {
        return serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    }
    result["structuredContent"].clone()
}

/// A process that speaks in lines.
pub(crate) struct Lines {
    pub(crate) child: Child,
    pub(crate) input: Option<ChildStdin>,
    pub(crate) output: BufReader<ChildStdout>,
}

impl Lines {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    pub(crate) fn send(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// A server's session, opened.
    pub(crate) fn session(command: Command) -> Self {
        let mut lines = Self::start(command);
        lines.send(
            &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}}})
            .to_string(),
        );
        assert!(lines.line().contains("\"result\""));
        lines.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        lines
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
        self.send(&call.to_string());
        loop {
            let line = self.line();
            assert!(!line.is_empty(), "the server has ended");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == 7 {
                return told(&answer);
            }
        }
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whoever serves knows about pelicans, whatever else has failed.
#[track_caller]
pub(crate) fn knows_pelicans(found: &Value) {
    assert_eq!(found["results"][0]["id"], "pelican", "{found}");
}

pub(crate) fn pelicans() -> Value {
    json!({"query": "pelican pouch", "search_type": "keyword"})
}
