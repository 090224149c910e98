//! The crates we use: under which licences, from where, and how often.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::run::{cargo, patiently, root, run};

/// Pinned, as all that comes from outside.
const CARGO_DENY: &str = "cargo-deny@0.20.2";

/// Advisories are not asked for: their database is a repository that the tests cannot reach. Whoever
/// can, runs `cargo deny check advisories`.
pub(crate) fn check() -> Result<()> {
    let mut deny = Command::new(program()?);
    deny.args(["--locked", "check", "--hide-inclusion-graph"]);
    deny.args(["licenses", "bans", "sources"]);
    run(deny.current_dir(root()))
}

/// Built without optimisation: it runs for a second, and that takes minutes less.
fn program() -> Result<PathBuf> {
    let folder = root().join("target/outside/cargo-deny");
    let program = folder.join("bin/cargo-deny");
    let stamp = folder.join("installed");
    if program.exists() && fs::read_to_string(&stamp).is_ok_and(|installed| installed == CARGO_DENY)
    {
        return Ok(program);
    }
    let folder = folder.display().to_string();
    let install = ["install", "--locked", "--debug", "--quiet", "--root", &folder, CARGO_DENY];
    patiently(|| cargo(&install))?;
    fs::write(stamp, CARGO_DENY)?;
    Ok(program)
}
