//! This machine: which clients it has, where their files are, and how they start this program.

use std::path::{Path, PathBuf};

use kenning_catalog::clients::{Client, Environment, Os, Scope};
use serde_json::Value;

use super::config::command_line;
use crate::commands::paths::absolute;
use crate::failure::Failure;

pub(in crate::commands) struct Machine {
    home: PathBuf,
    /// The folder that the command runs in.
    pub(in crate::commands) project: PathBuf,
    program: PathBuf,
}

impl Machine {
    pub(in crate::commands) fn this() -> Result<Self, Failure> {
        let home = absolute("HOME").or_else(|| absolute("USERPROFILE")).ok_or_else(|| {
            Failure::new("there is no home folder to look for clients in").hint("set HOME")
        })?;
        let project = std::env::current_dir()?.canonicalize()?;
        Ok(Self { home, project, program: std::env::current_exe()? })
    }

    fn here(&self) -> Environment<'_> {
        let os = match std::env::consts::OS {
            "windows" => Os::Windows,
            "macos" => Os::Macos,
            _ => Os::Linux,
        };
        let variable = &|name: &str| std::env::var(name).ok();
        Environment { os, home: &self.home, project: &self.project, variable }
    }

    /// The file where the client configures the servers of a scope: the first that exists, or else
    /// the first to create.
    pub(in crate::commands) fn file(
        &self,
        client: &Client,
        scope: Scope,
        name: &str,
    ) -> Option<PathBuf> {
        let files = client.files(scope, name, self.here());
        files.iter().find(|file| file.exists()).or(files.first()).cloned()
    }

    /// Whether the client's folders, files or programs exist.
    pub(super) fn has(&self, client: &Client) -> bool {
        let traces = client.trace_folders(self.here());
        let files = client.files(Scope::User, "", self.here());
        traces.iter().chain(&files).any(|path| path.exists())
            || client.programs.iter().any(|program| on_path(program).is_some())
    }

    /// The command that starts this program: its name if the client will find it on the `PATH`, so
    /// that a project's file works on other machines, and its path otherwise.
    pub(super) fn command(&self, client: &Client, scope: Scope) -> Result<String, Failure> {
        let real = self.program.canonicalize()?;
        let is_on_path = on_path("kenning")
            .and_then(|found| found.canonicalize().ok())
            .is_some_and(|found| found == real);
        if is_on_path && (scope == Scope::Project || !client.desktop) {
            return Ok("kenning".to_owned());
        }
        utf8(&self.program)
    }

    /// Whether an entry starts Kenning, this binary or another.
    pub(in crate::commands) fn is_ours(&self, entry: &Value) -> bool {
        let command = command_line(entry).into_iter().next().map(PathBuf::from);
        command.is_some_and(|command| {
            command.file_stem().is_some_and(|stem| stem == "kenning") || command == self.program
        })
    }
}

/// Client files are text, so a path in them must be UTF-8.
pub(super) fn utf8(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::new(format!("`{}` is not UTF-8", path.display())))
}

/// The program that a shell would start by this name.
pub(in crate::commands) fn on_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let names: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ""] } else { &[""] };
    std::env::split_paths(&folders)
        .flat_map(|folder| names.iter().map(move |end| folder.join(format!("{program}{end}"))))
        .find(|file| is_executable(file))
}

#[cfg(unix)]
pub(in crate::commands) fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
pub(in crate::commands) fn is_executable(file: &Path) -> bool {
    file.is_file()
}
