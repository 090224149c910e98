//! Looking at a store without leaving a trace: nothing is created, no table is made or changed.

use std::io::ErrorKind;

use sqlx::migrate::Migrator;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{Connection, PgConnection};

use crate::engine::{Engine, PATIENCE, Pool, on};
use crate::location::Location;
use crate::{FILE, Store, StoreError};

/// What there is at a location.
#[derive(Debug)]
pub enum Look {
    /// Nothing yet; the first use makes it.
    Absent { place: String },
    /// It can be read, as far as the tables allow.
    Present { store: Store, schema: Schema },
}

/// How far a store's tables are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// The last migration that was made; 0 before the first.
    pub found: i64,
    /// The last one that this program knows.
    pub known: i64,
}

impl Store {
    /// Opens what is there, to read. Writing through it fails.
    pub fn look(location: &Location) -> Result<Look, StoreError> {
        let place = Self::place_of(location);
        if let Location::Folder(folder) = location
            && !folder.join(FILE).exists()
        {
            return Ok(Look::Absent { place });
        }
        let runtime = Self::start_runtime()?;
        let (pool, schema) = runtime.block_on(async {
            let refused = |source| StoreError::Open { place: place.clone(), source };
            let pool = Pool::look(location).await.map_err(refused)?;
            let found = pool.schema().await.map_err(refused)?;
            Ok::<_, StoreError>((pool, Schema { found, known: known(location) }))
        })?;
        let store = Self { pool, runtime: Some(runtime), place, used: std::sync::Arc::default() };
        Ok(Look::Present { store, schema })
    }
}

impl Pool {
    async fn look(location: &Location) -> Result<Self, sqlx::Error> {
        match location {
            Location::Folder(folder) => {
                let file = folder.join(FILE);
                // Even a reader makes files besides, unless it is told that nobody writes. As
                // long as there is no log, nobody does.
                let log = folder.join(format!("{FILE}-wal"));
                let options = SqliteConnectOptions::new().filename(file).read_only(true);
                let options = options.immutable(!log.exists());
                let pool = SqlitePoolOptions::new().max_connections(1);
                Ok(Self::Sqlite(pool.connect_with(options).await?))
            }
            Location::Postgres(options) => {
                let options =
                    (**options).clone().options([("default_transaction_read_only", "on")]);
                // The pool would go on trying for long, and then say only that it was too long.
                let first = tokio::time::timeout(PATIENCE, PgConnection::connect_with(&options));
                let late = |_| sqlx::Error::from(std::io::Error::from(ErrorKind::TimedOut));
                first.await.map_err(late)??.close().await?;
                let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(PATIENCE);
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

fn known(location: &Location) -> i64 {
    let migrator: Migrator = match location {
        Location::Folder(_) => sqlx::migrate!("migrations/sqlite"),
        Location::Postgres(_) => sqlx::migrate!("migrations/postgres"),
    };
    migrator.iter().map(|migration| migration.version).max().unwrap_or(0)
}
