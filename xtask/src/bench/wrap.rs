//! What recording costs a server: the same small server alone, with SDKs that report its calls, and
//! behind `kenning wrap`, in three languages.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::sink::Sink;
use super::{folder, percentile, table_head};
use crate::client::StdioClient;
use crate::external;
use crate::process;
use crate::run::root;
use crate::server::Build;

const SESSION_LIMIT: Duration = Duration::from_mins(15);
const WARM_UP: usize = 200;
/// Variants take turns, so that a busy machine is busy for all of them.
const ROUNDS: usize = 20;
const CALLS: usize = 100;
/// A turn is over when a variant has used no processor for so long.
const QUIET: Duration = Duration::from_millis(100);
const MAX_SETTLE: Duration = Duration::from_secs(5);

/// One server, recorded in one way or not at all.
struct Variant {
    name: &'static str,
    command: Command,
    call: Value,
    /// The first variant of a language is the plain server, which the others are compared with.
    is_plain: bool,
    /// Where its calls are reported to.
    sink: Option<Sink>,
}

impl Variant {
    fn plain(name: &'static str, command: Command) -> Self {
        Self { is_plain: true, ..Self::unreported(name, command) }
    }

    fn unreported(name: &'static str, command: Command) -> Self {
        let call = json!({"name": "echo", "arguments": {"text": "hello"}});
        Self { name, command, call, is_plain: false, sink: None }
    }

    /// `command` makes the command from the URL to report to.
    fn reporting(name: &'static str, command: impl FnOnce(&str) -> Command) -> Result<Self> {
        let sink = Sink::start()?;
        let command = command(&sink.url);
        Ok(Self { sink: Some(sink), ..Self::unreported(name, command) })
    }
}

struct Running {
    variant: Variant,
    client: StdioClient,
    times: Vec<Duration>,
    cpu_s: f64,
}

pub(super) fn measure() -> Result<String> {
    Build::Release.compile()?;
    let folder = folder()?;
    let mut variants = python(folder.path())?;
    variants.extend(typescript(folder.path())?);
    variants.extend(rust(folder.path())?);
    let mut running = Vec::new();
    for variant in variants {
        let name = variant.name;
        running.push(Running::start(variant).context(name)?);
    }
    for _ in 0..ROUNDS {
        for one in &mut running {
            one.turn().context(one.variant.name)?;
        }
    }
    for Running { variant, .. } in &running {
        let silent = variant.sink.as_ref().is_some_and(|sink| sink.requests() == 0);
        ensure!(!silent, "{} reported nothing", variant.name);
    }
    Ok(table(&mut running))
}

impl Running {
    fn start(mut variant: Variant) -> Result<Self> {
        let command = variant.command.stderr(Stdio::null());
        let mut client = StdioClient::start(command, SESSION_LIMIT)?;
        // Some SDKs report only calls of tools that were listed.
        client.request("tools/list", &json!({}))?;
        client.time_calls(&variant.call, WARM_UP)?;
        settle(client.pid());
        Ok(Self { variant, client, times: Vec::new(), cpu_s: 0.0 })
    }

    /// Some calls, with the work that is done for them after they are answered.
    fn turn(&mut self) -> Result<()> {
        let before = process::cpu_s(self.client.pid());
        self.times.extend(self.client.time_calls(&self.variant.call, CALLS)?);
        settle(self.client.pid());
        self.cpu_s += process::cpu_s(self.client.pid()) - before;
        Ok(())
    }
}

/// Waits until a variant is idle, so that it does not work in the turn of another.
fn settle(pid: u32) {
    let began = Instant::now();
    let mut used = process::cpu_s(pid);
    while began.elapsed() < MAX_SETTLE {
        std::thread::sleep(QUIET);
        let now = process::cpu_s(pid);
        if now <= used {
            break;
        }
        used = now;
    }
}

