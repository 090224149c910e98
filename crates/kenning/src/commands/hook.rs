//! `hook`: git hooks that update the index after every commit and merge.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::Context;
use crate::cli::Hook;
use crate::failure::{Exit, Failure};

const HOOKS: [&str; 2] = ["post-commit", "post-merge"];
/// Identifies a hook of ours.
const MARK: &str = "# Installed by `kenning hook install`; `kenning hook uninstall` removes it.";
const SCRIPT: &str =
    "command -v kenning >/dev/null && kenning index --embed --quiet >/dev/null 2>&1 &";

pub(super) fn run(context: &Context, command: &Hook) -> Result<Exit, Failure> {
    let folder = hooks_folder()?;
    let (verb, done) = match command {
        Hook::Install => ("installed", install(&folder)?),
        Hook::Uninstall => ("removed", uninstall(&folder)?),
    };
    let paths: Vec<String> = done.iter().map(|path| path.display().to_string()).collect();
    let report = json!({"action": verb, "hooks": paths});
    context.answer(&report, |_| match paths.as_slice() {
        [] => format!("no hooks {verb}\n"),
        paths => format!("{verb} {}\n", paths.join(", ")),
    })
}

/// The hooks of the repository that this folder is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    NoRepository,
    Absent,
    Installed,
    /// At least one is not ours.
    Foreign,
}

pub(super) fn state() -> State {
    let Ok(folder) = hooks_folder() else { return State::NoRepository };
    let paths = HOOKS.map(|name| folder.join(name));
    if paths.iter().any(|path| is_foreign(path)) {
        State::Foreign
    } else if paths.iter().all(|path| path.exists()) {
        State::Installed
    } else {
        State::Absent
    }
}

/// The folder where git looks for hooks, which its settings may move.
fn hooks_folder() -> Result<PathBuf, Failure> {
    let output = Command::new("git").args(["rev-parse", "--git-path", "hooks"]).output();
    let output = output.map_err(|error| Failure::new(format!("cannot run git: {error}")))?;
    if !output.status.success() {
        return Err(Failure::usage("this folder is not in a git repository")
            .hint("run this command in the repository, or run `git init` first"));
    }
    let path = String::from_utf8_lossy(&output.stdout);
    Ok(std::env::current_dir()?.join(path.trim()))
}

/// Installs all hooks or none: a foreign one is an error before anything is written.
fn install(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let paths = HOOKS.map(|name| folder.join(name));
    for path in &paths {
        if is_foreign(path) {
            return Err(Failure::new(format!(
                "`{}` is a hook that Kenning did not install",
                path.display()
            ))
            .hint(format!("to keep it, add this line to it: {SCRIPT}")));
        }
    }
    fs::create_dir_all(folder)?;
    for path in &paths {
        fs::write(path, format!("#!/bin/sh\n{MARK}\n{SCRIPT}\n"))?;
        make_executable(path)?;
    }
    Ok(paths.to_vec())
}

fn uninstall(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut removed = Vec::new();
    for path in HOOKS.map(|name| folder.join(name)) {
        if path.exists() && !is_foreign(&path) {
            fs::remove_file(&path)?;
            removed.push(path);
        }
    }
    Ok(removed)
}

fn is_foreign(path: &Path) -> bool {
    path.exists() && fs::read_to_string(path).map_or(true, |text| !text.contains(MARK))
}

#[cfg(unix)]
fn make_executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}
