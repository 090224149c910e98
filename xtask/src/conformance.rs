//! The MCP conformance suite against our server, in both eras of the protocol, and against the same
//! server with the layer around it that hears what is missing, and with `kenning wrap`.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::outside::Parts;
use crate::run::{root, run};

const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];

/// Ways in which the fixture serves.
const MODES: [&str; 2] = ["plain", "heard"];

pub(crate) fn check(parts: &Parts) -> Result<()> {
    MODES.iter().try_for_each(|mode| check_mode(parts, mode))?;
    check_wrapped(parts)
}

/// The suite speaks HTTP and the proxy standard streams; somebody else's bridge stands between
/// them. It has failings of its own, so what counts is that the proxy adds none.
fn check_wrapped(parts: &Parts) -> Result<()> {
    let fixture = root().join("target/debug/examples/conformance");
    let direct: Vec<OsString> =
        vec![fixture.into(), root().join("examples/knowledge").into(), "stdio".into()];
    let kenning = root().join("target/debug/kenning");
    let mut wrapped: Vec<OsString> = vec![kenning.into(), "wrap".into(), "--".into()];
    wrapped.extend(direct.iter().cloned());
    let expected = bridged(parts, &direct)?;
    ensure!(expected.iter().any(|line| line.contains('✓')), "nothing passes over the bridge");
    let seen = bridged(parts, &wrapped)?;
    ensure!(seen == expected, "wrapped: {seen:#?}\nunwrapped: {expected:#?}");
    Ok(())
}

/// What the suite says of each scenario when a program on standard streams answers.
fn bridged(parts: &Parts, program: &[OsString]) -> Result<Vec<String>> {
    // The bridge cannot choose a port by itself; one that was free a moment ago will do.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut bridge = parts.program("mcp-proxy")?;
    bridge.args(["--host", "127.0.0.1", "--server", "stream", "--port", &port.to_string()]);
    bridge.arg("--").args(program).stdout(Stdio::null()).stderr(Stdio::null());
    let mut bridge = bridge.spawn().context("the bridge did not start")?;
    let seen = wait_for(&mut bridge, port).and_then(|()| {
        let url = format!("http://127.0.0.1:{port}/mcp");
        let seen = REVISIONS.iter().map(|revision| scenarios(parts, &url, revision));
        Ok(seen.collect::<Result<Vec<_>>>()?.concat())
    });
    // What it started ends when its input is closed.
    bridge.kill()?;
    bridge.wait()?;
    seen
}

fn wait_for(bridge: &mut std::process::Child, port: u16) -> Result<()> {
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        ensure!(bridge.try_wait()?.is_none(), "the bridge ended before it served");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn scenarios(parts: &Parts, url: &str, revision: &str) -> Result<Vec<String>> {
    let mut conformance = parts.program("conformance")?;
    conformance.args(["server", "--url", url, "--requirements", revision]);
    let output = conformance.output().context("the conformance suite did not start")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter(|line| line.contains(['✓', '✗']));
    Ok(lines.map(|line| format!("{revision} {line}")).collect())
}

fn check_mode(parts: &Parts, mode: &str) -> Result<()> {
    let mut fixture = Command::new(root().join("target/debug/examples/conformance"))
        .arg(root().join("examples/knowledge"))
        .arg(mode)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("the conformance fixture did not start")?;
    let stdout = fixture.stdout.take().context("the fixture's output is piped")?;
    let mut url = String::new();
    BufReader::new(stdout).read_line(&mut url)?;
    let outcome = REVISIONS.iter().try_for_each(|revision| suite(parts, url.trim(), revision));
    // It ends by itself when its standard input is closed.
    drop(fixture.stdin.take());
    let status = fixture.wait()?;
    outcome?;
    ensure!(status.success(), "the conformance fixture ({mode}) ended with {status}");
    Ok(())
}

fn suite(parts: &Parts, url: &str, revision: &str) -> Result<()> {
    let expected = root().join("crates/mcp/tests/conformance.yml");
    let mut conformance = parts.program("conformance")?;
    conformance.args(["server", "--url", url, "--requirements", revision]);
    run(conformance.arg("--expected-failures").arg(expected))
}
