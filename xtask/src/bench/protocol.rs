//! What a call costs before any work is done for it: the same small call to Kenning, to the bare SDK
//! that it is built on, and to the SDKs that others build on.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{folder, percentile, table_head};
use crate::client::{StdioClient, request};
use crate::external;
use crate::process;
use crate::run::root;
use crate::server::{Build, HttpServer, free_port};
use crate::wrk::{self, Target};

const SESSION_LIMIT: Duration = Duration::from_mins(15);
const WARM_UP: usize = 200;
/// Servers take turns, so that a busy machine is busy for all of them.
const ROUNDS: usize = 8;
const CALLS: usize = 500;
const CONNECTIONS: usize = 32;
const SECONDS: u64 = 3;

/// A server on both transports, and the call that is made to it.
struct Peer {
    name: &'static str,
    stdio: Command,
    http: Command,
    /// The port it was told, if it does not print its URL.
    port: Option<u16>,
    call: Value,
}

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
    let folder = folder()?;
    Build::Release.compile()?;
    let mut peers = peers(folder.path())?;
    let mut costs: Vec<Costs> = peers.iter().map(|_| Costs::default()).collect();
    over_stdio(&mut peers, &mut costs)?;
    over_http(&mut peers, &mut costs, folder.path())?;
    Ok(table(&peers, &costs))
}

fn peers(folder: &Path) -> Result<Vec<Peer>> {
    let kenning = |words: &[&str]| {
        let mut command = Build::Release.kenning(folder);
        command.args(words).current_dir(root().join("examples/knowledge"));
        command.env("KENNING_SERVER_LOG_LEVEL", "error");
        command
    };
    let rmcp = |name: &'static str, call: Value| {
        let mut http = Command::new(Build::Release.program("examples/bare"));
        http.arg("http");
        let stdio = Command::new(Build::Release.program("examples/bare"));
        Peer { name, stdio, http, port: None, call }
    };
    let python = external::fastmcp_python()?;
    let fastmcp = || {
        let mut command = Command::new(&python);
        command.arg(root().join("xtask/peers/echo.py"));
        command
    };
    let packages = external::typescript_sdk()?;
    let typescript = || -> Result<Command> {
        let mut command = packages.program("node")?;
        command.arg(root().join("xtask/peers/echo.mjs")).current_dir(packages.folder());
        Ok(command)
    };
    let echo = json!({"name": "echo", "arguments": {"text": "hello"}});
    let on_port = |name, stdio: Command, mut http: Command| -> Result<Peer> {
        let port = free_port()?;
        http.arg(port.to_string());
        Ok(Peer { name, stdio, http, port: Some(port), call: echo.clone() })
    };
    let lookup = json!({"agent": "claude-code", "capability": "hooks"});
    Ok(vec![
        Peer {
            name: "Kenning, `lookup_capability`",
            stdio: kenning(&["serve"]),
            http: kenning(&["serve", "--http", "127.0.0.1:0"]),
            port: None,
            call: json!({"name": "lookup_capability", "arguments": lookup}),
        },
        rmcp("rmcp 3.8.0 alone, echo", echo.clone()),
        rmcp(
            "rmcp 3.8.0 alone, an answer as long",
            json!({"name": "answer", "arguments": {"fields": 24}}),
        ),
        on_port("FastMCP 4.1.0, echo", fastmcp(), fastmcp())?,
        on_port("TypeScript SDK 1.32.2, echo", typescript()?, typescript()?)?,
    ])
}

fn over_stdio(peers: &mut [Peer], costs: &mut [Costs]) -> Result<()> {
    let mut clients = Vec::new();
    for (peer, costs) in peers.iter_mut().zip(costs.iter_mut()) {
        let began = Instant::now();
        let mut client = StdioClient::start(peer.stdio.stderr(Stdio::null()), SESSION_LIMIT)?;
        costs.start_ms = began.elapsed().as_secs_f64() * 1e3;
        client.time_calls(&peer.call, WARM_UP)?;
        clients.push((client, Vec::new()));
    }
    for _ in 0..ROUNDS {
        for ((client, times), peer) in clients.iter_mut().zip(peers.iter()) {
            times.extend(client.time_calls(&peer.call, CALLS)?);
        }
    }
    for ((client, times), costs) in clients.iter_mut().zip(costs) {
        times.sort_unstable();
        costs.stdio_p50_us = percentile(times, 50) * 1e6;
        costs.memory_mb = process::memory_mb(client.pid());
    }
    Ok(())
}

fn over_http(peers: &mut [Peer], costs: &mut [Costs], folder: &Path) -> Result<()> {
    let mut servers = Vec::new();
    for peer in peers.iter_mut() {
        servers.push(match peer.port {
            Some(port) => HttpServer::start_on(port, &mut peer.http)?,
            None => HttpServer::start(&mut peer.http, None)?,
        });
    }
    for _ in 0..3 {
        for ((server, peer), costs) in servers.iter().zip(peers.iter()).zip(costs.iter_mut()) {
            let body = request(1, "tools/call", &peer.call).to_string();
            let target = Target { url: server.mcp_url(), token: None, body, random: [1; 3] };
            let before = process::cpu_s(server.pid());
            let load = wrk::run(&target, CONNECTIONS, SECONDS, folder)
                .with_context(|| format!("{} under load", peer.name))?;
            ensure!(load.failed == 0.0, "{}: {} calls failed", peer.name, load.failed);
            // The best of three: other load on the machine can only make it worse.
            if load.calls_per_s() > costs.calls_per_s {
                (costs.calls_per_s, costs.p99_ms) = (load.calls_per_s(), load.p99_ms);
                costs.cpu_us = (process::cpu_s(server.pid()) - before) / load.calls * 1e6;
            }
        }
    }
    Ok(())
}

fn table(peers: &[Peer], costs: &[Costs]) -> String {
    let columns = ["start", "stdio p50", "memory", "HTTP calls/s", "p99", "CPU per call"];
    let mut out = table_head(&columns);
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
