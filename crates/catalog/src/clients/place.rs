//! Where a client keeps its files, on a machine that is described.

use std::path::{Path, PathBuf};

use super::{Client, Paths, Place, Scope};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    Linux,
    Macos,
    Windows,
}

/// What paths depend on.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    pub os: Os,
    pub home: &'a Path,
    pub project: &'a Path,
    /// The variables of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl std::fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { os, home, project, .. } = self;
        let mut shown = f.debug_struct("Surroundings");
        shown.field("os", os).field("home", home).field("project", project).finish_non_exhaustive()
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
    /// Any of the files that may list servers in this scope; none if the client has no such
    /// scope. `name` is the server's, after which some clients name a file.
    pub fn files(&self, scope: Scope, name: &str, here: Surroundings<'_>) -> Vec<PathBuf> {
        let paths = self.place(scope).map(|place| place.files.on(here.os)).unwrap_or_default();
        paths.iter().map(|path| here.expand(&path.replace("$name", name))).collect()
    }

    /// Where the servers of this scope are on a machine with nothing unusual about it, for people
    /// to read: one file, or one for each system that has its own.
    pub fn usual_files(&self, scope: Scope, name: &str) -> Vec<(Option<Os>, String)> {
        let Some(Place { files, .. }) = self.place(scope) else { return Vec::new() };
        let systems = [Os::Linux, Os::Macos, Os::Windows].map(Some).into_iter();
        let every = [(None, files.any.first())].into_iter();
        let every = every.chain(systems.map(|os| (os, os.and_then(|os| files.own(os).first()))));
        every.filter_map(|(os, path)| Some((os, usual(&path?.replace("$name", name))))).collect()
    }

    /// Folders that the client makes when it is used.
    pub fn trace_folders(&self, here: Surroundings<'_>) -> Vec<PathBuf> {
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

impl Surroundings<'_> {
    fn expand(self, path: &str) -> PathBuf {
        if let Some((inner, rest)) = path.strip_prefix("${").and_then(|path| path.split_once('}')) {
            let (variable, default) = inner.split_once(":-").unwrap_or((inner, "~"));
            // A relative folder would mean another one in every folder.
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

/// With what a variable is when nobody has set it.
fn usual(path: &str) -> String {
    let variable = path.strip_prefix("${").and_then(|path| path.split_once('}'));
    let Some((inner, rest)) = variable else { return path.to_owned() };
    let (_, default) = inner.split_once(":-").unwrap_or((inner, "~"));
    format!("{default}{rest}")
}

/// Part by part, so that each system gets its own separators.
fn join(folder: &Path, rest: &str) -> PathBuf {
    let parts = rest.split('/').filter(|part| !part.is_empty());
    folder.iter().chain(parts.map(std::ffi::OsStr::new)).collect()
}
