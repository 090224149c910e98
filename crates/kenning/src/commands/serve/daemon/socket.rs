//! The socket of a host, in a folder that only the user can reach.
//!
//! The folder is below the user's data, not in `$XDG_RUNTIME_DIR`: clients start servers with `HOME`
//! and `PATH` and little else, and both sides must find the same folder.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::commands::data_folder;

#[derive(Debug, Clone)]
pub(super) struct SocketPath {
    folder: PathBuf,
    socket: PathBuf,
    /// Locked by the running host. The kernel releases it however the host ends.
    lock: PathBuf,
}

/// The lock on a socket that this process listens on. The socket is removed with this value.
#[derive(Debug)]
pub(super) struct SocketLock {
    path: SocketPath,
    _lock: File,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SocketError {
    #[error("another server of the same knowledge bases listens there")]
    Taken,
    #[error("{} is not a folder of this user alone", .0.display())]
    NotPrivate(PathBuf),
    #[error("{}: {error}", .path.display())]
    Io { path: PathBuf, error: io::Error },
}

impl SocketPath {
    /// `None` for a user without a home folder.
    pub(super) fn of(name: &str) -> Option<Self> {
        let folder = data_folder()?.join("run");
        let socket = folder.join(format!("{name}.sock"));
        let lock = folder.join(format!("{name}.lock"));
        Some(Self { folder, socket, lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.socket
    }

    /// Another user could put a socket of theirs into a folder that is not private.
    pub(super) fn check_private(&self) -> Result<(), SocketError> {
        let found = self.folder.symlink_metadata().map_err(|error| at(&self.folder, error))?;
        let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
        if is_ours && found.mode() & 0o777 == 0o700 {
            Ok(())
        } else {
            Err(SocketError::NotPrivate(self.folder.clone()))
        }
    }

    /// Listens on the socket, unless a running host does. The lock decides, not the socket: the
    /// holder of the lock may remove a socket that is there, which a killed host left behind.
    pub(super) fn bind(self) -> Result<(SocketLock, UnixListener), SocketError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(|error| at(&self.folder, error))?;
        self.check_private()?;
        let lock = File::options().create(true).truncate(false).write(true).open(&self.lock);
        let lock = lock.map_err(|error| at(&self.lock, error))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => SocketError::Taken,
            TryLockError::Error(error) => at(&self.lock, error),
        })?;
        match std::fs::remove_file(&self.socket) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(at(&self.socket, error));
            }
            _ => {}
        }
        let listener = UnixListener::bind(&self.socket).map_err(|error| at(&self.socket, error))?;
        Ok((SocketLock { path: self, _lock: lock }, listener))
    }
}

impl Drop for SocketLock {
    fn drop(&mut self) {
        // If this fails, the next host removes it.
        let _ = std::fs::remove_file(&self.path.socket);
    }
}

/// Whether the other end belongs to this user, whatever the folder's mode says.
pub(super) fn is_same_user(stream: &tokio::net::UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own)
}

fn at(path: &Path, error: io::Error) -> SocketError {
    SocketError::Io { path: path.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixStream;

    fn socket_in(folder: PathBuf) -> SocketPath {
        let (socket, lock) = (folder.join("a.sock"), folder.join("a.lock"));
        SocketPath { folder, socket, lock }
    }

    #[test]
    fn one_host_listens_and_removes_its_socket() {
        let home = tempfile::tempdir().unwrap();
        let path = socket_in(home.path().join("data/run"));
        let (lock, _listener) = path.clone().bind().unwrap();
        assert_eq!(path.folder.metadata().unwrap().mode() & 0o777, 0o700);
        assert!(matches!(path.clone().bind(), Err(SocketError::Taken)));
        assert!(UnixStream::connect(path.path()).is_ok(), "the first still listens");
        drop(lock);
        assert!(!path.path().exists());
        path.bind().unwrap();
    }

    #[test]
    fn the_socket_of_a_killed_host_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        let path = socket_in(home.path().join("run"));
        let (lock, listener) = path.clone().bind().unwrap();
        // As after a kill: lock and listener are gone, the file is not.
        drop(listener);
        drop(lock);
        drop(UnixListener::bind(path.path()).unwrap());
        assert!(UnixStream::connect(path.path()).is_err());
        let _lock = path.clone().bind().unwrap();
        assert!(UnixStream::connect(path.path()).is_ok());
    }

    #[test]
    fn a_folder_that_others_can_reach_is_not_used() {
        let home = tempfile::tempdir().unwrap();
        let open = socket_in(home.path().join("open"));
        std::fs::create_dir(&open.folder).unwrap();
        std::fs::set_permissions(&open.folder, PermissionsExt::from_mode(0o755)).unwrap();
        assert!(matches!(open.clone().bind(), Err(SocketError::NotPrivate(_))));
        assert!(!open.lock.exists());
        let private = home.path().join("private");
        DirBuilder::new().mode(0o700).create(&private).unwrap();
        let linked = socket_in(home.path().join("linked"));
        symlink(private, &linked.folder).unwrap();
        assert!(matches!(linked.check_private(), Err(SocketError::NotPrivate(_))));
    }
}