/// The server behind the proxy, which reports to a URL or, without one, to its own store.
fn wrapped(server: &Command, ingest: Option<&str>, home: &Path) -> Command {
    let mut wrap = Build::Release.kenning(home);
    wrap.args(["--log-level", "error", "wrap"]);
    wrap.args(ingest.map(|url| ["--ingest", url]).into_iter().flatten());
    wrap.arg("--").arg(server.get_program()).args(server.get_args());
    wrap.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = server.get_current_dir() {
        wrap.current_dir(folder);
    }
    wrap.env("HOME", home);
    wrap
}

fn python(home: &Path) -> Result<Vec<Variant>> {
    let python = external::reporting_python()?;
    let server = |sdk: &str, url: &str| {
        let mut command = Command::new(&python);
        command.arg(root().join("xtask/peers/recorded.py")).args([sdk, url]);
        command.env("HOME", home).env("DISABLE_DIAGNOSTICS", "1").current_dir(home);
        command
    };
    let plain = || server("none", "");
    Ok(vec![
        Variant::plain("Python", plain()),
        Variant::reporting("Python, mcpeye 0.1.5", |url| server("mcpeye", url))?,
        Variant::reporting("Python, MCPcat 0.1.15", |url| server("mcpcat", url))?,
        Variant::reporting("Python, `kenning wrap --ingest`", |url| {
            wrapped(&plain(), Some(url), home)
        })?,
        Variant::unreported("Python, `kenning wrap`", wrapped(&plain(), None, home)),
    ])
}

fn typescript(home: &Path) -> Result<Vec<Variant>> {
    let packages = external::reporting_typescript()?;
    let mut node = packages.program_in_home("node", home)?;
    node.arg(root().join("xtask/peers/echo.mjs")).env("DISABLE_DIAGNOSTICS", "1");
    node.current_dir(packages.folder());
    let through = Variant::reporting("TypeScript, `kenning wrap --ingest`", |url| {
        wrapped(&node, Some(url), home)
    })?;
    let reporting = Variant::reporting("TypeScript, MCPcat 0.1.17", |url| {
        let mut command = Command::new(node.get_program());
        command.args(node.get_args()).current_dir(packages.folder());
        command.envs(node.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("MCPCAT_API_URL", url);
        command
    })?;
    Ok(vec![Variant::plain("TypeScript", node), reporting, through])
}

fn rust(home: &Path) -> Result<Vec<Variant>> {
    let plain = || Command::new(Build::Release.program("examples/bare"));
    let through = Variant::reporting("Rust, `kenning wrap --ingest`", |url| {
        wrapped(&plain(), Some(url), home)
    })?;
    let mut layer = Variant::reporting("Rust, Kenning's layer", |url| {
        let mut command = Command::new(Build::Release.program("recorded-server"));
        command.arg(url);
        command
    })?;
    layer.call = json!({"name": "shout", "arguments": {"text": "hello"}});
    Ok(vec![Variant::plain("Rust", plain()), layer, through])
}

fn table(running: &mut [Running]) -> String {
    let columns =
        ["p50", "more", "p99", "more", "CPU per call", "more", "memory", "more", "reports sent"];
    let mut out = table_head(&columns);
    let mut plain = [0.0; 4];
    for Running { variant, client, times, cpu_s } in running {
        times.sort_unstable();
        let us = |percent| percentile(times, percent) * 1e6;
        let cpu_us = *cpu_s * 1e6 / times.len() as f64;
        let costs = [us(50), us(99), cpu_us, process::memory_mb(client.pid())];
        if variant.is_plain {
            plain = costs;
        }
        out += &format!("| {} |", variant.name);
        for ((cost, plain), unit) in costs.iter().zip(plain).zip(["µs", "µs", "µs", "MB"]) {
            let more =
                if variant.is_plain { String::new() } else { format!("{:+.0}", cost - plain) };
            out += &format!(" {cost:.0} {unit} | {more} |");
        }
        let sent = variant.sink.as_ref().map(|sink| sink.requests().to_string());
        out += &format!(" {} |\n", sent.unwrap_or_default());
    }
    out
}
