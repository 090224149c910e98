//! What it costs a server that its calls are heard: the same small server alone, with the SDKs that
//! report calls, and behind `kenning wrap`, in three languages.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::session::Session;
use super::sink::Sink;
use super::{Folder, tree};
use crate::outside;
use crate::run::root;

const WARM_UP: usize = 200;
/// Each takes its turn this often, so that a busy machine is busy for all.
const ROUNDS: usize = 20;
const CALLS: usize = 100;
/// A side is done with a turn when it has used no processor for so long.
const QUIET: Duration = Duration::from_millis(100);
const LONGEST_QUIET: Duration = Duration::from_secs(5);

/// One server, heard in one way or not at all.
struct Side {
    name: &'static str,
    /// The first of its language, which the others are compared with.
    is_plain: bool,
    command: Command,
    call: Value,
    sink: Option<Sink>,
}

/// A side at work.
struct Running {
    side: Side,
    session: Session,
    times: Vec<Duration>,
    cpu_s: f64,
}

pub(super) fn measure() -> Result<String> {
    crate::build_release()?;
    let folder = Folder::new()?;
    let mut sides = python(folder.path())?;
    sides.extend(typescript(folder.path())?);
    sides.extend(rust(folder.path())?);
    let mut running = Vec::new();
    for side in sides {
        let name = side.name;
        running.push(Running::start(side).with_context(|| name.to_owned())?);
    }
    for _ in 0..ROUNDS {
        for side in &mut running {
            side.turn().with_context(|| side.side.name.to_owned())?;
        }
    }
    for Running { side, .. } in &running {
        let silent = side.sink.as_ref().is_some_and(|sink| sink.requests() == 0);
        ensure!(!silent, "{} reported nothing", side.name);
    }
    Ok(table(&mut running))
}

impl Running {
    fn start(mut side: Side) -> Result<Self> {
        let mut session = Session::start(&mut side.command)?;
        // Some only hear calls of tools that were listed.
        session.request("tools/list", &json!({}))?;
        session.time(&side.call, WARM_UP)?;
        settle(session.id());
        Ok(Self { side, session, times: Vec::new(), cpu_s: 0.0 })
    }

    /// Some calls, and whatever is done for them after they are answered.
    fn turn(&mut self) -> Result<()> {
        let before = tree::cpu_s(self.session.id());
        self.times.extend(self.session.time(&self.side.call, CALLS)?);
        settle(self.session.id());
        self.cpu_s += tree::cpu_s(self.session.id()) - before;
        Ok(())
    }

    fn us(&self, percent: usize) -> f64 {
        self.times[(self.times.len() - 1) * percent / 100].as_secs_f64() * 1e6
    }
}

/// Waits until a side is done, so that it does not work in the turn of another.
fn settle(process: u32) {
    let began = Instant::now();
    let mut used = tree::cpu_s(process);
    while began.elapsed() < LONGEST_QUIET {
        std::thread::sleep(QUIET);
        let now = tree::cpu_s(process);
        if now <= used {
            break;
        }
        used = now;
    }
}

fn kenning() -> PathBuf {
    root().join("target/release/kenning")
}

fn echo() -> Value {
    json!({"name": "echo", "arguments": {"text": "hello"}})
}

/// The command behind the proxy, which reports to a place or, without one, to its own store.
fn wrapped(command: &Command, ingest: Option<&str>, home: &Path) -> Command {
    let mut wrap = Command::new(kenning());
    wrap.args(["--log-level", "error", "wrap"]);
    if let Some(url) = ingest {
        wrap.args(["--ingest", url]);
    }
    wrap.arg("--").arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrap.env(name, value),
            None => wrap.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        wrap.current_dir(folder);
    }
    wrap.env("XDG_DATA_HOME", home).env_remove("XDG_CONFIG_HOME");
    wrap
}

fn behind(name: &'static str, command: &Command, call: Value, home: &Path) -> Result<Side> {
    let sink = Sink::open()?;
    let command = wrapped(command, Some(&sink.url()), home);
    Ok(Side { name, is_plain: false, command, call, sink: Some(sink) })
}

