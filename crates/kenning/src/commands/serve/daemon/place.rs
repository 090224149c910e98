//! Where a host is found: a socket in a folder that is the user's alone.
//!
//! The folder is below the user's data, not in `$XDG_RUNTIME_DIR`: clients start servers with `HOME`
//! and `PATH` and little else, and both sides must look in the same place.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::commands::data_folder;

#[derive(Debug, Clone)]
pub(super) struct Place {
    folder: PathBuf,
    socket: PathBuf,
    /// Locked as long as a host lives, however it ends.
    lock: PathBuf,
}

/// A socket that is this process's own. It is removed with this value.
#[derive(Debug)]
pub(super) struct Held {
    place: Place,
    _lock: File,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum PlaceError {
    #[error("another server of the same knowledge bases has it")]
    Taken,
    #[error("{} is not a folder of this user alone", .0.display())]
    NotPrivate(PathBuf),
    #[error("{}: {error}", .path.display())]
    Io { path: PathBuf, error: io::Error },
}

impl Place {
    /// `None` for a user without a home.
    pub(super) fn called(name: &str) -> Option<Self> {
        let folder = data_folder()?.join("run");
        let socket = folder.join(format!("{name}.sock"));
        let lock = folder.join(format!("{name}.lock"));
        Some(Self { folder, socket, lock })
    }

    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Somebody else's folder may hold somebody else's socket.
    pub(super) fn check(&self) -> Result<(), PlaceError> {
        let found = self.folder.symlink_metadata().map_err(|error| at(&self.folder, error))?;
        let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
        if is_ours && found.mode() & 0o777 == 0o700 {
            Ok(())
        } else {
            Err(PlaceError::NotPrivate(self.folder.clone()))
        }
    }

    /// Takes the place, unless a host that lives has it. What a dead one left is removed: the
    /// lock, which the kernel gives back whatever happens, says that nobody listens there.
    pub(super) fn hold(self) -> Result<(Held, UnixListener), PlaceError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(|error| at(&self.folder, error))?;
        self.check()?;
        let lock = File::options().create(true).truncate(false).write(true).open(&self.lock);
        let lock = lock.map_err(|error| at(&self.lock, error))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => PlaceError::Taken,
            TryLockError::Error(error) => at(&self.lock, error),
        })?;
        match std::fs::remove_file(&self.socket) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(at(&self.socket, error));
            }
            _ => {}
        }
        let listener = UnixListener::bind(&self.socket).map_err(|error| at(&self.socket, error))?;
        Ok((Held { place: self, _lock: lock }, listener))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Whoever comes next removes it otherwise.
        let _ = std::fs::remove_file(&self.place.socket);
    }
}

fn at(path: &Path, error: io::Error) -> PlaceError {
    PlaceError::Io { path: path.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixStream;

    fn place(folder: PathBuf) -> Place {
        let (socket, lock) = (folder.join("a.sock"), folder.join("a.lock"));
        Place { folder, socket, lock }
    }

    #[test]
    fn a_place_is_held_by_one_and_left_clean() {
        let home = tempfile::tempdir().unwrap();
        let place = place(home.path().join("data/run"));
        let (held, _listener) = place.clone().hold().unwrap();
        assert_eq!(place.folder.metadata().unwrap().mode() & 0o777, 0o700);
        assert!(matches!(place.clone().hold(), Err(PlaceError::Taken)));
        assert!(UnixStream::connect(place.socket()).is_ok(), "the second did it no harm");
        drop(held);
        assert!(!place.socket().exists());
        place.hold().unwrap();
    }

    #[test]
    fn what_a_dead_host_left_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        let place = place(home.path().join("run"));
        let (held, listener) = place.clone().hold().unwrap();
        // As after a kill: the lock and the listener are gone, the file is not.
        drop(listener);
        drop(held);
        drop(UnixListener::bind(place.socket()).unwrap());
        assert!(UnixStream::connect(place.socket()).is_err());
        let _held = place.clone().hold().unwrap();
        assert!(UnixStream::connect(place.socket()).is_ok());
    }

    #[test]
    fn a_folder_that_others_reach_is_not_used() {
        let home = tempfile::tempdir().unwrap();
        let open = place(home.path().join("open"));
        std::fs::create_dir(&open.folder).unwrap();
        std::fs::set_permissions(&open.folder, PermissionsExt::from_mode(0o755)).unwrap();
        assert!(matches!(open.clone().hold(), Err(PlaceError::NotPrivate(_))));
        assert!(!open.lock.exists());
        let private = home.path().join("private");
        DirBuilder::new().mode(0o700).create(&private).unwrap();
        let linked = place(home.path().join("linked"));
        symlink(private, &linked.folder).unwrap();
        assert!(matches!(linked.check(), Err(PlaceError::NotPrivate(_))));
    }
}
