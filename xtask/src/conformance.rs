//! The MCP conformance suite against a fixture on our server: for both protocol revisions, with and
//! without the recording layer of `kenning-wrap`, and behind `kenning wrap`.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::external::NpmPackages;
use crate::run::{root, run};
use crate::server::{Build, HttpServer, free_port};

const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];

/// Modes of the fixture: the server alone, and with the recording layer around it.
const MODES: [&str; 2] = ["plain", "recorded"];

pub(crate) fn check(packages: &NpmPackages) -> Result<()> {
    MODES.iter().try_for_each(|mode| check_mode(packages, mode))?;
    check_wrapped(packages)
}

/// The suite speaks HTTP and the proxy standard streams, so a third-party bridge connects them. The
/// bridge fails some scenarios itself; the proxy must not add any.
fn check_wrapped(packages: &NpmPackages) -> Result<()> {
    let fixture = Build::Debug.program("examples/conformance");
    let direct: Vec<OsString> =
        vec![fixture.into(), root().join("examples/knowledge").into(), "stdio".into()];
    let kenning = Build::Debug.program("kenning");
    let mut wrapped: Vec<OsString> = vec![kenning.into(), "wrap".into(), "--".into()];
    wrapped.extend(direct.iter().cloned());
    let expected = bridged(packages, &direct)?;
    ensure!(expected.iter().any(|line| line.contains('✓')), "no scenario passes over the bridge");
    let found = bridged(packages, &wrapped)?;
    ensure!(found == expected, "wrapped: {found:#?}\nunwrapped: {expected:#?}");
    Ok(())
}

/// The result of every scenario, for a program on standard streams behind the bridge.
fn bridged(packages: &NpmPackages, program: &[OsString]) -> Result<Vec<String>> {
    let port = free_port()?;
    let mut bridge = packages.program("mcp-proxy")?;
    bridge.args(["--host", "127.0.0.1", "--server", "stream", "--port", &port.to_string()]);
    let bridge = HttpServer::start_on(port, bridge.arg("--").args(program))?;
    let mut results = Vec::new();
    for revision in REVISIONS {
        let output = suite(packages, &bridge.mcp_url(), revision)?.output();
        let output = output.context("the conformance suite did not start")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = text.lines().filter(|line| line.contains(['✓', '✗']));
        results.extend(lines.map(|line| format!("{revision} {line}")));
    }
    Ok(results)
}

fn check_mode(packages: &NpmPackages, mode: &str) -> Result<()> {
    let mut fixture = Command::new(Build::Debug.program("examples/conformance"))
        .arg(root().join("examples/knowledge"))
        .arg(mode)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("the conformance fixture did not start")?;
    let stdout = fixture.stdout.take().context("the fixture's output is piped")?;
    let mut url = String::new();
    BufReader::new(stdout).read_line(&mut url)?;
    let expected = root().join("crates/mcp/tests/conformance.yml");
    let outcome = REVISIONS.iter().try_for_each(|revision| {
        let mut suite = suite(packages, url.trim(), revision)?;
        run(suite.arg("--expected-failures").arg(&expected))
    });
    // The fixture ends by itself at the end of its input.
    drop(fixture.stdin.take());
    let status = fixture.wait()?;
    outcome?;
    ensure!(status.success(), "the conformance fixture ({mode}) ended with {status}");
    Ok(())
}

fn suite(packages: &NpmPackages, url: &str, revision: &str) -> Result<Command> {
    let mut suite = packages.program("conformance")?;
    suite.args(["server", "--url", url, "--requirements", revision]);
    Ok(suite)
}
