//! What Kenning remembers, in one `SQLite` file.
//!
//! The rooms say what they need to remember as traits; this crate implements them. It has an async
//! runtime of its own, so that the rooms need none.

mod embeddings;
mod misses;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use tokio::runtime::Runtime;

pub use embeddings::Transferred;

const FILE: &str = "kenning.db";
const LOCK_FILE: &str = "kenning.lock";
/// How long to wait for another process that is writing.
const BUSY: Duration = Duration::from_secs(30);

/// An open store. Several processes may have the same one open.
#[derive(Debug)]
pub struct Store {
    pool: SqlitePool,
    runtime: Runtime,
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("`{}` cannot be created: {source}", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("`{}` cannot be opened: {source}", path.display())]
    Open { path: PathBuf, source: sqlx::Error },
    #[error("`{}` is of another version of Kenning: {source}", path.display())]
    Migrate { path: PathBuf, source: sqlx::migrate::MigrateError },
    #[error("the store failed: {0}")]
    Query(#[from] sqlx::Error),
    #[error("`{}` is not an export of embeddings: {reason}", path.display())]
    NotAnExport { path: PathBuf, reason: String },
    #[error(transparent)]
    Runtime(#[from] std::io::Error),
}

impl Store {
    /// Opens the store in `folder`, and creates it if it is not there.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(folder)
            .map_err(|source| StoreError::Folder { path: folder.to_path_buf(), source })?;
        let path = folder.join(FILE);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("store")
            .enable_all()
            .build()?;
        // Held while the tables are made: of many processes that start at once, one makes them.
        let lock = File::create(folder.join(LOCK_FILE))?;
        lock.lock()?;
        let pool = runtime.block_on(connect(&path))?;
        drop(lock);
        Ok(Self { pool, runtime, path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

async fn connect(path: &Path) -> Result<SqlitePool, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .foreign_keys(true)
        .busy_timeout(BUSY);
    let opened = SqlitePoolOptions::new().max_connections(4).connect_with(options).await;
    let pool = opened.map_err(|source| StoreError::Open { path: path.to_path_buf(), source })?;
    let migrated = sqlx::migrate!("migrations/sqlite").run(&pool).await;
    migrated.map_err(|source| StoreError::Migrate { path: path.to_path_buf(), source })?;
    Ok(pool)
}
