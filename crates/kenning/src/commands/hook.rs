use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::Context;
use crate::cli::Hook;
use crate::failure::{Exit, Failure};

const HOOKS: [&str; 2] = ["post-commit", "post-merge"];
/// By this line we know a hook of ours.
const MARK: &str = "# Installed by `kenning hook install`; `kenning hook uninstall` removes it.";
const SCRIPT: &str =
    "command -v kenning >/dev/null && kenning index --embed --quiet >/dev/null 2>&1 &";

pub(super) fn run(context: &Context, hook: &Hook) -> Result<Exit, Failure> {
    let folder = hooks_folder()?;
    let (verb, done) = match hook {
        Hook::Install => ("installed", install(&folder)?),
        Hook::Uninstall => ("removed", uninstall(&folder)?),
    };
    let shown: Vec<String> = done.iter().map(|path| path.display().to_string()).collect();
    let report = json!({"action": verb, "hooks": shown});
    context.printer.answer(&report, |_| match shown.as_slice() {
        [] => format!("nothing to be {verb}\n"),
        paths => format!("{verb} {}\n", paths.join(", ")),
    })?;
    Ok(Exit::Success)
}

/// How far the hooks of this folder's repository are ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    NoRepository,
    Absent,
    Installed,
    /// Somebody else's are in the way.
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

/// Wherever git looks for hooks here.
fn hooks_folder() -> Result<PathBuf, Failure> {
    let output = Command::new("git").args(["rev-parse", "--git-path", "hooks"]).output();
    let output = output.map_err(|error| Failure::new(format!("git did not start: {error}")))?;
    if !output.status.success() {
        return Err(Failure::usage("this folder is not in a git repository")
            .hint("run it in the repository, or `git init` first"));
    }
    let path = String::from_utf8_lossy(&output.stdout);
    Ok(std::env::current_dir()?.join(path.trim()))
}

/// All hooks or none: one that belongs to somebody else stops it before anything is written.
fn install(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let paths = HOOKS.map(|name| folder.join(name));
    for path in &paths {
        if is_foreign(path) {
            return Err(Failure::new(format!("`{}` is somebody else's hook", path.display()))
                .hint(format!("add this line to it yourself: {SCRIPT}")));
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
