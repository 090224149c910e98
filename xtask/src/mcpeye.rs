//! mcpeye's published Python SDK sends calls to our server, which must record them and find the gap.

use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::external;
use crate::run::{read, root, run};
use crate::server::{Build, HttpServer};

pub(crate) fn check() -> Result<()> {
    let python = external::mcpeye_python()?;
    let folder = tempfile::tempdir()?;
    let home = folder.path();
    let kenning = |words: &[&str]| read(Build::Debug.kenning(home).args(words).current_dir(home));
    let secret =
        kenning(&["token", "create", "sdk", "--scope", "ingest", "--project", "mcpeye-python"])?;
    let server = HttpServer::kenning(&root().join("examples/knowledge"), home, &[])?;
    let mut client = Command::new(python);
    client.arg(root().join("xtask/peers/mcpeye_client.py"));
    run(client.args([server.url().as_str(), secret.trim()]))?;
    let listed = kenning(&["--json", "gaps"])?;
    let gaps: Value = serde_json::from_str(&listed)?;
    let gaps = gaps["gaps"].as_array().cloned().unwrap_or_default();
    ensure!(gaps.iter().any(|gap| gap["label"] == "export as PDF"), "the gap is missing: {listed}");
    let report: Value =
        serde_json::from_str(&kenning(&["--json", "gaps", "report", "--since", "1d"])?)?;
    ensure!(report["calls"] == 8, "8 calls were sent, {} were recorded", report["calls"]);
    Ok(())
}
