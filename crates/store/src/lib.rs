//! Kenning's storage: one `SQLite` file, or a `PostgreSQL` database that a team shares.
//!
//! The domain crates declare the storage they need as traits, which this crate implements: vectors
//! ([`embeddings`]), usage counts of nodes ([`usage`]), agents and their capabilities
//! ([`registry`]), recorded calls, gaps and proposals ([`gaps`]). It also stores access tokens
//! ([`tokens`]). [`location`] is the address of a store, [`migrations`] creates and changes its
//! tables, [`engine`] runs one set of statements on both databases, [`watch`] notifies of changes
//! by other processes, [`transfer`] exports and imports the registry, [`open_read_only`] opens a
//! store without changing it.
//!
//! It has its own async runtime, so that the domain crates need none.

mod embeddings;
mod engine;
mod gaps;
mod location;
mod migrations;
mod open_read_only;
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
pub use open_read_only::{ReadOnly, Schema};
pub use tokens::TokenRecord;
pub use transfer::{ImportError, RegistryTransferred};
pub use watch::Subscription;

const FILE: &str = "kenning.db";
const LOCK_FILE: &str = "kenning.lock";

/// An open store. Several processes may open the same one.
pub struct Store {
    pool: Pool,
    /// `Some` until the store is dropped.
    runtime: Option<Runtime>,
    place: String,
    usage: Arc<usage::UnwrittenUsage>,
}

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("`{}` cannot be created: {source}", path.display())]
    Folder { path: PathBuf, source: std::io::Error },
    #[error("`{place}` cannot be opened: {source}")]
    Open { place: String, source: sqlx::Error },
    #[error("`{place}` belongs to another version of Kenning: {source}")]
    Migrate { place: String, source: sqlx::migrate::MigrateError },
    #[error("the store failed: {0}")]
    Query(#[from] sqlx::Error),
    #[error("`{}` is not an export of embeddings: {reason}", path.display())]
    NotAnExport { path: PathBuf, reason: String },
    #[error(transparent)]
    Runtime(#[from] std::io::Error),
}

impl StoreError {
    /// A database that fails during migration is not necessarily of another version.
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
            "the file is damaged: replace it with a backup, or move it away to start with a new one",
        )
    }
}

/// Whether `SQLite` reports a corrupt file: primary result codes 11 and 26, in the lowest byte.
fn is_damaged(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    if error.try_downcast_ref::<SqliteError>().is_none() {
        return false;
    }
    let code = error.code().and_then(|code| code.parse::<u32>().ok());
    code.is_some_and(|code| matches!(code & 0xff, 11 | 26))
}

/// Why nothing was changed: a rule of the domain crate, or the database.
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

    /// Opens the store at `location` and applies missing migrations.
    pub fn connect(location: &Location) -> Result<Self, StoreError> {
        let runtime = Self::start_runtime()?;
        let pool = runtime.block_on(Pool::open(location))?;
        let place = Self::place_of(location);
        Ok(Self { pool, runtime: Some(runtime), place, usage: Arc::default() })
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

    /// The location, without a password.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Whether the database answers within `patience`.
    pub fn answers(&self, patience: Duration) -> bool {
        let asked =
            async { on!(&self.pool, |pool| sqlx::query("SELECT 1").execute(pool).await.map(drop)) };
        let answered = async { tokio::time::timeout(patience, asked).await };
        self.runtime().block_on(answered).is_ok_and(|answer| answer.is_ok())
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("the runtime is there until the store is dropped")
    }
}

impl Drop for Store {
    /// Does not block, because it may run on an async thread.
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
