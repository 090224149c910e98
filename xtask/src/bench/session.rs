//! An MCP client over standard input and output that waits for each answer.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::tree::{self, Watchdog};

/// What no session takes, unless the server hangs.
const LIMIT: Duration = Duration::from_mins(15);

pub(super) struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    requests: u64,
    _watchdog: Watchdog,
}

impl Session {
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = child.spawn()?;
        let input = child.stdin.take().context("no way in")?;
        let output = BufReader::new(child.stdout.take().context("no way out")?);
        let watchdog = Watchdog::of(child.id(), LIMIT);
        let mut session = Self { child, input, output, requests: 1, _watchdog: watchdog };
        session.ask(&request(
            0,
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"}
            }),
        ))?;
        writeln!(session.input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
        Ok(session)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn time(&mut self, call: &Value, times: usize) -> Result<Vec<Duration>> {
        let line = request(1, "tools/call", call);
        (0..times).map(|_| self.ask(&line)).collect()
    }

    /// How long the answer took.
    pub(super) fn ask(&mut self, line: &str) -> Result<Duration> {
        let began = Instant::now();
        self.input.write_all(line.as_bytes())?;
        loop {
            let answer = self.line()?;
            // Others send notifications in between.
            if answer.contains("\"id\"") {
                let took = began.elapsed();
                let failed = answer.contains("\"error\"") || answer.contains("\"isError\":true");
                ensure!(!failed, "{answer}");
                return Ok(took);
            }
        }
    }

    /// The result, whatever else is said before it.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.requests += 1;
        let id = self.requests;
        self.input.write_all(request(id, method, params).as_bytes())?;
        loop {
            let mut message: Value = serde_json::from_str(&self.line()?)?;
            if message["id"] == id && message.get("method").is_none() {
                let result = message["result"].take();
                ensure!(
                    !result.is_null() && result["isError"] != true,
                    "{method}: {message}{result}"
                );
                return Ok(result);
            }
        }
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the server went away");
        Ok(line)
    }
}

/// What it started itself would stay behind if only the server were ended.
impl Drop for Session {
    fn drop(&mut self) {
        tree::end(self.child.id());
        let _ = self.child.wait();
    }
}

pub(super) fn request(id: u64, method: &str, params: &Value) -> String {
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}
