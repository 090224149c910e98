//! The release binary, as an MCP client sees it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Measured;
use super::corpus::Corpus;
use crate::run::{read, resident_kb, root};

const UNTIL_IDLE: Duration = Duration::from_secs(5);
const ASK_AGAIN: Duration = Duration::from_millis(10);

pub(super) fn measure(corpus: &Corpus, folder: &Path) -> Result<Measured> {
    let data = folder.join("data");
    let started = Instant::now();
    read(kenning(corpus, &data).args(["index", "--embed"]))?;
    let index_s = started.elapsed().as_secs_f64();

    let started = Instant::now();
    let mut server = Server::start(corpus, &data)?;
    server.search_all(&corpus.queries[0])?;
    let first_answer_s = started.elapsed().as_secs_f64();

    let mut times = Vec::new();
    for query in &corpus.queries {
        let started = Instant::now();
        server.search(query)?;
        times.push(started.elapsed());
    }
    times.sort();
    let query_p50_ms = times[times.len() / 2].as_secs_f64() * 1e3;

    std::thread::sleep(UNTIL_IDLE);
    let memory_mb = server.memory_mb()?;

    let file = fs::read_dir(&corpus.folder)?.next().context("the corpus is empty")??.path();
    let before = fs::read_to_string(&file)?;
    let edit = "\n## An edit\nA paragraph about zebra-striped canary rollouts.\n";
    let started = Instant::now();
    fs::write(&file, before.clone() + edit)?;
    while !server.search_all("zebra-striped canary rollouts")?.to_string().contains("An edit") {
        std::thread::sleep(ASK_AGAIN);
    }
    let edit_s = started.elapsed().as_secs_f64();
    fs::write(&file, before)?;
    Ok(Measured { index_s, query_p50_ms, memory_mb, edit_s, first_answer_s })
}

fn kenning(corpus: &Corpus, data: &Path) -> Command {
    let mut command = Command::new(root().join("target/release/kenning"));
    command.arg("--root").arg(&corpus.folder).env("XDG_DATA_HOME", data);
    command
}

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    requests: u64,
}

impl Server {
    fn start(corpus: &Corpus, data: &Path) -> Result<Self> {
        let mut command = kenning(corpus, data);
        command.args(["--log-level", "error", "serve"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().context("no way in")?;
        let output = BufReader::new(child.stdout.take().context("no way out")?);
        let mut server = Self { child, input, output, requests: 0 };
        server.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"}
            }),
        )?;
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(server)
    }

    fn search(&mut self, query: &str) -> Result<Value> {
        let call = json!({"name": "search_knowledge", "arguments": {"query": query}});
        let result = self.request("tools/call", &call)?;
        Ok(result["structuredContent"].clone())
    }

    /// Asks until the answer is from all vectors.
    fn search_all(&mut self, query: &str) -> Result<Value> {
        loop {
            let answer = self.search(query)?;
            if answer.get("message").is_none() {
                return Ok(answer);
            }
            std::thread::sleep(ASK_AGAIN);
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line)?;
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == id {
                return Ok(message["result"].clone());
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        Ok(writeln!(self.input, "{message}")?)
    }

    fn memory_mb(&self) -> Result<f64> {
        let kb = resident_kb(self.child.id()).context("no memory in /proc")?;
        Ok(kb as f64 / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
