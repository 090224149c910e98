//! What a call costs before anything is done for it: the same small call to the product, to the
//! bare SDK that it stands on, and to the SDKs that others build on.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::session::{Session, request};
use super::{Folder, cpu};
use crate::outside;
use crate::run::{read, resident_kb, root};

const WARM_UP: usize = 200;
/// Each takes its turn this often, so that a busy machine is busy for all.
const ROUNDS: usize = 8;
const CALLS: usize = 500;
const CONNECTIONS: &str = "32";
const SECONDS: &str = "3";

/// A server in both of its forms, and the call that is made to it.
struct Peer {
    name: &'static str,
    stdio: Command,
    http: Command,
    /// Where it serves, if it does not say so itself.
    port: Option<u16>,
    call: Value,
}

/// What was measured of one server.
#[derive(Default)]
struct Costs {
    start_ms: f64,
    stdio_p50_us: f64,
    memory_mb: f64,
    calls_per_s: f64,
    p99_ms: f64,
    cpu_us: f64,
}

pub(super) fn measure() -> Result<String> {
    let folder = Folder::new()?;
    crate::build_release()?;
    let mut peers = peers(folder.path())?;
    let mut costs: Vec<Costs> = peers.iter().map(|_| Costs::default()).collect();
    over_stdio(&mut peers, &mut costs)?;
    over_http(&mut peers, &mut costs, folder.path())?;
    Ok(table(&peers, &costs))
}

fn peers(folder: &Path) -> Result<Vec<Peer>> {
    let release = root().join("target/release");
    let program = |path: PathBuf, words: &[&str]| {
        let mut command = Command::new(path);
        command.args(words);
        command
    };
    let kenning = |words: &[&str]| {
        let mut command = program(release.join("kenning"), words);
        command.current_dir(root().join("examples/knowledge"));
        command.env("XDG_DATA_HOME", folder.join("data")).env("KENNING_SERVER_LOG_LEVEL", "error");
        command
    };
    let bare = |words: &[&str]| program(release.join("examples/bare"), words);
    let python = outside::fastmcp()?;
    let fastmcp = |port: &[&str]| {
        let mut command = program(python.clone(), &[]);
        command.arg(root().join("xtask/peers/echo.py")).args(port);
        command
    };
    let parts = outside::typescript()?;
    let typescript = |port: &[&str]| -> Result<Command> {
        let mut command = parts.program("node")?;
        command.arg(root().join("xtask/peers/echo.mjs")).args(port);
        command.current_dir(parts.folder());
        Ok(command)
    };
    let (one, other) = (free_port()?, free_port()?);
    let echo = json!({"name": "echo", "arguments": {"text": "hello"}});
    let lookup = json!({
        "name": "lookup_capability",
        "arguments": {"agent": "claude-code", "capability": "hooks"}
    });
    Ok(vec![
        Peer {
            name: "Kenning, `lookup_capability`",
            stdio: kenning(&["serve"]),
            http: kenning(&["serve", "--http", "127.0.0.1:0"]),
            port: None,
            call: lookup,
        },
        Peer {
            name: "rmcp 3.8.0 alone, echo",
            stdio: bare(&[]),
            http: bare(&["http"]),
            port: None,
            call: echo.clone(),
        },
        Peer {
            name: "rmcp 3.8.0 alone, an answer as long",
            stdio: bare(&[]),
            http: bare(&["http"]),
            port: None,
            call: json!({"name": "answer", "arguments": {"fields": 24}}),
        },
        Peer {
            name: "FastMCP 4.1.0, echo",
            stdio: fastmcp(&[]),
            http: fastmcp(&[&one.to_string()]),
            port: Some(one),
            call: echo.clone(),
        },
        Peer {
            name: "TypeScript SDK 1.32.2, echo",
            stdio: typescript(&[])?,
            http: typescript(&[&other.to_string()])?,
            port: Some(other),
            call: echo,
        },
    ])
}

fn over_stdio(peers: &mut [Peer], costs: &mut [Costs]) -> Result<()> {
    let mut sessions = Vec::new();
    for (peer, costs) in peers.iter_mut().zip(costs.iter_mut()) {
        let began = Instant::now();
        let mut session = Session::start(&mut peer.stdio)?;
        costs.start_ms = began.elapsed().as_secs_f64() * 1e3;
        session.time(&peer.call, WARM_UP)?;
        sessions.push(session);
    }
    let mut times: Vec<Vec<Duration>> = peers.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for ((session, peer), times) in sessions.iter_mut().zip(peers.iter()).zip(&mut times) {
            times.extend(session.time(&peer.call, CALLS)?);
        }
    }
    for ((session, costs), times) in sessions.iter().zip(costs).zip(&mut times) {
        times.sort_unstable();
        costs.stdio_p50_us = times[times.len() / 2].as_secs_f64() * 1e6;
        let kb = resident_kb(session.id()).context("no memory in /proc")?;
        costs.memory_mb = kb as f64 / 1024.0;
    }
    Ok(())
}