fn python(home: &Path) -> Result<Vec<Side>> {
    let python = outside::listening_python()?;
    let server = |sdk: &str, url: &str| {
        let mut command = Command::new(&python);
        command.arg(root().join("xtask/peers/heard.py")).args([sdk, url]);
        command.env("HOME", home).env("DISABLE_DIAGNOSTICS", "1").current_dir(home);
        command
    };
    let plain = server("none", "");
    let own_store = wrapped(&plain, None, &home.join("data"));
    let through = behind("Python, `kenning wrap --ingest`", &plain, echo(), home)?;
    let mut sides =
        vec![Side { name: "Python", is_plain: true, command: plain, call: echo(), sink: None }];
    for (name, sdk) in [("Python, mcpeye 0.1.5", "mcpeye"), ("Python, MCPcat 0.1.15", "mcpcat")] {
        let sink = Sink::open()?;
        let command = server(sdk, &sink.url());
        sides.push(Side { name, is_plain: false, command, call: echo(), sink: Some(sink) });
    }
    let name = "Python, `kenning wrap`";
    sides.extend([
        through,
        Side { name, is_plain: false, command: own_store, call: echo(), sink: None },
    ]);
    Ok(sides)
}

fn typescript(home: &Path) -> Result<Vec<Side>> {
    let parts = outside::listening_typescript()?;
    let server = || -> Result<Command> {
        let mut command = parts.program_at_home("node", home)?;
        command.arg(root().join("xtask/peers/echo.mjs")).env("DISABLE_DIAGNOSTICS", "1");
        command.current_dir(parts.folder());
        Ok(command)
    };
    let sink = Sink::open()?;
    let mut heard = server()?;
    heard.env("MCPCAT_API_URL", sink.url());
    let plain = server()?;
    let through = behind("TypeScript, `kenning wrap --ingest`", &plain, echo(), home)?;
    let name = "TypeScript, MCPcat 0.1.17";
    Ok(vec![
        Side { name: "TypeScript", is_plain: true, command: plain, call: echo(), sink: None },
        Side { name, is_plain: false, command: heard, call: echo(), sink: Some(sink) },
        through,
    ])
}

fn rust(home: &Path) -> Result<Vec<Side>> {
    let release = root().join("target/release");
    let plain = Command::new(release.join("examples/bare"));
    let through = behind("Rust, `kenning wrap --ingest`", &plain, echo(), home)?;
    let sink = Sink::open()?;
    let mut heard = Command::new(release.join("recorded-server"));
    heard.arg(sink.url());
    let shout = json!({"name": "shout", "arguments": {"text": "hello"}});
    Ok(vec![
        Side { name: "Rust", is_plain: true, command: plain, call: echo(), sink: None },
        Side {
            name: "Rust, Kenning's layer",
            is_plain: false,
            command: heard,
            call: shout,
            sink: Some(sink),
        },
        through,
    ])
}

fn table(running: &mut [Running]) -> String {
    let mut out = format!(
        "{} calls over stdio of a server whose only tool says what it is told, {CALLS} at a time in \
         turns with the others; a turn of another begins when one has used no processor for \
         {} ms. CPU and memory are of all processes of a side: behind `kenning wrap` there are two, \
         the proxy and the server. `more` is what is added to the plain server of the same language. \
         Python is the official `mcp` 1.30.0 ([the server](../xtask/peers/heard.py)), TypeScript the \
         official SDK 1.32.2 ([the server](../xtask/peers/echo.mjs)), Rust is rmcp ([the \
         server](../crates/mcp/examples/bare.rs)). [Kenning's \
         layer](../examples/recorded-server/src/main.rs) is in the process of the server, as mcpeye's and \
         MCPcat's SDKs are; that server has two tools and a router, the plain one neither. All report \
         to a place on this machine that takes everything, MCPcat without its diagnostics; \
         `kenning wrap` without `--ingest` writes to its own store on the disk. mcpeye and MCPcat need \
         a change in the server's code, `kenning wrap` needs one in the client's configuration.\n\n\
         | | p50 | more | p99 | more | CPU a call | more | memory | more | reports sent |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
        ROUNDS * CALLS,
        QUIET.as_millis(),
    );
    let mut plain = [0.0; 4];
    for side in running {
        side.times.sort_unstable();
        let cpu_us = side.cpu_s * 1e6 / side.times.len() as f64;
        let memory_mb = tree::memory_mb(side.session.id());
        let costs = [side.us(50), side.us(99), cpu_us, memory_mb];
        if side.side.is_plain {
            plain = costs;
        }
        out += &format!("| {} |", side.side.name);
        for ((cost, plain), unit) in costs.iter().zip(plain).zip(["µs", "µs", "µs", "MB"]) {
            let more =
                if side.side.is_plain { String::new() } else { format!("{:+.0}", cost - plain) };
            out += &format!(" {cost:.0} {unit} | {more} |");
        }
        let sent = side.side.sink.as_ref().map(|sink| sink.requests().to_string());
        out += &format!(" {} |\n", sent.unwrap_or_default());
    }
    out
}
