//! One set of statements for both databases.
//!
//! `sqlx` types everything by database, so that the same code must be compiled once for each. The
//! macro [`on!`] does that: its body is written once, for a pool or a transaction of either.
//! [`from_row!`] does it for the structs that rows are read into. The SQL is limited to what both
//! understand (numbered parameters, `ON CONFLICT`, `RETURNING`, `FILTER`); the few differences are
//! the functions in this file.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, PgConnection, PgPool, Postgres, Sqlite, SqlitePool, Transaction};

use crate::location::Location;
use crate::{FILE, LOCK_FILE, StoreError, migrations, private};

/// How long to wait for another process that writes to the `SQLite` file. Shorter than a request may
/// take, so that its caller learns what is wrong.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);
/// How long to wait for a server when a store is opened.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a request waits for a connection. Shorter than a request may take, so that the caller
/// gets the reason.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// Of one process to a server; one of them may listen for notifications.
const MAX_CONNECTIONS: u32 = 16;

/// The `PostgreSQL` channel for notifications about changes to the registry.
pub(crate) const CHANNEL: &str = "kenning_registry";

/// Runs its body on the database in use.
macro_rules! on {
    ($engine:expr, |$db:ident| $body:expr) => {
        match $engine {
            $crate::engine::Engine::Sqlite($db) => $body,
            $crate::engine::Engine::Postgres($db) => $body,
        }
    };
}
pub(crate) use on;

/// Reads a struct from a row of either database: each field from the column of its name, and the
/// field after `..`, itself such a struct, from the same row.
///
/// `sqlx` has a derive for this, whose crate compiles both databases a second time, for the compiler.
macro_rules! from_row {
    ($type:ident $fields:tt) => {
        $crate::engine::from_row!(sqlx::sqlite::SqliteRow => $type $fields);
        $crate::engine::from_row!(sqlx::postgres::PgRow => $type $fields);
    };
    ($row:ty => $type:ident { $($column:ident),+ $(, ..$part:ident)? }) => {
        impl sqlx::FromRow<'_, $row> for $type {
            fn from_row(row: &$row) -> Result<Self, sqlx::Error> {
                Ok(Self {
                    $($column: sqlx::Row::try_get(row, stringify!($column))?,)+
                    $($part: sqlx::FromRow::from_row(row)?,)?
                })
            }
        }
    };
}
pub(crate) use from_row;

/// A pool or a transaction of either database.
#[derive(Clone)]
pub(crate) enum Engine<S, P> {
    Sqlite(S),
    Postgres(P),
}

pub(crate) type Pool = Engine<SqlitePool, PgPool>;
/// A transaction. It is rolled back when dropped.
pub(crate) type Tx<'c> = Engine<Transaction<'c, Sqlite>, Transaction<'c, Postgres>>;

