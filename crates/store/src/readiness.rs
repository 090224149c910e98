//! Whether a store can do what is asked of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteError};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgPool, SqliteConnection};
use tokio::task::JoinHandle;

use crate::engine::Engine;
use crate::{Store, StoreError};

/// Why a store is not ready. The texts name no path, host or table, because everybody who reaches
/// the server may read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotReady {
    Damaged,
    ReadOnly,
    Full,
    CannotOpen,
    Silent,
    Failed,
}

impl NotReady {
    pub fn reason(self) -> &'static str {
        match self {
            Self::Damaged => "the store is damaged",
            Self::ReadOnly => "the store cannot be written",
            Self::Full => "the store has no space left",
            Self::CannotOpen => "the store cannot be opened",
            Self::Silent => "the store does not answer",
            Self::Failed => "the store fails",
        }
    }
}

/// A check under way. There is one at most: on a disk that hangs, each would block a thread.
pub(crate) type Check = Mutex<Option<JoinHandle<Result<(), sqlx::Error>>>>;

impl Store {
    /// Reads from the store and begins to write, and leaves nothing behind. After a write that
    /// failed, as on a full disk, it also commits, so that the store is ready only once writes succeed.
    pub fn check(&self, patience: Duration) -> Result<(), NotReady> {
        let mut under_way = self.check.lock().unwrap_or_else(PoisonError::into_inner);
        let mut task = under_way.take().unwrap_or_else(|| {
            let (pool, write_failed) = (self.pool.clone(), self.write_failed.clone());
            self.runtime().spawn(async move {
                match pool {
                    Engine::Sqlite(pool) => {
                        check_sqlite(&pool.connect_options(), &write_failed).await
                    }
                    Engine::Postgres(pool) => check_postgres(&pool).await,
                }
            })
        });
        let waited = async { tokio::time::timeout(patience, &mut task).await };
        match self.runtime().block_on(waited) {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(error))) => {
                tracing::debug!(%error, "the store is not ready");
                Err(NotReady::from(&error))
            }
            Ok(Err(_)) => Err(NotReady::Failed),
            Err(_) => {
                *under_way = Some(task);
                Err(NotReady::Silent)
            }
        }
    }
}

/// On a connection of its own: those of the pool answer from memory what they have read before, and
/// keep a file open that was replaced or removed.
async fn check_sqlite(
    options: &SqliteConnectOptions,
    write_failed: &AtomicBool,
) -> Result<(), sqlx::Error> {
    // Does not wait for another process that writes.
    let options = options.clone().create_if_missing(false).busy_timeout(Duration::ZERO);
    let mut connection = match options.connect().await {
        Err(error) if is_busy(&error) => return Ok(()),
        connected => connected?,
    };
    let checked = check_file(&mut connection, write_failed).await;
    connection.close().await?;
    match checked {
        Err(error) if is_busy(&error) => Ok(()),
        checked => checked,
    }
}

async fn check_file(
    file: &mut SqliteConnection,
    write_failed: &AtomicBool,
) -> Result<(), sqlx::Error> {
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table'";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut *file).await?;
    for table in tables {
        let first = format!("SELECT * FROM \"{}\" LIMIT 1", table.replace('"', "\"\""));
        sqlx::query(AssertSqlSafe(first)).fetch_optional(&mut *file).await?;
    }
    let mut tx = file.begin_with("BEGIN IMMEDIATE").await?;
    // There and back: `SQLite` writes no page whose content stays the same.
    for change in [1, -1] {
        let update = "UPDATE registry_changes SET revision = revision + $1";
        sqlx::query(update).bind(change).execute(&mut *tx).await?;
    }
    if !write_failed.load(Ordering::Relaxed) {
        return tx.rollback().await;
    }
    tx.commit().await?;
    write_failed.store(false, Ordering::Relaxed);
    Ok(())
}

/// A server that takes no writes refuses the statement, although it changes nothing.
async fn check_postgres(pool: &PgPool) -> Result<(), sqlx::Error> {
    let mut tx = pool.begin().await?;
    sqlx::query("SELECT 1 FROM agents LIMIT 1").fetch_optional(&mut *tx).await?;
    sqlx::query("DELETE FROM agents WHERE false").execute(&mut *tx).await?;
    tx.rollback().await
}

impl From<&StoreError> for NotReady {
    fn from(error: &StoreError) -> Self {
        match error {
            StoreError::Folder { source, .. } | StoreError::Runtime(source) => Self::from(source),
            StoreError::Open { source, .. } => match Self::from(source) {
                Self::Failed => Self::CannotOpen,
                reason => reason,
            },
            _ => Self::CannotOpen,
        }
    }
}

impl From<&std::io::Error> for NotReady {
    fn from(error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, StorageFull};
        match error.kind() {
            PermissionDenied | ReadOnlyFilesystem => Self::ReadOnly,
            StorageFull => Self::Full,
            _ => Self::CannotOpen,
        }
    }
}

impl From<&sqlx::Error> for NotReady {
    fn from(error: &sqlx::Error) -> Self {
        if let Some(code) = sqlite_code(error) {
            return match code {
                8 => Self::ReadOnly,
                11 | 26 => Self::Damaged,
                13 => Self::Full,
                14 => Self::CannotOpen,
                _ => Self::Failed,
            };
        }
        match error {
            sqlx::Error::Database(error) => match error.code().as_deref() {
                Some("25006") => Self::ReadOnly,
                Some("53100") => Self::Full,
                Some("XX001" | "XX002") => Self::Damaged,
                _ => Self::Failed,
            },
            sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut => Self::Silent,
            _ => Self::Failed,
        }
    }
}

fn is_busy(error: &sqlx::Error) -> bool {
    matches!(sqlite_code(error), Some(5 | 6))
}

/// The primary result code of `SQLite`, which is in the lowest byte; `None` if the error is not of
/// `SQLite`.
pub(crate) fn sqlite_code(error: &sqlx::Error) -> Option<u32> {
    let sqlx::Error::Database(error) = error else { return None };
    error.try_downcast_ref::<SqliteError>()?;
    Some(error.code()?.parse::<u32>().ok()? & 0xff)
}
