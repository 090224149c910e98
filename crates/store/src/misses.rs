//! Questions that found nothing.

use std::time::{SystemTime, UNIX_EPOCH};

use kenning_gaps::{OWN_PROJECT, Redactor};
use kenning_knowledge::discover::{Miss, MissLog};

use crate::engine::{Pool, on};
use crate::{Store, StoreError};

impl MissLog for Store {
    /// An answer is never held up or lost because a miss could not be noted.
    fn record(&self, miss: &Miss<'_>) {
        let (pool, tool, query) = (self.pool.clone(), miss.tool, miss.query.to_owned());
        self.runtime().spawn(async move {
            let _ = note(&pool, tool, &query).await;
        });
    }
}

impl Store {
    /// Notes a miss before it returns: for a process that is about to end.
    pub fn record_now(&self, miss: &Miss<'_>) -> Result<(), StoreError> {
        Ok(self.runtime().block_on(note(&self.pool, miss.tool, miss.query))?)
    }

    /// How many questions found nothing.
    pub fn miss_count(&self) -> Result<u64, StoreError> {
        let count: i64 = self.runtime().block_on(async {
            let count = "SELECT count(*) FROM misses";
            on!(&self.pool, |pool| sqlx::query_scalar(count).fetch_one(pool).await)
        })?;
        Ok(count.unsigned_abs())
    }
}

async fn note(pool: &Pool, tool: &str, query: &str) -> Result<(), sqlx::Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    // A server refuses what no text should have.
    let query = Redactor::default().capped_text(query).replace('\0', " ");
    let mut work = pool.write().await?;
    on!(&mut work, |work| {
        let insert = "INSERT INTO misses (tool, query, asked_at) VALUES ($1, $2, $3) RETURNING id";
        let insert = sqlx::query_scalar(insert).bind(tool).bind(query).bind(now.cast_signed());
        let id: i64 = insert.fetch_one(&mut **work).await?;
        // A gap is made of it later.
        let wait = "INSERT INTO waiting (project_id, miss_id, due_at) VALUES ($1, $2, 0)";
        sqlx::query(wait).bind(OWN_PROJECT).bind(id).execute(&mut **work).await?;
    });
    work.commit().await
}
