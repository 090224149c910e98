//! The documents of the sets: packages of the registries, fetched by name and version, because they are
//! not ours to keep here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::run::{read, retry, root, run};

#[derive(Deserialize)]
struct Source {
    registry: String,
    package: String,
    version: String,
    /// The folder of the Markdown files inside the package.
    folder: String,
}

/// The folder of the Markdown files of a set; `None` if the set has its own texts.
pub(crate) fn fetch(set: &Path) -> Result<Option<PathBuf>> {
    let path = set.join("source.json");
    if !path.exists() {
        return Ok(None);
    }
    let source: Source = serde_json::from_str(&fs::read_to_string(&path)?)
        .with_context(|| path.display().to_string())?;
    let folder = root()
        .join("target/outside/fit")
        .join(format!("{}-{}-{}", source.registry, source.package, source.version));
    if !folder.exists() {
        let unfinished = folder.with_extension("part");
        let _ = fs::remove_dir_all(&unfinished);
        fs::create_dir_all(&unfinished)?;
        retry(|| download(&source, &unfinished))?;
        fs::rename(&unfinished, &folder)?;
    }
    let documents = match source.registry.as_str() {
        "crates" => crate_folder(&source)?,
        _ => only_folder(&folder)?,
    };
    Ok(Some(documents.join(&source.folder)))
}

fn download(source: &Source, into: &Path) -> Result<()> {
    let Source { package, version, .. } = source;
    let archives = into.join("archives");
    fs::create_dir_all(&archives)?;
    match source.registry.as_str() {
        "pypi" => {
            let mut pip = Command::new("python3");
            pip.args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", package]);
            run(pip.arg(format!("{package}=={version}")).arg("--dest").arg(&archives))?;
        }
        "npm" => {
            let mut npm = Command::new("npm");
            npm.args(["pack", "--silent", &format!("{package}@{version}")]);
            read(npm.current_dir(&archives))?;
        }
        // It leaves the sources of the crate in cargo's registry.
        "crates" => {
            read(Command::new("cargo").args(["info", "--quiet", &format!("{package}@{version}")]))?;
            return Ok(());
        }
        other => bail!("unknown registry `{other}`; known are pypi, npm and crates"),
    }
    let archive = only_entry(&archives)?;
    run(Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(into))?;
    fs::remove_dir_all(&archives)?;
    Ok(())
}

fn crate_folder(source: &Source) -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let sources = home.context("neither CARGO_HOME nor HOME is set")?.join("registry/src");
    let name = format!("{}-{}", source.package, source.version);
    for registry in fs::read_dir(&sources)? {
        let folder = registry?.path().join(&name);
        if folder.exists() {
            return Ok(folder);
        }
    }
    bail!("cargo did not unpack {name} below {}", sources.display())
}

fn only_folder(folder: &Path) -> Result<PathBuf> {
    let mut folders = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    folders.find(|path| path.is_dir()).with_context(|| format!("{} is empty", folder.display()))
}

fn only_entry(folder: &Path) -> Result<PathBuf> {
    let entry = fs::read_dir(folder)?.next();
    Ok(entry.with_context(|| format!("{} is empty", folder.display()))??.path())
}
