//! Vectors by model and text.

use std::collections::HashMap;
use std::path::Path;

use kenning_knowledge::semantic::{CacheError, Embedded, TextKey, VectorCache};
use sqlx::{QueryBuilder, Row, Sqlite, SqliteConnection};

use crate::{Store, StoreError};

/// Rows asked for in one statement.
const BATCH: usize = 500;

/// How many entries an export or import moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transferred {
    pub entries: u64,
}

impl VectorCache for Store {
    fn load(
        &self,
        model: &str,
        keys: &[TextKey],
    ) -> Result<HashMap<TextKey, Embedded>, CacheError> {
        self.runtime.block_on(self.load_rows(model, keys)).map_err(CacheError::new)
    }

    fn save(&self, model: &str, entries: &[(TextKey, &Embedded)]) -> Result<(), CacheError> {
        self.runtime.block_on(self.save_rows(model, entries)).map_err(CacheError::new)
    }
}

impl Store {
    async fn load_rows(
        &self,
        model: &str,
        keys: &[TextKey],
    ) -> Result<HashMap<TextKey, Embedded>, StoreError> {
        let mut found = HashMap::with_capacity(keys.len());
        for batch in keys.chunks(BATCH) {
            let mut query: QueryBuilder<Sqlite> = QueryBuilder::new(
                "SELECT text_key, windows, vectors FROM embeddings WHERE model = ",
            );
            query.push_bind(model).push(" AND text_key IN (");
            let mut list = query.separated(", ");
            for key in batch {
                list.push_bind(key.as_bytes().to_vec());
            }
            query.push(")");
            for row in query.build().fetch_all(&self.pool).await? {
                let key: Vec<u8> = row.try_get(0)?;
                let (windows, vectors): (Vec<u8>, Vec<u8>) = (row.try_get(1)?, row.try_get(2)?);
                // A row that was damaged is computed anew.
                let embedded = Embedded::from_bytes(&windows, &vectors);
                if let (Some(key), Some(embedded)) = (TextKey::from_bytes(&key), embedded) {
                    found.insert(key, embedded);
                }
            }
        }
        Ok(found)
    }

    async fn save_rows(
        &self,
        model: &str,
        entries: &[(TextKey, &Embedded)],
    ) -> Result<(), StoreError> {
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        for (key, embedded) in entries {
            let (windows, vectors) = embedded.to_bytes();
            sqlx::query("INSERT OR REPLACE INTO embeddings (model, text_key, windows, vectors) VALUES (?, ?, ?, ?)")
                .bind(model)
                .bind(key.as_bytes().to_vec())
                .bind(windows)
                .bind(vectors)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(())
    }

    /// How many texts have vectors of this model.
    pub fn embedding_count(&self, model: &str) -> Result<u64, StoreError> {
        let count = sqlx::query("SELECT count(*) FROM embeddings WHERE model = ?").bind(model);
        let row = self.runtime.block_on(count.fetch_one(&self.pool))?;
        Ok(row.try_get::<i64, _>(0)?.unsigned_abs())
    }

    /// Writes all embeddings to a new file that another machine can import.
    pub fn export_embeddings(&self, to: &Path) -> Result<Transferred, StoreError> {
        self.runtime.block_on(async {
            let mut connection = self.pool.acquire().await?;
            attach(&mut connection, to).await?;
            let copied = copy_out(&mut connection).await;
            detach(&mut connection).await?;
            Ok(Transferred { entries: copied? })
        })
    }

    /// Takes in the embeddings of a file that `export_embeddings` wrote. What is here already
    /// stays.
    pub fn import_embeddings(&self, from: &Path) -> Result<Transferred, StoreError> {
        let refused = |source: sqlx::Error| StoreError::NotAnExport {
            path: from.to_path_buf(),
            reason: source.to_string(),
        };
        self.runtime.block_on(async {
            let mut connection = self.pool.acquire().await?;
            attach(&mut connection, from).await.map_err(refused)?;
            let copied = copy_in(&mut connection).await;
            detach(&mut connection).await?;
            Ok(Transferred { entries: copied.map_err(refused)? })
        })
    }
}

async fn attach(connection: &mut SqliteConnection, path: &Path) -> Result<(), sqlx::Error> {
    let path = path.to_string_lossy().into_owned();
    sqlx::query("ATTACH ? AS other").bind(path).execute(connection).await?;
    Ok(())
}

async fn detach(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::query("DETACH other").execute(connection).await?;
    Ok(())
}

async fn copy_out(connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    sqlx::query(
        "CREATE TABLE other.embeddings (model TEXT NOT NULL, text_key BLOB NOT NULL, \
         windows BLOB NOT NULL, vectors BLOB NOT NULL, PRIMARY KEY (model, text_key)) STRICT",
    )
    .execute(&mut *connection)
    .await?;
    let copied = sqlx::query(
        "INSERT INTO other.embeddings SELECT model, text_key, windows, vectors FROM main.embeddings",
    );
    Ok(copied.execute(connection).await?.rows_affected())
}

/// Only rows whose lengths agree with each other are taken.
async fn copy_in(connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    let copied = sqlx::query(
        "INSERT OR IGNORE INTO main.embeddings (model, text_key, windows, vectors) \
         SELECT model, text_key, windows, vectors FROM other.embeddings \
         WHERE length(text_key) = 16 AND length(windows) > 0 AND length(windows) % 8 = 0 \
         AND length(vectors) = length(windows) / 8 * 384 * 4",
    );
    Ok(copied.execute(connection).await?.rows_affected())
}
