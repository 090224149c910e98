//! Which nodes were found, counted by day.
//!
//! Counts are gathered in memory for a moment and written together: many questions cost one
//! write, and none of them waits for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kenning_knowledge::usage::{DAY, Period, Usage, UsageError, UsageKind, UsageLog, Used};
use sqlx::QueryBuilder;

use crate::engine::{Pool, on};
use crate::{Store, StoreError};

/// How long counts are gathered.
const GATHER: Duration = Duration::from_millis(500);
/// Different counts that are gathered at most, should the database not take them.
const MAX_GATHERED: usize = 20_000;
/// Rows in one statement.
const ROWS: usize = 1_000;

/// What was counted and is not written yet.
#[derive(Default)]
pub(crate) struct Tally {
    gathered: Mutex<Gathered>,
    /// Held by whoever writes: who comes next finds what was written, and not the time in between.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Gathered {
    counts: Counts,
    /// Somebody is going to write them.
    promised: bool,
}

/// By node, kind and day, in one order for all writers.
type Counts = BTreeMap<(String, &'static str, i64), Count>;

#[derive(Clone, Copy, Default)]
struct Count {
    times: i64,
    last_at: i64,
}

impl Tally {
    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds counts; says whether somebody has to promise to write them.
    fn add(&self, counts: impl Iterator<Item = ((String, &'static str, i64), Count)>) -> Promise {
        let mut gathered = self.gathered();
        for (key, count) in counts {
            if gathered.counts.len() >= MAX_GATHERED && !gathered.counts.contains_key(&key) {
                continue;
            }
            let sum = gathered.counts.entry(key).or_default();
            sum.times += count.times;
            sum.last_at = sum.last_at.max(count.last_at);
        }
        if std::mem::replace(&mut gathered.promised, true) { Promise::Given } else { Promise::Due }
    }

    fn take(&self) -> Counts {
        let mut gathered = self.gathered();
        gathered.promised = false;
        std::mem::take(&mut gathered.counts)
    }
}

#[derive(PartialEq, Eq)]
enum Promise {
    Due,
    Given,
}

impl UsageLog for Store {
    /// An answer is never held up or lost because it could not be counted.
    fn note(&self, usage: &Usage<'_>) {
        let (kind, day) = (usage.kind.name(), days(usage.at));
        let count = Count { times: 1, last_at: usage.at.cast_signed() };
        let counts = usage.nodes.iter().map(|node| ((node.replace('\0', " "), kind, day), count));
        if self.used.add(counts) == Promise::Due {
            self.runtime().spawn(write_soon(self.pool.clone(), self.used.clone()));
        }
    }

    fn used(&self, period: &Period) -> Result<Vec<Used>, UsageError> {
        let rows = self.runtime().block_on(async {
            write(&self.pool, &self.used).await?;
            read(&self.pool, period).await
        });
        let rows = rows.map_err(UsageError::new)?;
        Ok(rows.into_iter().filter_map(UsedRow::read).collect())
    }

    fn forget_usage_before(&self, at: u64) -> Result<u64, UsageError> {
        let removed = self.runtime().block_on(async {
            on!(&self.pool, |pool| {
                let query = sqlx::query("DELETE FROM usage WHERE day < $1").bind(days(at));
                Ok::<_, sqlx::Error>(query.execute(pool).await?.rows_affected())
            })
        });
        removed.map_err(UsageError::new)
    }
}

impl Store {
    /// Writes what was counted before it returns: for a process that is about to end.
    pub fn flush_usage(&self) -> Result<(), StoreError> {
        Ok(self.runtime().block_on(write(&self.pool, &self.used))?)
    }
}

async fn write_soon(pool: Pool, used: Arc<Tally>) {
    tokio::time::sleep(GATHER).await;
    if let Err(error) = write(&pool, &used).await {
        tracing::warn!(%error, "which nodes were found is not counted for now");
    }
}

/// Writes what was gathered. What cannot be written is gathered again, and written with what is
/// counted next.
async fn write(pool: &Pool, used: &Tally) -> Result<(), sqlx::Error> {
    let _writing = used.writing.lock().await;
    let counts = used.take();
    let written = insert(pool, &counts).await;
    if written.is_err() && used.add(counts.into_iter()) == Promise::Due {
        used.gathered().promised = false;
    }
    written
}

async fn insert(pool: &Pool, counts: &Counts) -> Result<(), sqlx::Error> {
    if counts.is_empty() {
        return Ok(());
    }
    let counts: Vec<_> = counts.iter().collect();
    let mut work = pool.write().await?;
    for counts in counts.chunks(ROWS) {
        on!(&mut work, |work| {
            let mut query =
                QueryBuilder::new("INSERT INTO usage (node, kind, day, times, last_at) ");
            query.push_values(counts, |mut row, ((node, kind, day), count)| {
                row.push_bind(node.as_str())
                    .push_bind(*kind)
                    .push_bind(*day)
                    .push_bind(count.times)
                    .push_bind(count.last_at);
            });
            query.push(
                " ON CONFLICT (node, kind, day) DO UPDATE SET \
                 times = usage.times + excluded.times, last_at = CASE \
                 WHEN excluded.last_at > usage.last_at THEN excluded.last_at \
                 ELSE usage.last_at END",
            );
            query.build().persistent(false).execute(&mut **work).await?;
        });
    }
    work.commit().await
}

#[derive(sqlx::FromRow)]
struct UsedRow {
    node: String,
    kind: String,
    times: i64,
    last_at: i64,
}

impl UsedRow {
    fn read(self) -> Option<Used> {
        Some(Used {
            kind: UsageKind::named(&self.kind)?,
            node: self.node,
            times: self.times.unsigned_abs(),
            last_at: self.last_at.unsigned_abs(),
        })
    }
}

async fn read(pool: &Pool, period: &Period) -> Result<Vec<UsedRow>, sqlx::Error> {
    on!(pool, |pool| {
        let mut query = QueryBuilder::new(
            "SELECT node, kind, CAST(sum(times) AS BIGINT) AS times, max(last_at) AS last_at \
             FROM usage WHERE 1 = 1",
        );
        if let Some(from) = period.from {
            query.push(" AND day >= ").push_bind(days(from));
        }
        if let Some(until) = period.until {
            query.push(" AND day < ").push_bind(days(until.saturating_add(DAY - 1)));
        }
        query.push(" GROUP BY node, kind ORDER BY node, kind");
        query.build_query_as().fetch_all(pool).await
    })
}

fn days(at: u64) -> i64 {
    (at / DAY).cast_signed()
}