/// What only one transaction at a time may change.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lock<'a> {
    /// Of one project.
    GapsOf(&'a str),
    Proposal(&'a str),
}

impl Pool {
    /// `write_failed` is set when a transaction of a file fails so that its connection is closed.
    pub(crate) async fn open(
        location: &Location,
        write_failed: &Arc<AtomicBool>,
    ) -> Result<Self, StoreError> {
        match location {
            Location::Folder(folder) => Self::open_sqlite(folder, write_failed.clone()).await,
            Location::Postgres(options) => {
                Self::open_postgres((**options).clone(), location.to_string()).await
            }
        }
    }

    async fn open_sqlite(folder: &Path, write_failed: Arc<AtomicBool>) -> Result<Self, StoreError> {
        let refused = |path: &Path, source| StoreError::Folder { path: path.to_path_buf(), source };
        private::create_folder(folder).map_err(|source| refused(folder, source))?;
        let path = folder.join(FILE);
        let place = path.display().to_string();
        // Held during migration, so that one of several starting processes applies it.
        let lock = folder.join(LOCK_FILE);
        let lock = private::open_private(&lock).map_err(|source| refused(&lock, source))?;
        lock.lock()?;
        private::create_database(folder).map_err(|source| refused(&path, source))?;
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT);
        let opened = sqlite_pool(write_failed).connect_with(options).await;
        let pool = opened.map_err(|source| StoreError::Open { place: place.clone(), source })?;
        let migrated = migrations::sqlite().run(&pool).await;
        migrated.map_err(|source| StoreError::migrating(place, source))?;
        drop(lock);
        Ok(Self::Sqlite(pool))
    }

    async fn open_postgres(options: PgConnectOptions, place: String) -> Result<Self, StoreError> {
        let first = connect_once(&options).await;
        let mut first =
            first.map_err(|source| StoreError::Open { place: place.clone(), source })?;
        // Takes an advisory lock, so that one of several starting processes migrates.
        let migrated = migrations::postgres().run(&mut first).await;
        migrated.map_err(|source| StoreError::migrating(place, source))?;
        first.close().await?;
        let pool =
            PgPoolOptions::new().max_connections(MAX_CONNECTIONS).acquire_timeout(ACQUIRE_TIMEOUT);
        Ok(Self::Postgres(pool.connect_lazy_with(options)))
    }

    /// Begins a transaction that writes. `SQLite` has one writer at a time; `IMMEDIATE` waits for it
    /// here, because a reader that starts to write can be refused halfway.
    ///
    /// A commit survives the process, but in a `SQLite` file not necessarily a power cut.
    pub(crate) async fn write(&self) -> Result<Tx<'static>, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(pool) => {
                let begin = "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE";
                Engine::Sqlite(pool.begin_with(begin).await?)
            }
            Self::Postgres(pool) => Engine::Postgres(pool.begin().await?),
        })
    }

    /// [`Self::write`] for what will not be sent again: a commit survives a power cut. It waits
    /// until the `SQLite` log is flushed to disk, which is why not every write does so. A `PostgreSQL`
    /// server flushes by its own settings.
    pub(crate) async fn write_durably(&self) -> Result<Tx<'static>, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(pool) => {
                let begin = "PRAGMA synchronous = FULL; BEGIN IMMEDIATE";
                Engine::Sqlite(pool.begin_with(begin).await?)
            }
            Self::Postgres(pool) => Engine::Postgres(pool.begin().await?),
        })
    }

    /// Begins a transaction that reads one consistent snapshot.
    pub(crate) async fn read(&self) -> Result<Tx<'static>, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(pool) => Engine::Sqlite(pool.begin().await?),
            Self::Postgres(pool) => {
                let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                Engine::Postgres(pool.begin_with(begin).await?)
            }
        })
    }
}

/// A connection whose transaction could not be rolled back is closed. `SQLite` itself rolls back when
/// a disk is full, and the `ROLLBACK` that follows fails; such a connection would refuse every write
/// from then on, because `sqlx` takes it for one in a transaction. `PostgreSQL` leaves every
/// rollback to the client.
fn sqlite_pool(write_failed: Arc<AtomicBool>) -> SqlitePoolOptions {
    SqlitePoolOptions::new().max_connections(4).after_release(move |connection, _| {
        let write_failed = write_failed.clone();
        Box::pin(async move {
            // Waits for a rollback that a dropped transaction has started.
            connection.ping().await?;
            let is_usable = !connection.is_in_transaction();
            if !is_usable {
                write_failed.store(true, Ordering::Relaxed);
            }
            Ok(is_usable)
        })
    })
}

/// Connects without the pool, which would retry until its timeout and then hide the reason.
pub(crate) async fn connect_once(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    let connected = tokio::time::timeout(CONNECT_TIMEOUT, PgConnection::connect_with(options));
    let late = |_| sqlx::Error::from(std::io::Error::from(ErrorKind::TimedOut));
    connected.await.map_err(late)?
}

