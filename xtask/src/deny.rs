//! `cargo-deny`: licences, sources and duplicate versions of the dependencies.

use std::process::Command;

use anyhow::Result;

use crate::external;
use crate::run::{cargo, retry, root, run};

const CARGO_DENY: &str = "cargo-deny@0.20.2";

/// Advisories are not checked: their database is a repository that the tests cannot reach. With a network,
/// run `cargo deny check advisories`.
pub(crate) fn check() -> Result<()> {
    let folder = external::folder("cargo-deny");
    let root_option = folder.display().to_string();
    // Without optimisation: it runs for a second, and compiling it takes minutes less.
    let install = ["install", "--locked", "--debug", "--quiet", "--root", &root_option, CARGO_DENY];
    external::install_once(&folder, CARGO_DENY, || retry(|| cargo(&install)))?;
    let mut deny = Command::new(folder.join("bin/cargo-deny"));
    deny.args(["--locked", "check", "--hide-inclusion-graph"]);
    deny.args(["licenses", "bans", "sources"]);
    run(deny.current_dir(root()))
}
