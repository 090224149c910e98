//! The paths of a client's files on a given machine.

use std::path::{Path, PathBuf};

use super::{Client, Paths, Place, Scope};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    Linux,
    Macos,
    Windows,
}

/// The parts of a machine that paths depend on.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    pub os: Os,
    pub home: &'a Path,
    pub project: &'a Path,
    /// Looks up an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl std::fmt::Debug for Environment<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { os, home, project, .. } = self;
        let mut debug = f.debug_struct("Environment");
        debug.field("os", os).field("home", home).field("project", project).finish_non_exhaustive()
    }
}

impl Os {
    pub fn name(self) -> &'static str {
        match self {
            Self::Linux => "Linux",
            Self::Macos => "macOS",
            Self::Windows => "Windows",
        }
    }
}

impl Client {
    /// The files that may list servers in this scope; none if the client has no such scope. `name`
    /// is the server's name, which some clients use in the file's name.
    pub fn files(&self, scope: Scope, name: &str, here: Environment<'_>) -> Vec<PathBuf> {
        let paths = self.place(scope).map(|place| place.files.on(here.os)).unwrap_or_default();
        paths.iter().map(|path| here.expand(&path.replace("$name", name))).collect()
    }

    /// The usual file of this scope, for documentation: one for all systems, or one for each that
    /// differs.
    pub fn usual_files(&self, scope: Scope, name: &str) -> Vec<(Option<Os>, String)> {
        let Some(Place { files, .. }) = self.place(scope) else { return Vec::new() };
        let systems = [Os::Linux, Os::Macos, Os::Windows].map(Some).into_iter();
        let every = [(None, files.any.first())].into_iter();
        let every = every.chain(systems.map(|os| (os, os.and_then(|os| files.own(os).first()))));
        every.filter_map(|(os, path)| Some((os, usual(&path?.replace("$name", name))))).collect()
    }

    /// Folders that the client creates when it is used.
    pub fn trace_folders(&self, here: Environment<'_>) -> Vec<PathBuf> {
        self.traces.on(here.os).iter().map(|path| here.expand(path)).collect()
    }
}

impl Paths {
    fn on(&self, os: Os) -> &[String] {
        let own = self.own(os);
        if own.is_empty() { &self.any } else { own }
    }

    fn own(&self, os: Os) -> &[String] {
        match os {
            Os::Linux => &self.linux,
            Os::Macos => &self.macos,
            Os::Windows => &self.windows,
        }
    }
}

impl Environment<'_> {
    fn expand(self, path: &str) -> PathBuf {
        if let Some((inner, rest)) = path.strip_prefix("${").and_then(|path| path.split_once('}')) {
            let (variable, default) = inner.split_once(":-").unwrap_or((inner, "~"));
            // A relative folder would depend on the working directory.
            let folder = (self.variable)(variable).map(PathBuf::from);
            let folder = folder.filter(|folder| folder.is_absolute());
            let folder = folder.unwrap_or_else(|| self.expand(default));
            return join(&folder, rest);
        }
        match path.strip_prefix('~') {
            Some(rest) => join(self.home, rest),
            None => join(self.project, path),
        }
    }
}

/// The path with the default in place of the variable.
fn usual(path: &str) -> String {
    let variable = path.strip_prefix("${").and_then(|path| path.split_once('}'));
    let Some((inner, rest)) = variable else { return path.to_owned() };
    let (_, default) = inner.split_once(":-").unwrap_or((inner, "~"));
    format!("{default}{rest}")
}

/// Joins part by part, so that each system gets its own separators.
fn join(folder: &Path, rest: &str) -> PathBuf {
    let parts = rest.split('/').filter(|part| !part.is_empty());
    folder.iter().chain(parts.map(std::ffi::OsStr::new)).collect()
}