impl Tx<'_> {
    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        on!(self, |tx| tx.commit().await)
    }

    /// Blocks other transactions that take the same lock until the end of this one. `SQLite` has
    /// one writer at a time anyway.
    pub(crate) async fn lock(&mut self, lock: Lock<'_>) -> Result<(), sqlx::Error> {
        if let Self::Postgres(tx) = self {
            let (kind, name) = match lock {
                Lock::GapsOf(project_id) => (1_i32, project_id),
                Lock::Proposal(id) => (2, id),
            };
            let query = sqlx::query("SELECT pg_advisory_xact_lock($1, hashtext($2))");
            query.bind(kind).bind(name).execute(&mut **tx).await?;
        }
        Ok(())
    }

    /// Blocks other transactions from inserting agents and capabilities until the end of this one.
    /// `SQLite` has one writer at a time anyway.
    pub(crate) async fn lock_registry(&mut self) -> Result<(), sqlx::Error> {
        if let Self::Postgres(tx) = self {
            let lock = "LOCK TABLE agents, agent_capabilities IN SHARE ROW EXCLUSIVE MODE";
            sqlx::query(lock).execute(&mut **tx).await?;
        }
        Ok(())
    }

    /// Moves the sequences past ids that callers chose. `SQLite` does so by itself.
    pub(crate) async fn skip_used_ids(&mut self) -> Result<(), sqlx::Error> {
        if let Self::Postgres(tx) = self {
            let agents = "SELECT setval('agents_id_seq', greatest((SELECT max(id) FROM agents), \
                          (SELECT last_value FROM agents_id_seq)))";
            sqlx::query(agents).execute(&mut **tx).await?;
            let capabilities = "SELECT setval('agent_capabilities_id_seq', greatest(\
                                (SELECT max(id) FROM agent_capabilities), \
                                (SELECT last_value FROM agent_capabilities_id_seq)))";
            sqlx::query(capabilities).execute(&mut **tx).await?;
        }
        Ok(())
    }

    /// Notifies subscribers of a change to the registry when this transaction commits.
    pub(crate) async fn notify_registry_change(&mut self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(tx) => {
                let count = "UPDATE registry_changes SET revision = revision + 1";
                sqlx::query(count).execute(&mut **tx).await?;
            }
            Self::Postgres(tx) => {
                let notify = sqlx::query("SELECT pg_notify($1, '')").bind(CHANNEL);
                notify.execute(&mut **tx).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn open(folder: &Path) -> Pool {
        Pool::open(&Location::Folder(folder.to_path_buf()), &Arc::default()).await.unwrap()
    }

    async fn synchronous(mut tx: Tx<'_>) -> i64 {
        on!(&mut tx, |tx| {
            let level = "SELECT synchronous FROM pragma_synchronous";
            sqlx::query_scalar(level).fetch_one(&mut **tx).await.unwrap()
        })
    }

    /// 2 is FULL, 1 is NORMAL. A reused connection must not keep the previous setting.
    #[tokio::test]
    async fn each_write_sets_its_own_durability() {
        let folder = tempfile::TempDir::new().unwrap();
        let pool = open(folder.path()).await;
        for _ in 0..5 {
            assert_eq!(synchronous(pool.write_durably().await.unwrap()).await, 2);
            assert_eq!(synchronous(pool.write().await.unwrap()).await, 1);
        }
    }

    /// Fails as on a full disk: the file may not grow.
    async fn write_without_space(pool: &Pool) -> sqlx::Error {
        let mut tx = pool.write().await.unwrap();
        let Engine::Sqlite(tx) = &mut tx else { panic!("this is SQLite") };
        sqlx::query("PRAGMA max_page_count = 1").execute(&mut **tx).await.unwrap();
        let write = "INSERT INTO embeddings (model, text_key, windows, vectors) \
                     VALUES ('m', zeroblob(16), zeroblob(8), zeroblob(1000000))";
        sqlx::query(write).execute(&mut **tx).await.unwrap_err()
    }

    #[tokio::test]
    async fn a_write_succeeds_at_once_after_one_that_found_no_space() {
        let folder = tempfile::TempDir::new().unwrap();
        let pool = open(folder.path()).await;
        for _ in 0..10 {
            let error = write_without_space(&pool).await;
            assert_eq!(crate::NotReady::from(&error), crate::NotReady::Full, "{error}");
            let mut tx = pool.write().await.unwrap();
            tx.notify_registry_change().await.unwrap();
            tx.commit().await.unwrap();
        }
    }
}
