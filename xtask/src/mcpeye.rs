//! The published Python SDK of mcpeye sends to our server, and what it heard is there.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::outside;
use crate::run::{read, root, run};
use crate::server::{Server, kenning};

pub(crate) fn check() -> Result<()> {
    let python = outside::mcpeye()?;
    let folder = tempfile::tempdir()?;
    let knowledge = root().join("examples/knowledge");
    let secret = ["token", "create", "sdk", "--scope", "ingest", "--project", "mcpeye-python"];
    let secret = said(folder.path(), &secret)?;
    let server = Server::start(&knowledge, folder.path(), &[])?;
    let mut client = Command::new(python);
    client.arg(root().join("xtask/peers/mcpeye_client.py"));
    run(client.args([server.address.as_str(), secret.trim()]))?;
    let listed = said(folder.path(), &["--json", "gaps"])?;
    let gaps: Value = serde_json::from_str(&listed)?;
    let gaps = gaps["gaps"].as_array().cloned().unwrap_or_default();
    ensure!(gaps.iter().any(|gap| gap["label"] == "export as PDF"), "not heard: {listed}");
    let report = said(folder.path(), &["--json", "gaps", "report", "--since", "1d"])?;
    let report: Value = serde_json::from_str(&report)?;
    ensure!(report["calls"] == 8, "eight calls were sent, {} are there", report["calls"]);
    Ok(())
}

fn said(home: &Path, words: &[&str]) -> Result<String> {
    read(kenning(home).args(words).current_dir(home))
}
