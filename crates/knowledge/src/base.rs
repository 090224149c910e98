//! A knowledge base: a named folder of Markdown files.

use std::fs::FileType;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use globset::{Glob, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;

use crate::diagnostic::Diagnostic;
use crate::path::RelPath;
use crate::reading::{Limits, within};
use crate::role::Role;
use crate::text::slug;

/// Larger files are reported and skipped.
pub const MAX_FILE_BYTES: u64 = 1_000_000;

/// Like `.gitignore`, for files that are in version control but should not be read.
const IGNORE_FILE: &str = ".kenningignore";
/// The files in a folder that the walk opens by itself, without asking what they are.
const OPENED_BY_WALK: [&str; 4] = [".gitignore", ".ignore", IGNORE_FILE, ".git/info/exclude"];

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
        let root = readable_folder(root).map_err(|source| BaseError::Root {
            name: name.to_owned(),
            root: root.to_owned(),
            source,
        })?;
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

    /// Walks the folder. Calls `on_entry` for every entry.
    pub(crate) fn list(&self, on_entry: &dyn Fn()) -> Listing {
        let mut listing = Listing { root: self.open().map(Arc::new), ..Listing::default() };
        if listing.root.is_err() {
            return listing;
        }
        let unusable = UnusableFolders::default();
        if unusable.includes(&self.root) {
            listing.folders.push(self.root.clone());
        } else {
            for entry in self.walk(unusable.clone()) {
                on_entry();
                self.add(&mut listing, entry);
            }
        }
        listing.diagnostics.extend(unusable.take().into_iter().map(|(folder, reason)| {
            let folder = self.relative(&folder).unwrap_or(Path::new("."));
            self.report(&folder.to_string_lossy(), reason)
        }));
        listing.files.sort();
        listing
    }

    fn add(&self, listing: &mut Listing, entry: Result<ignore::DirEntry, ignore::Error>) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                listing.diagnostics.push(self.report("", format!("cannot be read: {error}")));
                return;
            }
        };
        let Some(kind) = entry.file_type() else { return };
        if kind.is_dir() {
            listing.folders.push(entry.into_path());
            return;
        }
        let Some(relative) = self.relative(entry.path()).filter(|path| self.includes(path)) else {
            return;
        };
        match file_path(relative, kind) {
            Ok(file) => listing.files.push(file),
            Err(reason) => {
                listing.diagnostics.push(self.report(&relative.to_string_lossy(), reason));
            }
        }
    }

    /// A handle on the root. No path, link or race can leave the root through it.
    pub(crate) fn open(&self) -> io::Result<Dir> {
        Dir::open_ambient_dir(&self.root, ambient_authority())
    }

    /// The name of a file may hold anything. A diagnostic is one line.
    pub(crate) fn report(&self, path: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(0, on_one_line(&message.into())).located(&self.name, &on_one_line(path))
    }

    fn walk(&self, unusable: UnusableFolders) -> ignore::Walk {
        let root = self.root.clone();
        let excluded_folders = self.excluded_folders.clone();
        WalkBuilder::new(&self.root)
            // A `.gitignore` counts outside of a repository, too.
            .require_git(false)
            .add_custom_ignore_filename(IGNORE_FILE)
            .filter_entry(move |entry| {
                if !entry.file_type().is_some_and(|kind| kind.is_dir()) {
                    return true;
                }
                let relative = entry.path().strip_prefix(&root).unwrap_or(entry.path());
                !excluded_folders.is_match(relative) && !unusable.includes(entry.path())
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

/// What a walk over a base found.
#[derive(Debug)]
pub struct Listing {
    /// A handle on the root, or why it cannot be opened.
    pub(crate) root: io::Result<Arc<Dir>>,
    /// In order.
    pub(crate) files: Vec<RelPath>,
    /// The folders that are read, including the root.
    pub(crate) folders: Vec<PathBuf>,
    /// What had to be skipped.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Default for Listing {
    fn default() -> Self {
        Self {
            root: Err(ErrorKind::NotFound.into()),
            files: Vec::new(),
            folders: Vec::new(),
            diagnostics: Vec::new(),
        }
    }
}

/// Folders whose ignore file is not a regular one, which would block the walk or never end.
#[derive(Clone, Default)]
struct UnusableFolders(Arc<Mutex<Vec<(PathBuf, String)>>>);

impl UnusableFolders {
    fn includes(&self, folder: &Path) -> bool {
        let opened = OPENED_BY_WALK.iter().find_map(|name| {
            let kind = folder.join(name).metadata().ok()?.file_type();
            (!kind.is_dir()).then(|| special(kind)).flatten().map(|kind| (name, kind))
        });
        let Some((name, kind)) = opened else { return false };
        let reason = format!("is skipped, because its `{name}` is {kind}, not a regular file");
        self.lock().push((folder.to_owned(), reason));
        true
    }

    fn take(&self) -> Vec<(PathBuf, String)> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(PathBuf, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The real path of a folder that can be read.
fn readable_folder(root: &Path) -> io::Result<PathBuf> {
    let (limit, root) = (Limits::default().answer, root.to_owned());
    let read = move || root.canonicalize().and_then(|root| root.read_dir().map(|_| root));
    within(limit, read).unwrap_or_else(|| {
        let problem = format!("the file system did not answer within {limit:?}");
        Err(io::Error::new(ErrorKind::TimedOut, problem))
    })
}

fn file_path(relative: &Path, kind: FileType) -> Result<RelPath, String> {
    let path = relative.to_str().ok_or("its name is not valid UTF-8")?;
    let path = RelPath::parse(path).map_err(|error| error.to_string())?;
    if kind.is_symlink() {
        return Err("is a symbolic link, which is not followed".to_owned());
    }
    match special(kind) {
        Some(kind) => Err(not_regular(kind)),
        None => Ok(path),
    }
}

fn not_regular(kind: &str) -> String {
    format!("is {kind}, not a regular file, and is skipped")
}

/// Reads a file that is a regular one. Opening a FIFO waits for a writer, and opening a device may do
/// anything, so neither is left to the listing, which may be out of date by now.
pub(crate) fn read_regular(root: &Dir, path: &RelPath) -> Result<Vec<u8>, String> {
    let unreadable = |error: io::Error| format!("cannot be read: {error}");
    let mut options = OpenOptions::new();
    options.read(true);
    without_blocking(&mut options);
    let file = root.open_with(path.as_str(), &options).map_err(unreadable)?.into_std();
    let kind = file.metadata().map_err(unreadable)?.file_type();
    if let Some(kind) = special(kind) {
        return Err(not_regular(kind));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("is larger than {MAX_FILE_BYTES} bytes and is skipped"));
    }
    Ok(bytes)
}

#[cfg(unix)]
fn without_blocking(options: &mut OpenOptions) {
    use cap_std::fs::OpenOptionsExt;
    use rustix::fs::OFlags;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    options.custom_flags(flags.bits().cast_signed());
}

#[cfg(not(unix))]
fn without_blocking(_: &mut OpenOptions) {}

/// What something is that is neither a file nor a link; a folder is here if a file was expected.
fn special(kind: FileType) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return Some("a FIFO");
        } else if kind.is_socket() {
            return Some("a socket");
        } else if kind.is_char_device() || kind.is_block_device() {
            return Some("a device");
        }
    }
    (!kind.is_file()).then_some("something else")
}

/// Escapes line breaks and other control characters.
fn on_one_line(text: &str) -> String {
    let escape =
        |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}
