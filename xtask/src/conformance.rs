//! The MCP conformance suite against our server, in both eras of the protocol, and against the same
//! server with the layer around it that hears what is missing.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::outside::Parts;
use crate::run::{root, run};

const REVISIONS: [&str; 2] = ["2026-07-28", "2025-11-25"];

/// Ways in which the fixture serves.
const MODES: [&str; 2] = ["plain", "heard"];

pub(crate) fn check(parts: &Parts) -> Result<()> {
    MODES.iter().try_for_each(|mode| check_mode(parts, mode))
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
