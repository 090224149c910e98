//! The page in a real browser: every view and every form, both colour schemes, a phone.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::outside::{self, Parts};
use crate::run::{read, root, run};
use crate::server::{Server, kenning};

pub(crate) fn check(parts: &Parts) -> Result<()> {
    let chromium = outside::chromium()?;
    let folder = tempfile::tempdir()?;
    let (knowledge, home) = (folder.path().join("knowledge"), folder.path().join("home"));
    copy(&root().join("examples/knowledge"), &knowledge)?;
    let token = read(kenning(&home).args(["token", "create", "browser", "--scope", "read"]))?;
    let open = Server::start(&knowledge, &home, &[])?;
    let guarded = Server::start(&knowledge, &home, &[("KENNING_SERVER_REQUIRE_TOKEN", "true")])?;
    let screenshots = root().join("target/screenshots");
    fs::create_dir_all(&screenshots)?;
    let mut node = parts.program("node")?;
    node.arg(root().join("xtask/peers/browser.mjs"));
    node.env("OUTSIDE", parts.folder()).env("CHROMIUM", chromium);
    node.env("PROFILE", folder.path().join("profile")).env("KNOWLEDGE", &knowledge);
    node.env("ADDRESS", &open.address).env("SCREENSHOTS", screenshots);
    node.env("GUARDED", &guarded.address).env("TOKEN", token.trim());
    run(&mut node)
}

/// A folder of files and folders.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target).context("the example base")?;
        } else {
            bail!("`{}` is neither a file nor a folder", entry.path().display());
        }
    }
    Ok(())
}
