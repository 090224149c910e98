//! Vectors by model and text.

use std::collections::HashMap;
use std::path::Path;

use kenning_knowledge::semantic::{CacheError, Embedded, TextKey, VectorCache};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, QueryBuilder, SqliteConnection};

use crate::engine::{Engine, Tx, from_row, on};
use crate::{Store, StoreError, private};

/// Texts per statement.
const BATCH: usize = 500;
/// Rows per step of an export or import.
const PAGE: i64 = 500;

/// How many entries an export or import moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transferred {
    pub entries: u64,
}

#[derive(Debug)]
struct Entry {
    model: String,
    text_key: Vec<u8>,
    windows: Vec<u8>,
    vectors: Vec<u8>,
}

from_row!(Entry { model, text_key, windows, vectors });

impl VectorCache for Store {
    fn load(
        &self,
        model: &str,
        keys: &[TextKey],
    ) -> Result<HashMap<TextKey, Embedded>, CacheError> {
        self.runtime().block_on(self.load_rows(model, keys)).map_err(CacheError::new)
    }

    fn save(&self, model: &str, entries: &[(TextKey, &Embedded)]) -> Result<(), CacheError> {
        self.runtime().block_on(self.save_rows(model, entries)).map_err(CacheError::new)
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
            let rows: Vec<Entry> = on!(&self.pool, |pool| {
                let mut query = QueryBuilder::new(
                    "SELECT model, text_key, windows, vectors FROM embeddings WHERE model = ",
                );
                query.push_bind(model).push(" AND text_key IN (");
                let mut list = query.separated(", ");
                for key in batch {
                    list.push_bind(key.as_bytes().to_vec());
                }
                query.push(")");
                query.build_query_as().fetch_all(pool).await?
            });
            // A damaged row is skipped, so that its vectors are computed again.
            found.extend(rows.iter().filter_map(|row| {
                let embedded = Embedded::from_bytes(&row.windows, &row.vectors)?;
                Some((TextKey::from_bytes(&row.text_key)?, embedded))
            }));
        }
        Ok(found)
    }

    async fn save_rows(
        &self,
        model: &str,
        entries: &[(TextKey, &Embedded)],
    ) -> Result<(), StoreError> {
        // All writers insert in the same order, so that they cannot deadlock.
        let mut entries = entries.to_vec();
        entries.sort_unstable_by_key(|(key, _)| *key.as_bytes());
        let mut tx = self.pool.write().await?;
        for (key, embedded) in entries {
            let (windows, vectors) = embedded.to_bytes();
            on!(&mut tx, |tx| {
                sqlx::query(
                    "INSERT INTO embeddings (model, text_key, windows, vectors) \
                     VALUES ($1, $2, $3, $4) ON CONFLICT (model, text_key) \
                     DO UPDATE SET windows = excluded.windows, vectors = excluded.vectors",
                )
                .bind(model)
                .bind(key.as_bytes().to_vec())
                .bind(windows)
                .bind(vectors)
                .execute(&mut **tx)
                .await?;
            });
        }
        Ok(tx.commit().await?)
    }

    /// The number of texts with vectors of this model.
    pub fn embedding_count(&self, model: &str) -> Result<u64, StoreError> {
        let count: i64 = self.runtime().block_on(async {
            let count = "SELECT count(*) FROM embeddings WHERE model = $1";
            on!(&self.pool, |pool| sqlx::query_scalar(count).bind(model).fetch_one(pool).await)
        })?;
        Ok(count.unsigned_abs())
    }

    /// Writes all embeddings to a new file that another machine can import. It is an `SQLite`
    /// file for either kind of store.
    pub fn export_embeddings(&self, to: &Path) -> Result<Transferred, StoreError> {
        // Vectors tell of the texts that they were computed from.
        private::open_private(to)
            .map_err(|source| StoreError::Folder { path: to.to_path_buf(), source })?;
        self.runtime().block_on(async {
            let mut file = open_file(to, FileUse::Write).await?;
            sqlx::query(FILE_TABLE).execute(&mut file).await?;
            let mut from = self.pool.read().await?;
            let mut entries = 0;
            let mut last = (String::new(), Vec::new());
            loop {
                let batch = next_of_store(&mut from, &last).await?;
                let Some(end) = batch.last() else { break };
                last = (end.model.clone(), end.text_key.clone());
                entries += batch.len() as u64;
                let mut to = Engine::Sqlite(file.begin().await?);
                insert_missing(&mut to, batch).await?;
                to.commit().await?;
            }
            file.close().await?;
            Ok(Transferred { entries })
        })
    }

    /// Imports a file of [`Self::export_embeddings`]. Existing entries are not changed.
    pub fn import_embeddings(&self, from: &Path) -> Result<Transferred, StoreError> {
        let refused = |source: sqlx::Error| StoreError::NotAnExport {
            path: from.to_path_buf(),
            reason: source.to_string(),
        };
        self.runtime().block_on(async {
            let mut file = open_file(from, FileUse::Read).await.map_err(refused)?;
            let mut to = self.pool.write().await?;
            let mut entries = 0;
            let mut last = (String::new(), Vec::new());
            loop {
                let batch = next_of_file(&mut file, &last).await.map_err(refused)?;
                let Some(end) = batch.last() else { break };
                last = (end.model.clone(), end.text_key.clone());
                entries += insert_missing(&mut to, batch).await?;
            }
            to.commit().await?;
            Ok(Transferred { entries })
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileUse {
    Write,
    Read,
}

const FILE_TABLE: &str = "CREATE TABLE embeddings (model TEXT NOT NULL, text_key BLOB NOT NULL, \
                          windows BLOB NOT NULL, vectors BLOB NOT NULL, \
                          PRIMARY KEY (model, text_key)) STRICT";

async fn open_file(path: &Path, for_use: FileUse) -> Result<SqliteConnection, sqlx::Error> {
    let options = SqliteConnectOptions::new().filename(path);
    let options = options.read_only(for_use == FileUse::Read);
    SqliteConnection::connect_with(&options).await
}

async fn next_of_store(
    from: &mut Tx<'_>,
    after: &(String, Vec<u8>),
) -> Result<Vec<Entry>, sqlx::Error> {
    on!(from, |from| {
        let next = sqlx::query_as(
            "SELECT model, text_key, windows, vectors FROM embeddings \
             WHERE (model, text_key) > ($1, $2) ORDER BY model, text_key LIMIT $3",
        );
        let next = next.bind(after.0.as_str()).bind(after.1.as_slice()).bind(PAGE);
        next.fetch_all(&mut **from).await
    })
}

/// Skips rows whose lengths contradict each other.
async fn next_of_file(
    file: &mut SqliteConnection,
    after: &(String, Vec<u8>),
) -> Result<Vec<Entry>, sqlx::Error> {
    let next = sqlx::query_as(
        "SELECT model, text_key, windows, vectors FROM embeddings \
         WHERE (model, text_key) > ($1, $2) \
         AND length(text_key) = 16 AND length(windows) > 0 AND length(windows) % 8 = 0 \
         AND length(vectors) = length(windows) / 8 * 384 * 4 \
         ORDER BY model, text_key LIMIT $3",
    );
    let next = next.bind(after.0.as_str()).bind(after.1.as_slice()).bind(PAGE);
    next.fetch_all(file).await
}

async fn insert_missing(to: &mut Tx<'_>, batch: Vec<Entry>) -> Result<u64, sqlx::Error> {
    let mut inserted = 0;
    for Entry { model, text_key, windows, vectors } in batch {
        inserted += on!(to, |to| {
            sqlx::query(
                "INSERT INTO embeddings (model, text_key, windows, vectors) \
                 VALUES ($1, $2, $3, $4) ON CONFLICT (model, text_key) DO NOTHING",
            )
            .bind(model)
            .bind(text_key)
            .bind(windows)
            .bind(vectors)
            .execute(&mut **to)
            .await?
            .rows_affected()
        });
    }
    Ok(inserted)
}
