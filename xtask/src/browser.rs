//! The web page in Chromium: every view and every form, both colour schemes, desktop and phone.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::external::{self, NpmPackages};
use crate::run::{copy_folder, read, root, run};
use crate::server::{Build, HttpServer};

/// Every visitor of the README loads its pictures, on any connection.
const MAX_PICTURE_BYTES: u64 = 150_000;

/// What the browser measured of one view.
#[derive(Debug, Deserialize)]
struct Measured {
    view: String,
    scheme: String,
    device: String,
    shift: f64,
    first_paint_ms: u32,
    largest_paint_ms: u32,
    bytes: u64,
    elements: u64,
}

pub(crate) fn check(packages: &NpmPackages) -> Result<()> {
    drive(packages, None)
}

/// Also redraws the pictures of the README.
pub(crate) fn pictures(packages: &NpmPackages) -> Result<()> {
    external::fonts()?;
    let folder = root().join("docs/images");
    fs::create_dir_all(&folder)?;
    drive(packages, Some(&folder))?;
    for picture in fs::read_dir(&folder)? {
        let picture = picture?;
        let size = picture.metadata()?.len();
        ensure!(size <= MAX_PICTURE_BYTES, "`{}` has {size} bytes", picture.path().display());
    }
    Ok(())
}

/// The measurements of the last run as a table.
pub(crate) fn table() -> Result<String> {
    let path = screenshots().join("record.json");
    let text = fs::read_to_string(&path).context("there are no measurements yet")?;
    let record: Vec<Measured> = serde_json::from_str(&text)?;
    let moved = record.iter().map(|one| one.shift).fold(0.0, f64::max);
    let mut table = format!(
        "{} loads of {} views without a cache: in light and dark, on a desktop (1280 pixels wide) \
         and on a phone (390), from a development build on the same machine. At most {moved:.4} of \
         a page moved while it loaded (the check fails at 0.01), nothing was wider than its screen, \
         and neither the console nor the content security policy reported an error. In light colours:\n\n\
         | | first paint | largest paint | kB loaded | elements | on a phone: largest paint |\n\
         |---|---|---|---|---|---|\n",
        record.len(),
        record.iter().filter(|one| one.scheme == "light" && one.device == "phone").count(),
    );
    let light = |device: &'static str| {
        record.iter().filter(move |one| one.scheme == "light" && one.device == device)
    };
    for (desktop, phone) in light("desktop").zip(light("phone")) {
        writeln!(
            table,
            "| {} | {} ms | {} ms | {} | {} | {} ms |",
            desktop.view,
            desktop.first_paint_ms,
            desktop.largest_paint_ms,
            desktop.bytes.div_ceil(1_000),
            desktop.elements,
            phone.largest_paint_ms,
        )?;
    }
    Ok(table)
}

fn screenshots() -> PathBuf {
    root().join("target/screenshots")
}

fn drive(packages: &NpmPackages, pictures: Option<&Path>) -> Result<()> {
    let chromium = external::chromium()?;
    let folder = tempfile::tempdir()?;
    let (knowledge, home) = (folder.path().join("handbook"), folder.path().join("home"));
    copy_folder(&root().join("examples/knowledge"), &knowledge)?;
    let token =
        read(Build::Debug.kenning(&home).args(["token", "create", "browser", "--scope", "read"]))?;
    let open = HttpServer::kenning(&knowledge, &home, &[])?;
    let protected =
        HttpServer::kenning(&knowledge, &home, &[("KENNING_SERVER_REQUIRE_TOKEN", "true")])?;
    fs::create_dir_all(screenshots())?;
    let mut node = packages.program("node")?;
    node.arg(root().join("xtask/peers/browser.mjs"));
    node.env("OUTSIDE", packages.folder()).env("CHROMIUM", chromium);
    node.env("PROFILE", folder.path().join("profile")).env("KNOWLEDGE", &knowledge);
    node.env("ADDRESS", open.url()).env("SCREENSHOTS", screenshots());
    node.env("PROTECTED", protected.url()).env("TOKEN", token.trim());
    if let Some(pictures) = pictures {
        node.env("PICTURES", pictures);
    }
    run(&mut node)
}