fn over_http(peers: &mut [Peer], costs: &mut [Costs], folder: &Path) -> Result<()> {
    outside::wrk()?;
    let mut servers = Vec::new();
    for peer in peers.iter_mut() {
        servers.push(Serving::start(&mut peer.http, peer.port)?);
    }
    for _ in 0..3 {
        for ((server, peer), costs) in servers.iter().zip(peers.iter()).zip(costs.iter_mut()) {
            let before = cpu::of(server.child.id())?;
            let load = load(&server.url, &peer.call, folder)
                .with_context(|| format!("{} under load", peer.name))?;
            let cpu_us = (cpu::of(server.child.id())? - before) / load.calls * 1e6;
            // The best of three: what else the machine does can only make it worse.
            if load.calls_per_s > costs.calls_per_s {
                (costs.calls_per_s, costs.p99_ms) = (load.calls_per_s, load.p99_ms);
                costs.cpu_us = cpu_us;
            }
        }
    }
    Ok(())
}

pub(super) struct Serving {
    pub(super) child: Child,
    pub(super) url: String,
}

impl Serving {
    pub(super) fn start(command: &mut Command, port: Option<u16>) -> Result<Self> {
        let quiet = command.stdin(Stdio::null());
        let Some(port) = port else {
            let mut child = quiet.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
            let stderr = child.stderr.take().context("the server's messages are piped")?;
            let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
            let url = lines.find(|line| line.contains("http://") && line.ends_with("/mcp"));
            // Whoever says more must not find that nobody listens.
            std::thread::spawn(move || lines.for_each(drop));
            let url = url.context("the server did not say where it is")?;
            let url = url.split_whitespace().last().unwrap_or_default().to_owned();
            return Ok(Self { child, url });
        };
        let child = quiet.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let serving = Self { child, url: format!("http://127.0.0.1:{port}/mcp") };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(began.elapsed() < Duration::from_mins(1), "{} is not there", serving.url);
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(serving)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Load {
    calls: f64,
    calls_per_s: f64,
    p99_ms: f64,
}

/// `wrk` calls as fast as it is answered, over so many connections.
fn load(url: &str, call: &Value, folder: &Path) -> Result<Load> {
    let script = folder.join("call.lua");
    let body = request(1, "tools/call", call);
    fs::write(
        &script,
        format!(
            "wrk.method = \"POST\"\nwrk.body = [==[{body}]==]\n\
             wrk.headers[\"Content-Type\"] = \"application/json\"\n\
             wrk.headers[\"Accept\"] = \"application/json, text/event-stream\"\n\
             wrk.headers[\"MCP-Protocol-Version\"] = \"2025-11-25\"\n\
             function done(summary, latency)\n\
             local e = summary.errors\n\
             io.write(string.format('{{\"calls\": %d, \"us\": %d, \"failed\": %d, \"p99\": %f}}\\n', \
             summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout, \
             latency:percentile(99)))\nend\n"
        ),
    )?;
    let mut wrk = Command::new("wrk");
    wrk.args(["--threads", "1", "--connections", CONNECTIONS, "--duration", SECONDS, "--script"]);
    let said = read(wrk.arg(&script).arg(url))?;
    let said: Value = serde_json::from_str(super::last_line(&said))?;
    ensure!(said["failed"] == 0, "{said}");
    let number = |name: &str| said[name].as_f64().context("wrk says how it went");
    let calls = number("calls")?;
    ensure!(calls > 0.0, "{url} answered nothing");
    Ok(Load { calls, calls_per_s: calls / number("us")? * 1e6, p99_ms: number("p99")? / 1e3 })
}

/// One that nobody has now.
pub(super) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn table(peers: &[Peer], costs: &[Costs]) -> String {
    let mut out = String::from(
        "One small call over standard input and output, one after the other in turns; and over \
         HTTP as fast as `wrk` with 32 connections is answered on the same two cores, the best of \
         three turns. The product looks a capability up in its catalog, answers with 1.3 kB, which it \
         sends as text and as data, remembers the call in its store, and counts it; the others only \
         say what they are told, or as much as the product does. `start` is from the start of \
         the process to the first answer. In brackets: how many times as many calls the product \
         answers.\n\n\
         | | start | stdio p50 | memory | HTTP calls/s | p99 | CPU a call |\n|---|---|---|---|---|---|---|\n",
    );
    let ours = costs[0].calls_per_s;
    for (peer, costs) in peers.iter().zip(costs) {
        let Costs { start_ms, stdio_p50_us, memory_mb, calls_per_s, p99_ms, cpu_us } = costs;
        out += &format!(
            "| {} | {start_ms:.0} ms | {stdio_p50_us:.0} µs | {memory_mb:.0} MB | {calls_per_s:.0} \
             ({:.1}×) | {p99_ms:.1} ms | {cpu_us:.0} µs |\n",
            peer.name,
            ours / calls_per_s,
        );
    }
    out
}
