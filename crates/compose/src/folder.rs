//! A folder accessed through a handle, so that no path, link or race leads out of it, and in which
//! every file is written whole or not at all.

use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use cap_tempfile::TempFile;

use crate::error::{Error, Result};
use crate::id::{check_path, invalid_path};
use crate::limits;

#[derive(Debug)]
pub(crate) struct Folder {
    dir: Dir,
}

/// Whether a file must survive a power cut, or only a killed process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    Synced,
    Cached,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let opened = Dir::open_ambient_dir(path, ambient_authority());
        let what = || format!("the folder `{}` cannot be opened", path.display());
        Ok(Self { dir: opened.map_err(|source| Error::storage(what(), source))? })
    }

    /// Opens a folder that other users of this machine cannot enter, and creates it if it is missing.
    /// So the files in it may have any mode.
    pub(crate) fn create_private(path: &Path) -> Result<Self> {
        let what = || format!("the folder `{}` cannot be created", path.display());
        create_private(path).map_err(|source| Error::storage(what(), source))?;
        Self::open(path)
    }

    /// The text of a file; `None` if there is no such file.
    pub(crate) fn read(&self, path: &str, max: usize) -> Result<Option<String>> {
        check_path(path)?;
        let failed = |source| failed(path, "cannot be read", source);
        match self.dir.metadata(path) {
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
            // A pipe may block forever, and a folder has no text.
            Ok(metadata) if !metadata.is_file() => return Ok(None),
            Ok(_) => {}
        }
        let file = self.dir.open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(max as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
        limits::check("max_content_size_bytes", &format!("`{path}`"), bytes.len(), max)?;
        let text = String::from_utf8(bytes);
        text.map(Some).map_err(|_| invalid_path(path, "the file is not UTF-8 text"))
    }

    /// Replaces a file atomically: readers see the old file or the new one, never a part.
    pub(crate) fn write(&self, path: &str, text: &str, how: Durability) -> Result<()> {
        check_path(path)?;
        let (parent, name) = path.rsplit_once('/').unwrap_or((".", path));
        let write = || -> std::io::Result<()> {
            self.dir.create_dir_all(parent)?;
            let folder = self.dir.open_dir(parent)?;
            let mut file = TempFile::new(&folder)?;
            file.write_all(text.as_bytes())?;
            if let Ok(old) = folder.symlink_metadata(name)
                && old.is_file()
            {
                file.as_file().set_permissions(old.permissions())?;
            }
            if how == Durability::Synced {
                file.as_file().sync_all()?;
            }
            file.replace(name)
        };
        write().map_err(|source| failed(path, "cannot be written", source))
    }

    /// The names of files and folders, sorted; none if the folder does not exist.
    /// `.` is the folder itself.
    pub(crate) fn names(&self, path: &str) -> Result<Vec<String>> {
        if path != "." {
            check_path(path)?;
        }
        let failed = |source| failed(path, "cannot be listed", source);
        let entries = match self.dir.read_dir(path) {
            Err(error) if is_absent(&error) => return Ok(Vec::new()),
            other => other.map_err(failed)?,
        };
        let mut names = Vec::new();
        for entry in entries {
            if let Ok(name) = entry.map_err(failed)?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// The stems of the `.json` files in a folder. Temporary files have other names.
    pub(crate) fn stems(&self, path: &str) -> Result<Vec<String>> {
        let names = self.names(path)?;
        let stems = names.iter().filter_map(|name| name.strip_suffix(".json"));
        Ok(stems.map(str::to_owned).collect())
    }

    pub(crate) fn remove(&self, path: &str) -> Result<()> {
        check_path(path)?;
        match self.dir.remove_file(path) {
            Err(error) if is_absent(&error) => Ok(()),
            other => other.map_err(|source| failed(path, "cannot be removed", source)),
        }
    }

    /// Removes a folder if it is empty.
    pub(crate) fn remove_empty(&self, path: &str) {
        if check_path(path).is_ok() {
            // Another process may have written a file there meanwhile; then the folder stays.
            let _ = self.dir.remove_dir(path);
        }
    }
}

#[cfg(unix)]
fn create_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let mode = path.metadata()?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        // Only the owner can change it; for others the folder works as it is.
        let _ = std::fs::set_permissions(path, PermissionsExt::from_mode(mode & !0o077));
    }
    Ok(())
}

#[cfg(not(unix))]
fn create_private(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(path)
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// A link that leads out of the folder is an invalid path, not a storage failure.
fn failed(path: &str, what: &str, source: std::io::Error) -> Error {
    if source.kind() == ErrorKind::PermissionDenied && source.raw_os_error().is_none() {
        return invalid_path(path, "it leads out of the folder");
    }
    Error::storage(format!("`{path}` {what}"), source)
}
