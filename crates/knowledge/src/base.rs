//! A knowledge base: a named folder of Markdown files.

use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use globset::{Glob, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;

use crate::diagnostic::Diagnostic;
use crate::path::RelPath;
use crate::role::Role;
use crate::text::slug;

/// Larger files are reported and skipped.
pub const MAX_FILE_BYTES: u64 = 1_000_000;

/// Like `.gitignore`, for files that are in version control but should not be read.
const IGNORE_FILE: &str = ".kenningignore";

/// A name, a root outside of which nothing is read, and the patterns of the files to read.
#[derive(Debug)]
pub struct Base {
    name: String,
    root: PathBuf,
    files: GlobSet,
    excluded: GlobSet,
    /// Folders excluded as a whole (`drafts/**`), so that the walk and the watcher skip them.
    excluded_folders: GlobSet,
    /// The roles that the settings give to files, in the order of [`Role::ALL`].
    roles: Vec<(Role, GlobSet)>,
}

#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    #[error("`{0}` is not a name for a knowledge base")]
    Name(String),
    #[error("the root of knowledge base `{name}`, `{}`, cannot be read: {source}", root.display())]
    Root { name: String, root: PathBuf, source: std::io::Error },
    #[error("`{pattern}` is not a file pattern: {source}")]
    Pattern { pattern: String, source: globset::Error },
}

impl BaseError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Name(_) => "use letters, digits, `-` and `_`",
            Self::Root { .. } => "name an existing folder as its root_path",
            Self::Pattern { .. } => "patterns look like `**/*.md` or `drafts/**`",
        }
    }
}

impl Base {
    pub fn new(
        name: &str,
        root: &Path,
        file_patterns: &[String],
        exclude_patterns: &[String],
    ) -> Result<Self, BaseError> {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(BaseError::Name(name.to_owned()));
        }
        let root = root.canonicalize().and_then(|root| root.read_dir().map(|_| root)).map_err(
            |source| BaseError::Root { name: name.to_owned(), root: root.to_owned(), source },
        )?;
        let folders = exclude_patterns.iter().filter_map(|p| p.strip_suffix("/**"));
        Ok(Self {
            name: name.to_owned(),
            root,
            files: glob_set(file_patterns.iter().map(String::as_str))?,
            excluded: glob_set(exclude_patterns.iter().map(String::as_str))?,
            excluded_folders: glob_set(folders)?,
            roles: Vec::new(),
        })
    }

    /// Sets the roles of files by patterns, instead of recognising them. If patterns of several
    /// roles match a file, the first in the order of [`Role::ALL`] counts.
    pub fn with_roles(mut self, patterns: &[(Role, Vec<String>)]) -> Result<Self, BaseError> {
        for role in Role::ALL {
            let own = patterns.iter().filter(|(of, _)| *of == role).flat_map(|(_, all)| all);
            let set = glob_set(own.map(String::as_str))?;
            if !set.is_empty() {
                self.roles.push((role, set));
            }
        }
        Ok(self)
    }

    pub(crate) fn role_of(&self, path: &RelPath) -> Option<Role> {
        self.roles.iter().find(|(_, set)| set.is_match(path.as_str())).map(|(role, _)| *role)
    }

    /// The name of a base for which none is configured.
    pub fn default_name(root: &Path) -> String {
        let folder = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
        folder.file_name().map_or_else(|| "base".to_owned(), |name| slug(&name.to_string_lossy()))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The files of the base in order, and diagnostics for those that had to be skipped.
    pub(crate) fn files(&self) -> (Vec<RelPath>, Vec<Diagnostic>) {
        let mut files = Vec::new();
        let mut diagnostics = Vec::new();
        for entry in self.walk() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    diagnostics.push(self.report("", format!("cannot be read: {error}")));
                    continue;
                }
            };
            let Some(relative) = self.relative(entry.path()) else {
                continue;
            };
            let kind = entry.file_type();
            if kind.is_none_or(|kind| kind.is_dir()) || !self.includes(relative) {
                continue;
            }
            let path = relative.to_string_lossy();
            let parsed = relative.to_str().ok_or("its name is not valid UTF-8".to_owned());
            let parsed = parsed.and_then(|p| RelPath::parse(p).map_err(|e| e.to_string()));
            match parsed {
                Ok(_) if kind.is_some_and(|kind| kind.is_symlink()) => {
                    diagnostics
                        .push(self.report(&path, "is a symbolic link, which is not followed"));
                }
                Ok(file) => files.push(file),
                Err(reason) => diagnostics.push(self.report(&path, reason)),
            }
        }
        files.sort();
        (files, diagnostics)
    }

    /// The folders that are read, including the root.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let entries = self.walk().filter_map(Result::ok);
        let folders = entries.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_dir()));
        folders.map(ignore::DirEntry::into_path).collect()
    }

    /// A handle on the root. No path, link or race can leave the root through it.
    pub(crate) fn open(&self) -> std::io::Result<Dir> {
        Dir::open_ambient_dir(&self.root, ambient_authority())
    }

    pub(crate) fn report(&self, path: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(0, message).located(&self.name, path)
    }

    fn walk(&self) -> ignore::Walk {
        let root = self.root.clone();
        let excluded_folders = self.excluded_folders.clone();
        WalkBuilder::new(&self.root)
            // A `.gitignore` counts outside of a repository, too.
            .require_git(false)
            .add_custom_ignore_filename(IGNORE_FILE)
            .filter_entry(move |entry| {
                let relative = entry.path().strip_prefix(&root).unwrap_or(entry.path());
                !(entry.file_type().is_some_and(|kind| kind.is_dir())
                    && excluded_folders.is_match(relative))
            })
            .build()
    }

    fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.root).ok().filter(|relative| !relative.as_os_str().is_empty())
    }

    pub(crate) fn includes(&self, relative: &Path) -> bool {
        self.files.is_match(relative) && !self.excluded.is_match(relative)
    }
}

fn glob_set<'a>(patterns: impl Iterator<Item = &'a str>) -> Result<GlobSet, BaseError> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        // `./docs/*.md` means what `docs/*.md` means.
        let glob = Glob::new(pattern.strip_prefix("./").unwrap_or(pattern));
        set.add(glob.map_err(|source| BaseError::Pattern { pattern: pattern.to_owned(), source })?);
    }
    set.build().map_err(|source| BaseError::Pattern { pattern: String::new(), source })
}
