//! One set of statements for both databases.
//!
//! `sqlx` types everything by database, so the same code must be compiled once for each. The
//! macro [`on!`] does that: its body is written once, for a pool or a transaction of either. SQL
//! is kept to what both understand (numbered parameters, `ON CONFLICT`, `RETURNING`, `FILTER`);
//! the few places where they differ are the functions in this file.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Connection, PgConnection, PgPool, Postgres, Sqlite, SqlitePool, Transaction};

use crate::location::Location;
use crate::{FILE, LOCK_FILE, StoreError};

/// How long to wait for another process that is writing.
const BUSY: Duration = Duration::from_secs(30);
/// How long to wait for a server that does not answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How long one who asks waits for a server that is not there. Shorter than a request may take, so
/// that it is answered with the reason.
const ASKING: Duration = Duration::from_secs(5);

/// Of one process to a server, one of which may listen.
const MAX_CONNECTIONS: u32 = 16;

/// On this channel a server tells of changes to the registry.
pub(crate) const CHANNEL: &str = "kenning_registry";

/// Runs its body on whichever database there is.
macro_rules! on {
    ($engine:expr, |$db:ident| $body:expr) => {
        match $engine {
            $crate::engine::Engine::Sqlite($db) => $body,
            $crate::engine::Engine::Postgres($db) => $body,
        }
    };
}
pub(crate) use on;

/// The same thing of either database.
#[derive(Clone)]
pub(crate) enum Engine<S, P> {
    Sqlite(S),
    Postgres(P),
}

pub(crate) type Pool = Engine<SqlitePool, PgPool>;
/// What is done together or not at all. Dropped, it leaves nothing.
pub(crate) type Work<'c> = Engine<Transaction<'c, Sqlite>, Transaction<'c, Postgres>>;

/// What is changed by one at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Lock<'a> {
    /// Of one project.
    GapsOf(&'a str),
    Proposal(&'a str),
}

impl Pool {
    pub(crate) async fn open(location: &Location) -> Result<Self, StoreError> {
        match location {
            Location::Folder(folder) => Self::open_sqlite(folder).await,
            Location::Postgres(options) => {
                Self::open_postgres((**options).clone(), location.to_string()).await
            }
        }
    }

    async fn open_sqlite(folder: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(folder)
            .map_err(|source| StoreError::Folder { path: folder.to_path_buf(), source })?;
        let path = folder.join(FILE);
        let place = path.display().to_string();
        // Held while the tables are made: of many processes that start at once, one makes them.
        let lock = folder.join(LOCK_FILE);
        let refused = |source| StoreError::Folder { path: lock.clone(), source };
        let lock = File::create(&lock).map_err(refused)?;
        lock.lock()?;
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .foreign_keys(true)
            .busy_timeout(BUSY);
        let opened = SqlitePoolOptions::new().max_connections(4).connect_with(options).await;
        let pool = opened.map_err(|source| StoreError::Open { place: place.clone(), source })?;
        let migrated = sqlx::migrate!("migrations/sqlite").run(&pool).await;
        migrated.map_err(|source| StoreError::migrating(place, source))?;
        drop(lock);
        Ok(Self::Sqlite(pool))
    }

    async fn open_postgres(options: PgConnectOptions, place: String) -> Result<Self, StoreError> {
        // Not by the pool, which would go on trying, and then say only that it took too long.
        let first = tokio::time::timeout(PATIENCE, PgConnection::connect_with(&options)).await;
        let first = first.unwrap_or_else(|_| Err(std::io::Error::from(ErrorKind::TimedOut).into()));
        let mut first =
            first.map_err(|source| StoreError::Open { place: place.clone(), source })?;
        // Takes an advisory lock: of many processes that start at once, one makes the tables.
        let migrated = sqlx::migrate!("migrations/postgres").run(&mut first).await;
        migrated.map_err(|source| StoreError::migrating(place, source))?;
        first.close().await?;
        let pool = PgPoolOptions::new().max_connections(MAX_CONNECTIONS).acquire_timeout(ASKING);
        Ok(Self::Postgres(pool.connect_lazy_with(options)))
    }

    /// Begins to write. `SQLite` has one writer at a time, and learns at once that this is one:
    /// a reader that turns writer could be refused halfway.
    ///
    /// What is committed outlives the process, though in a file perhaps not a power cut.
    pub(crate) async fn write(&self) -> Result<Work<'static>, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(pool) => {
                let begin = "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE";
                Engine::Sqlite(pool.begin_with(begin).await?)
            }
            Self::Postgres(pool) => Engine::Postgres(pool.begin().await?),
        })
    }

    /// The same for what nobody will send again: once it is committed, a power cut does not undo
    /// it. A file's log is flushed to the disk with every such commit; it costs a wait, which is
    /// why not every commit is one. A server does so by its own settings, unless told otherwise.
    pub(crate) async fn write_durably(&self) -> Result<Work<'static>, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(pool) => {
                let begin = "PRAGMA synchronous = FULL; BEGIN IMMEDIATE";
                Engine::Sqlite(pool.begin_with(begin).await?)
            }
            Self::Postgres(pool) => Engine::Postgres(pool.begin().await?),
        })
    }

    /// Begins to read: all statements see the same moment.
    pub(crate) async fn read(&self) -> Result<Work<'static>, sqlx::Error> {
        Ok(match self {
            Self::Sqlite(pool) => Engine::Sqlite(pool.begin().await?),
            Self::Postgres(pool) => {
                let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                Engine::Postgres(pool.begin_with(begin).await?)
            }
        })
    }
}

