//! Runs other programs and prints each command line first, so that a log shows what was done.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

const RETRY_FOR: Duration = Duration::from_mins(3);

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the workspace").to_path_buf()
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
        } else {
            bail!("`{}` is neither a file nor a folder", entry.path().display());
        }
    }
    Ok(())
}

pub(crate) fn cargo_command(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    // `cargo run` sets these for xtask. Build scripts that read them would run again, and half of the
    // dependencies be rebuilt, on every change between `cargo` and `cargo xtask`.
    let own = std::env::vars_os().map(|(name, _)| name).filter(|name| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    });
    for name in own {
        command.env_remove(name);
    }
    command
}

pub(crate) fn cargo(arguments: &[&str]) -> Result<()> {
    run(&mut cargo_command(arguments))
}

/// Runs a program that inherits our streams; fails if it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = command_line(command);
    eprintln!("$ {line}");
    let status = command.status().with_context(|| format!("`{line}` did not start"))?;
    ensure!(status.success(), "`{line}` failed: {status}");
    Ok(())
}

/// Runs a program and returns its standard output.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    Ok(read_both(command)?.0)
}

/// Runs a program and returns its standard output and standard error.
pub(crate) fn read_both(command: &mut Command) -> Result<(String, String)> {
    let line = command_line(command);
    eprintln!("$ {line}");
    let output = command.output().with_context(|| format!("`{line}` did not start"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    ensure!(output.status.success(), "`{line}` failed: {}\n{out}\n{err}", output.status);
    Ok((out, err))
}

/// Repeats an attempt for three minutes. Clients give a starting server only a few seconds, which is
/// little on a busy machine; and downloads depend on a network.
pub(crate) fn retry<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(error) if began.elapsed() < RETRY_FOR => {
                eprintln!("retrying: {error:#}");
                std::thread::sleep(Duration::from_secs(1));
            }
            outcome => return outcome,
        }
    }
}

fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}
