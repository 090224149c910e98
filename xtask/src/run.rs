//! Other programs, run aloud.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

const PATIENCE: Duration = Duration::from_mins(3);

pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the workspace").to_path_buf()
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Copies a folder of files and folders.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
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

pub(crate) fn cargo_command(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    // They say that we are xtask. Build scripts that look at them would run again, and half of the
    // dependencies be compiled anew, whenever somebody changes between `cargo` and `cargo xtask`.
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

/// Runs a program; its failure is ours.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    eprintln!("$ {shown}");
    let status = command.status().with_context(|| format!("`{shown}` did not start"))?;
    ensure!(status.success(), "`{shown}` failed: {status}");
    Ok(())
}

/// Tries again for some minutes. Clients give a server that starts a few seconds, which is not much
/// on a busy machine; and what comes from outside comes through a network.
pub(crate) fn patiently<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    let began = Instant::now();
    loop {
        match attempt() {
            Err(error) if began.elapsed() < PATIENCE => {
                eprintln!("once more: {error:#}");
                std::thread::sleep(Duration::from_secs(1));
            }
            outcome => return outcome,
        }
    }
}

/// Runs a program and returns what it printed on standard output.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    Ok(read_both(command)?.0)
}

/// Runs a program and returns what it printed, on standard output and on standard error.
pub(crate) fn read_both(command: &mut Command) -> Result<(String, String)> {
    let shown = show(command);
    eprintln!("$ {shown}");
    let output = command.output().with_context(|| format!("`{shown}` did not start"))?;
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    ensure!(output.status.success(), "`{shown}` failed: {}\n{out}\n{err}", output.status);
    Ok((out, err))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Kilobytes of memory that a process holds; `None` where there is no `/proc`, or no such process.
pub(crate) fn resident_kb(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
