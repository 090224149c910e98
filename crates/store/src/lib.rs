//! Kenning's storage: one `SQLite` file, or a `PostgreSQL` database that a team shares.
//!
//! The domain crates declare the storage they need as traits, which this crate implements: vectors
//! ([`embeddings`]), usage counts of nodes ([`usage`]), agents and their capabilities
//! ([`registry`]), recorded calls, gaps and proposals ([`gaps`]). It also stores access tokens
//! ([`tokens`]). [`location`] is the address of a store, [`migrations`] creates and changes its
//! tables, [`engine`] runs one set of statements on both databases, [`watch`] notifies of changes
//! by other processes, [`transfer`] exports and imports the registry, [`open_read_only`] opens a
//! store without changing it, [`private`] keeps other users out of its files, [`readiness`] checks
//! that it can be used.
//!
//! It has its own async runtime, so that the domain crates need none.

mod embeddings;
mod engine;
mod gaps;
mod location;
mod migrations;
mod open_read_only;
mod private;
mod readiness;
mod registry;
mod tokens;
mod transfer;
mod usage;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sqlx::migrate::MigrateError;
use tokio::runtime::Runtime;

use engine::Pool;

pub use embeddings::Transferred;
pub use location::{Location, LocationError};
pub use open_read_only::{ReadOnly, Schema};
pub use private::{Exposed, ExposedKind, exposed};
pub use readiness::NotReady;
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
    check: readiness::Check,
    /// Whether a write failed and none of the checks since has succeeded.
    write_failed: Arc<AtomicBool>,
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

/// Whether `SQLite` reports a corrupt file.
fn is_damaged(error: &sqlx::Error) -> bool {
    matches!(readiness::sqlite_code(error), Some(11 | 26))
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
        let write_failed = Arc::default();
        let pool = runtime.block_on(Pool::open(location, &write_failed))?;
        let place = Self::place_of(location);
        let mut store = Self::new(pool, runtime, place);
        store.write_failed = write_failed;
        Ok(store)
    }

    fn new(pool: Pool, runtime: Runtime, place: String) -> Self {
        let check = readiness::Check::default();
        let (usage, write_failed) = (Arc::default(), Arc::default());
        Self { pool, runtime: Some(runtime), place, usage, check, write_failed }
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
