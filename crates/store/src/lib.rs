//! What Kenning remembers: in one `SQLite` file, or in a `PostgreSQL` database that a team shares.
//!
//! The rooms say what they need to remember as traits; this crate implements them: vectors
//! ([`embeddings`]), questions that found nothing ([`misses`]) and nodes that were found
//! ([`usage`]), agents and their capabilities ([`registry`]), calls and what was missing in them
//! ([`gaps`]), who may come in ([`tokens`]). [`location`] says where a store is, [`engine`] lets one set of statements run
//! on both databases, [`watch`] tells of changes that others make, [`transfer`] carries the
//! registry from one store to another, [`look`] leaves everything as it is.
//!
//! It has an async runtime of its own, so that the rooms need none.

mod embeddings;
mod engine;
mod gaps;
mod location;
mod look;
mod misses;
mod registry;
mod tokens;
mod transfer;
mod usage;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sqlx::migrate::MigrateError;
use sqlx::sqlite::SqliteError;
use tokio::runtime::Runtime;

use engine::{Pool, on};

pub use embeddings::Transferred;
pub use location::{Location, LocationError};
pub use look::{Look, Schema};
pub use tokens::TokenRecord;
pub use transfer::{ImportError, RegistryTransferred};
pub use watch::Subscription;

const FILE: &str = "kenning.db";
const LOCK_FILE: &str = "kenning.lock";

/// An open store. Several processes may have the same one open.
pub struct Store {
    pool: Pool,
    /// Always there until the store is dropped.
    runtime: Option<Runtime>,
    place: String,
    used: Arc<usage::Tally>,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("`{}` cannot be created: {source}", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("`{place}` cannot be opened: {source}")]
    Open { place: String, source: sqlx::Error },
    #[error("`{place}` is of another version of Kenning: {source}")]
    Migrate { place: String, source: sqlx::migrate::MigrateError },
    #[error("the store failed: {0}")]
    Query(#[from] sqlx::Error),
    #[error("`{}` is not an export of embeddings: {reason}", path.display())]
    NotAnExport { path: PathBuf, reason: String },
    #[error(transparent)]
    Runtime(#[from] std::io::Error),
}

impl StoreError {
    /// A database that fails while tables are made is not one of another version.
    fn migrating(place: String, error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => {
                Self::Open { place, source }
            }
            source => Self::Migrate { place, source },
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        let Self::Open { source, .. } = self else { return None };
        is_damaged(source).then_some(
            "the file is damaged: move it away and a new one is made, or put a copy in its place",
        )
    }
}

/// Whether it is a file that `SQLite` cannot make sense of: codes 11 and 26, in their lowest byte.
fn is_damaged(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    if error.try_downcast_ref::<SqliteError>().is_none() {
        return false;
    }
    let code = error.code().and_then(|code| code.parse::<u32>().ok());
    code.is_some_and(|code| matches!(code & 0xff, 11 | 26))
}

/// Why nothing was changed: a rule of the room, or the database.
enum Refusal<Rule> {
    Rule(Rule),
    Database(sqlx::Error),
}

impl<Rule> From<sqlx::Error> for Refusal<Rule> {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl Store {
    /// Opens the store in `folder`, and creates it if it is not there.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::connect(&Location::Folder(folder.to_path_buf()))
    }

    /// Opens the store at `location`, and makes what tables are missing.
    pub fn connect(location: &Location) -> Result<Self, StoreError> {
        let runtime = Self::start_runtime()?;
        let pool = runtime.block_on(Pool::open(location))?;
        let place = Self::place_of(location);
        Ok(Self { pool, runtime: Some(runtime), place, used: Arc::default() })
    }

    fn start_runtime() -> std::io::Result<Runtime> {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("store")
            .enable_all()
            .build()
    }

    fn place_of(location: &Location) -> String {
        match location {
            Location::Folder(folder) => folder.join(FILE).display().to_string(),
            Location::Postgres(_) => location.to_string(),
        }
    }

    /// Where it is, without a password.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Whether the database answers; it may take no longer than this.
    pub fn answers(&self, patience: Duration) -> bool {
        let asked =
            async { on!(&self.pool, |pool| sqlx::query("SELECT 1").execute(pool).await.map(drop)) };
        let answered = async { tokio::time::timeout(patience, asked).await };
        self.runtime().block_on(answered).is_ok_and(|answer| answer.is_ok())
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("a store that is in use is not dropped")
    }
}

impl Drop for Store {
    /// Does not wait, because it may happen on an async thread, which must not.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("place", &self.place).finish_non_exhaustive()
    }
}
