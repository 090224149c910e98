//! Usage counts of nodes, by day.
//!
//! Counts are collected in memory for a moment and written together: many requests cost one write,
//! and none of them waits for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kenning_knowledge::usage::{DAY, Period, Usage, UsageError, UsageKind, UsageLog, Used};
use sqlx::QueryBuilder;

use crate::engine::{Pool, from_row, on};
use crate::{Store, StoreError};

/// How long counts are collected before they are written.
const DELAY: Duration = Duration::from_millis(500);
/// The most different counts in memory while the database fails; further ones are dropped.
const MAX_COUNTS: usize = 20_000;
/// Rows per statement.
const ROWS: usize = 1_000;

/// Counts that are not written yet.
#[derive(Default)]
pub(crate) struct UnwrittenUsage {
    state: Mutex<State>,
    /// Held during a write, so that a reader sees counts that another task is writing.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    counts: Counts,
    write_scheduled: bool,
}

/// By node, kind and day; ordered, so that concurrent writers cannot deadlock.
type Counts = BTreeMap<(String, &'static str, i64), Count>;

#[derive(Clone, Copy, Default)]
struct Count {
    times: i64,
    last_at: i64,
}

impl UnwrittenUsage {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds counts; returns whether the caller has to schedule a write.
    fn add(&self, counts: impl Iterator<Item = ((String, &'static str, i64), Count)>) -> bool {
        let mut state = self.state();
        for (key, count) in counts {
            if state.counts.len() >= MAX_COUNTS && !state.counts.contains_key(&key) {
                continue;
            }
            let sum = state.counts.entry(key).or_default();
            sum.times += count.times;
            sum.last_at = sum.last_at.max(count.last_at);
        }
        !std::mem::replace(&mut state.write_scheduled, true)
    }

    fn take(&self) -> Counts {
        let mut state = self.state();
        state.write_scheduled = false;
        std::mem::take(&mut state.counts)
    }
}

impl UsageLog for Store {
    /// Never delays or fails a request.
    fn note(&self, usage: &Usage<'_>) {
        let (kind, day) = (usage.kind.name(), days(usage.at));
        let count = Count { times: 1, last_at: usage.at.cast_signed() };
        let counts = usage.nodes.iter().map(|node| ((node.replace('\0', " "), kind, day), count));
        if self.usage.add(counts) {
            self.runtime().spawn(write_soon(self.pool.clone(), self.usage.clone()));
        }
    }

    fn used(&self, period: &Period) -> Result<Vec<Used>, UsageError> {
        let rows = self.runtime().block_on(async {
            write(&self.pool, &self.usage).await?;
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
    /// Writes all counts before it returns, for a process that is about to end.
    pub fn flush_usage(&self) -> Result<(), StoreError> {
        Ok(self.runtime().block_on(write(&self.pool, &self.usage))?)
    }
}

async fn write_soon(pool: Pool, usage: Arc<UnwrittenUsage>) {
    tokio::time::sleep(DELAY).await;
    if let Err(error) = write(&pool, &usage).await {
        tracing::warn!(%error, "cannot write usage counts; keeping them in memory");
    }
}

/// Writes the counts. After a failure they go back to memory, to be written with the next ones.
async fn write(pool: &Pool, usage: &UnwrittenUsage) -> Result<(), sqlx::Error> {
    let _writing = usage.writing.lock().await;
    let counts = usage.take();
    let written = insert(pool, &counts).await;
    if written.is_err() && usage.add(counts.into_iter()) {
        // The next count schedules the write.
        usage.state().write_scheduled = false;
    }
    written
}

async fn insert(pool: &Pool, counts: &Counts) -> Result<(), sqlx::Error> {
    if counts.is_empty() {
        return Ok(());
    }
    let counts: Vec<_> = counts.iter().collect();
    let mut tx = pool.write().await?;
    for counts in counts.chunks(ROWS) {
        on!(&mut tx, |tx| {
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
            query.build().persistent(false).execute(&mut **tx).await?;
        });
    }
    tx.commit().await
}

struct UsedRow {
    node: String,
    kind: String,
    times: i64,
    last_at: i64,
}

from_row!(UsedRow { node, kind, times, last_at });

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