impl Work<'_> {
    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        on!(self, |work| work.commit().await)
    }

    /// Keeps everybody else who locks the same thing waiting until the end. `SQLite` has one
    /// writer at a time anyway.
    pub(crate) async fn lock(&mut self, lock: Lock<'_>) -> Result<(), sqlx::Error> {
        if let Self::Postgres(work) = self {
            let (kind, name) = match lock {
                Lock::GapsOf(project_id) => (1_i32, project_id),
                Lock::Proposal(id) => (2, id),
            };
            let query = sqlx::query("SELECT pg_advisory_xact_lock($1, hashtext($2))");
            query.bind(kind).bind(name).execute(&mut **work).await?;
        }
        Ok(())
    }

    /// Keeps everybody else from adding rows with ids until the end. `SQLite` does so by itself.
    pub(crate) async fn lock_registry(&mut self) -> Result<(), sqlx::Error> {
        if let Self::Postgres(work) = self {
            let lock = "LOCK TABLE agents, agent_capabilities IN SHARE ROW EXCLUSIVE MODE";
            sqlx::query(lock).execute(&mut **work).await?;
        }
        Ok(())
    }

    /// Lets counting go on after the ids that callers chose. `SQLite` does so by itself.
    pub(crate) async fn skip_used_ids(&mut self) -> Result<(), sqlx::Error> {
        if let Self::Postgres(work) = self {
            let agents = "SELECT setval('agents_id_seq', greatest((SELECT max(id) FROM agents), \
                          (SELECT last_value FROM agents_id_seq)))";
            sqlx::query(agents).execute(&mut **work).await?;
            let capabilities = "SELECT setval('agent_capabilities_id_seq', greatest(\
                                (SELECT max(id) FROM agent_capabilities), \
                                (SELECT last_value FROM agent_capabilities_id_seq)))";
            sqlx::query(capabilities).execute(&mut **work).await?;
        }
        Ok(())
    }

    /// Tells whoever watches that the registry has changed, once this is committed.
    pub(crate) async fn announce(&mut self) -> Result<(), sqlx::Error> {
        match self {
            Self::Sqlite(work) => {
                let count = "UPDATE registry_changes SET revision = revision + 1";
                sqlx::query(count).execute(&mut **work).await?;
            }
            Self::Postgres(work) => {
                let notify = sqlx::query("SELECT pg_notify($1, '')").bind(CHANNEL);
                notify.execute(&mut **work).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn synchronous(mut work: Work<'_>) -> i64 {
        on!(&mut work, |work| {
            let level = "SELECT synchronous FROM pragma_synchronous";
            sqlx::query_scalar(level).fetch_one(&mut **work).await.unwrap()
        })
    }

    /// 2 is FULL, 1 is NORMAL. Connections are used again, whatever they were used for before.
    #[tokio::test]
    async fn every_write_says_how_sure_it_has_to_be() {
        let folder = tempfile::TempDir::new().unwrap();
        let pool = Pool::open(&Location::Folder(folder.path().to_path_buf())).await.unwrap();
        for _ in 0..5 {
            assert_eq!(synchronous(pool.write_durably().await.unwrap()).await, 2);
            assert_eq!(synchronous(pool.write().await.unwrap()).await, 1);
        }
    }
}
