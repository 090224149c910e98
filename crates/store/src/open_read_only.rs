//! Opens a store without changing it: creates no file and migrates no table.

use sqlx::Connection;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

use crate::engine::{CONNECT_TIMEOUT, Engine, Pool, connect_once, on};
use crate::location::Location;
use crate::{FILE, Store, StoreError, migrations};

/// The result of [`Store::open_read_only`].
#[derive(Debug)]
pub enum ReadOnly {
    /// There is no store yet; the first use creates it.
    Absent { place: String },
    /// Reads work as far as the schema allows.
    Present { store: Store, schema: Schema },
}

/// The versions of a store's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// The last migration that was applied; 0 before the first.
    pub found: i64,
    /// The last migration of this program.
    pub known: i64,
}

impl Store {
    /// Opens an existing store to read. Writing through it fails.
    pub fn open_read_only(location: &Location) -> Result<ReadOnly, StoreError> {
        let place = Self::place_of(location);
        if let Location::Folder(folder) = location
            && !folder.join(FILE).exists()
        {
            return Ok(ReadOnly::Absent { place });
        }
        let runtime = Self::start_runtime()?;
        let (pool, schema) = runtime.block_on(async {
            let refused = |source| StoreError::Open { place: place.clone(), source };
            let pool = Pool::open_read_only(location).await.map_err(refused)?;
            let found = pool.schema().await.map_err(refused)?;
            Ok::<_, StoreError>((pool, Schema { found, known: migrations::latest() }))
        })?;
        Ok(ReadOnly::Present { store: Self::new(pool, runtime, place), schema })
    }
}

impl Pool {
    async fn open_read_only(location: &Location) -> Result<Self, sqlx::Error> {
        match location {
            Location::Folder(folder) => {
                let file = folder.join(FILE);
                // A reader creates a log beside the file, unless the file is opened as
                // immutable. That is safe without a log, because then no process writes.
                let log = folder.join(format!("{FILE}-wal"));
                let options = SqliteConnectOptions::new().filename(file).read_only(true);
                let options = options.immutable(!log.exists());
                let pool = SqlitePoolOptions::new().max_connections(1);
                Ok(Self::Sqlite(pool.connect_with(options).await?))
            }
            Location::Postgres(options) => {
                let options =
                    (**options).clone().options([("default_transaction_read_only", "on")]);
                connect_once(&options).await?.close().await?;
                let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(CONNECT_TIMEOUT);
                Ok(Self::Postgres(pool.connect_lazy_with(options)))
            }
        }
    }

    async fn schema(&self) -> Result<i64, sqlx::Error> {
        let table = match self {
            Engine::Sqlite(_) => "SELECT 1 FROM sqlite_master WHERE name = '_sqlx_migrations'",
            Engine::Postgres(_) => "SELECT 1 WHERE to_regclass('_sqlx_migrations') IS NOT NULL",
        };
        let last = "SELECT max(version) FROM _sqlx_migrations WHERE success";
        on!(self, |pool| {
            if sqlx::query(table).fetch_optional(pool).await?.is_none() {
                return Ok(0);
            }
            let found: Option<i64> = sqlx::query_scalar(last).fetch_one(pool).await?;
            Ok(found.unwrap_or(0))
        })
    }
}
