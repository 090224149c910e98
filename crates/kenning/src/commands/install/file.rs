//! A client's file, which belongs to the user: it is replaced atomically, and never without a backup.

use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use kenning_catalog::clients::Scope;
use tempfile::{Builder, NamedTempFile};

use crate::failure::Failure;

const BOM: &str = "\u{feff}";

/// A client's file as it was read.
pub(super) struct ConfigFile {
    /// Where the client looks for it.
    pub(super) path: PathBuf,
    /// Where `path` leads if it is a link.
    real: PathBuf,
    /// `None` if the file does not exist.
    text: Option<String>,
}

impl ConfigFile {
    /// Follows links, but in project scope never out of the project: a cloned repository must not
    /// choose which file is written.
    pub(super) fn read(path: PathBuf, scope: Scope, project: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let refuse = |error: std::io::Error| Failure::new(format!("cannot read `{name}`: {error}"));
        let is_link = fs::symlink_metadata(&path).is_ok_and(|about| about.is_symlink());
        let real = if is_link { path.canonicalize().map_err(refuse)? } else { path.clone() };
        if scope == Scope::Project
            && let Some(place) = outside(&real, project).map_err(refuse)?
        {
            let message = format!("`{name}` is behind a link that leads out of the project");
            return Err(Failure::new(message).hint(format!("it leads to `{}`", place.display())));
        }
        let text = match fs::read(&real) {
            Ok(bytes) => Some(String::from_utf8(bytes).map_err(|_| {
                Failure::new(format!("`{name}` is not UTF-8 text")).hint("nothing was changed")
            })?),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(refuse(error)),
        };
        Ok(Self { path, real, text })
    }

    pub(super) fn exists(&self) -> bool {
        self.text.is_some()
    }

    /// The text, without a byte order mark.
    pub(super) fn body(&self) -> &str {
        body(self.text.as_deref().unwrap_or_default())
    }

    pub(super) fn backup_path(&self) -> PathBuf {
        let mut name = OsString::from(self.path.file_name().unwrap_or_default());
        name.push(".before-kenning");
        self.path.with_file_name(name)
    }

    /// The backup that an earlier change made. A link in its place is not ours and is ignored.
    pub(super) fn backup_body(&self) -> Option<String> {
        let backup = self.backup_path();
        let about = fs::symlink_metadata(&backup).ok()?;
        let text = fs::read_to_string(backup).ok().filter(|_| about.is_file())?;
        Some(body(&text).to_owned())
    }

    /// Copies the text that was read, with the file's permissions. A link in the backup's place is
    /// replaced and not followed.
    pub(super) fn back_up(&self) -> Result<PathBuf, Failure> {
        let backup = self.backup_path();
        let copied = (|| {
            let folder = backup.parent().unwrap_or(Path::new("."));
            let mut file = self.temporary(folder)?;
            file.write_all(self.text.as_deref().unwrap_or_default().as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&backup).map_err(|error| error.error)
        })();
        copied.map_err(|error| {
            let (file, backup) = (self.path.display(), backup.display());
            Failure::new(format!("cannot copy `{file}` to `{backup}`: {error}"))
                .hint("nothing was changed")
        })?;
        Ok(backup)
    }

    /// Replaces the file by its backup.
    pub(super) fn restore(&self) -> Result<(), Failure> {
        let backup = self.backup_path();
        let text = fs::read_to_string(&backup)?;
        self.replace(&text)?;
        Ok(fs::remove_file(backup)?)
    }

    pub(super) fn delete(&self) -> Result<(), Failure> {
        self.refuse_if_changed()?;
        Ok(fs::remove_file(&self.real)?)
    }

    /// Writes a new body and keeps a byte order mark.
    pub(super) fn write(&self, new: &str) -> Result<(), Failure> {
        let has_mark = self.text.as_ref().is_some_and(|text| text.starts_with(BOM));
        let mark = if has_mark { BOM } else { "" };
        self.replace(&format!("{mark}{new}"))
    }

    /// Writes to a temporary file and renames it, so that readers see the old text or the new one.
    fn replace(&self, text: &str) -> Result<(), Failure> {
        let written = (|| {
            let folder = self.real.parent().unwrap_or(Path::new("."));
            fs::create_dir_all(folder)?;
            let mut file = self.temporary(folder)?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            Ok::<_, std::io::Error>(file)
        })();
        let failed = |error: std::io::Error| {
            Failure::new(format!("cannot write `{}`: {error}", self.path.display()))
        };
        let file = written.map_err(failed)?;
        self.refuse_if_changed()?;
        file.persist(&self.real).map_err(|error| failed(error.error))?;
        Ok(())
    }

    #[cfg(unix)]
    fn temporary(&self, folder: &Path) -> std::io::Result<NamedTempFile> {
        use std::os::unix::fs::PermissionsExt;
        // An existing file keeps its permissions; a new one gets those of the user's umask.
        match fs::metadata(&self.real) {
            Ok(about) => {
                let file = Builder::new().prefix(".kenning-").tempfile_in(folder)?;
                file.as_file().set_permissions(about.permissions())?;
                Ok(file)
            }
            Err(_) => Builder::new()
                .prefix(".kenning-")
                .permissions(fs::Permissions::from_mode(0o666))
                .tempfile_in(folder),
        }
    }

    #[cfg(not(unix))]
    fn temporary(&self, folder: &Path) -> std::io::Result<NamedTempFile> {
        Builder::new().prefix(".kenning-").tempfile_in(folder)
    }

    /// A running client may write to its file at the same time.
    fn refuse_if_changed(&self) -> Result<(), Failure> {
        let now = match fs::read(&self.real) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        if now.as_deref() == self.text.as_ref().map(String::as_bytes) {
            return Ok(());
        }
        let message = format!("`{}` was just changed by another program", self.path.display());
        Err(Failure::new(message).hint("nothing was changed; run the command again"))
    }
}

/// The real path if it is outside of the project. A path that does not exist yet is judged by its
/// nearest existing folder.
fn outside(path: &Path, project: &Path) -> std::io::Result<Option<PathBuf>> {
    let existing = path.ancestors().find(|folder| folder.exists()).unwrap_or(project);
    let (real, project) = (existing.canonicalize()?, project.canonicalize()?);
    Ok((!real.starts_with(&project)).then_some(real))
}

fn body(text: &str) -> &str {
    text.strip_prefix(BOM).unwrap_or(text)
}
