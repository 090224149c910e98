//! A store in a folder is private to its owner: files of mode 0600 in a folder of mode 0700.
//!
//! A file gets its mode when it is created, so that at no moment others can open it. `SQLite` gives its
//! log files the mode of the database. Files that earlier versions created are restricted when
//! their owner opens the store.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::{FILE, LOCK_FILE};

/// Suffixes of the database and of the files that `SQLite` keeps beside it.
const SUFFIXES: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Folders that the program keeps in the same place: generated texts, and sockets.
const FOLDERS: [&str; 2] = ["compose", "run"];

/// A file or folder of a store that other users of this machine can reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposed {
    pub path: PathBuf,
    /// The permission bits, such as `0o644`.
    pub mode: u32,
    pub kind: ExposedKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExposedKind {
    /// Restricted the next time its owner opens the store.
    Own,
    /// A folder that holds files of others, too, so that its mode is for its owner to choose.
    SharedFolder,
}

/// What others can reach of the store in a folder. Changes nothing.
pub fn exposed(folder: &Path) -> Vec<Exposed> {
    let kind = if is_ours_alone(folder) { ExposedKind::Own } else { ExposedKind::SharedFolder };
    let files = files(folder).map(|file| (file, ExposedKind::Own));
    let all = std::iter::once((folder.to_path_buf(), kind)).chain(files);
    all.filter_map(|(path, kind)| Some(Exposed { mode: open_mode(&path)?, path, kind })).collect()
}

/// Creates the folder, or restricts one that holds nothing but a store.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    if !folder.is_dir() {
        return create_private_folder(folder);
    }
    if is_ours_alone(folder) {
        restrict(folder);
    }
    Ok(())
}

/// Creates the database if it is missing, because `SQLite` would let others read it, and restricts
/// the files that are there.
///
/// Never opens a database that exists: closing it again would release the locks that other
/// connections of this process hold on it.
pub(crate) fn create_database(folder: &Path) -> io::Result<()> {
    let path = folder.join(FILE);
    if !path.exists() {
        open_private(&path)?;
    }
    files(folder).for_each(|file| restrict(&file));
    Ok(())
}

/// Opens a file to write, and creates it if it is missing.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.create(true).truncate(false).write(true).open(path)
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let database = SUFFIXES.iter().map(move |suffix| folder.join(format!("{FILE}{suffix}")));
    database.chain(std::iter::once(folder.join(LOCK_FILE)))
}

fn is_ours_alone(folder: &Path) -> bool {
    let ours = |entry: io::Result<std::fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let path = entry.path();
            files(folder).any(|file| file == path)
                || FOLDERS.iter().any(|name| entry.file_name() == *name)
        })
    };
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.all(ours))
}

/// The mode of a file or folder that others can reach; `None` if they cannot, or there is none.
#[cfg(unix)]
fn open_mode(path: &Path) -> Option<u32> {
    let mode = std::os::unix::fs::MetadataExt::mode(&path.metadata().ok()?) & 0o7777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn open_mode(_: &Path) -> Option<u32> {
    None
}

/// Takes the rights of others away. Only the owner can: for others the store works as it is, and
/// `kenning doctor` tells.
#[cfg(unix)]
fn restrict(path: &Path) {
    const STICKY: u32 = 0o1000;
    // A folder in which everybody may create files, such as `/tmp`, stays so.
    let Some(mode) = open_mode(path).filter(|mode| mode & STICKY == 0) else { return };
    let private = std::os::unix::fs::PermissionsExt::from_mode(mode & !0o077);
    if let Err(error) = std::fs::set_permissions(path, private) {
        let path = path.display();
        tracing::debug!(%error, "other users can still reach `{path}`: its mode cannot be changed");
    }
}

#[cfg(not(unix))]
fn restrict(_: &Path) {}
