//! Questions that found nothing.

use std::time::{SystemTime, UNIX_EPOCH};

use kenning_knowledge::discover::{Miss, MissLog};
use sqlx::{Row, SqlitePool};

use crate::{Store, StoreError};

impl MissLog for Store {
    /// An answer is never held up or lost because a miss could not be noted.
    fn record(&self, miss: &Miss<'_>) {
        let (pool, tool, query) = (self.pool.clone(), miss.tool, miss.query.to_owned());
        self.runtime.spawn(async move {
            let _ = note(&pool, tool, &query).await;
        });
    }
}

impl Store {
    /// Notes a miss before it returns: for a process that is about to end.
    pub fn record_now(&self, miss: &Miss<'_>) -> Result<(), StoreError> {
        Ok(self.runtime.block_on(note(&self.pool, miss.tool, miss.query))?)
    }

    /// How many questions found nothing.
    pub fn miss_count(&self) -> Result<u64, StoreError> {
        let count = sqlx::query("SELECT count(*) FROM misses");
        let row = self.runtime.block_on(count.fetch_one(&self.pool))?;
        Ok(row.try_get::<i64, _>(0)?.unsigned_abs())
    }
}

async fn note(pool: &SqlitePool, tool: &str, query: &str) -> Result<(), sqlx::Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    sqlx::query("INSERT INTO misses (tool, query, asked_at) VALUES (?, ?, ?)")
        .bind(tool)
        .bind(query)
        .bind(now.cast_signed())
        .execute(pool)
        .await?;
    Ok(())
}
