//! Threads to run the network on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rten::ThreadPool;

/// More do not make one text faster.
const MAX_CORES: usize = 4;
/// A text of so many tokens is computed sooner by one thread than by several, which wait for each other
/// after each of a hundred small steps.
const SHORT: usize = 32;

/// Queries are latency-sensitive: they do not queue behind passages, nor short ones behind each other
/// while a core is free.
pub(crate) struct QueryPools {
    /// One thread each.
    short: Vec<Lane>,
    /// Several threads for one text.
    long: Arc<ThreadPool>,
}

struct Lane {
    pool: Arc<ThreadPool>,
    /// The queries that run or wait here.
    queries: AtomicUsize,
}

impl QueryPools {
    pub(crate) fn new() -> Self {
        let count = cores().min(MAX_CORES);
        let lane = |pool| Lane { pool, queries: AtomicUsize::new(0) };
        Self {
            short: single(count).into_iter().map(lane).collect(),
            long: Arc::new(ThreadPool::with_num_threads(count)),
        }
    }

    /// Runs a query of so many tokens on the pool for it.
    pub(crate) fn run<T>(&self, tokens: usize, run: impl FnOnce(&Arc<ThreadPool>) -> T) -> T {
        let lane = self.short.iter().min_by_key(|lane| lane.queries.load(Ordering::Relaxed));
        let Some(lane) = lane.filter(|_| tokens <= SHORT) else { return run(&self.long) };
        lane.queries.fetch_add(1, Ordering::Relaxed);
        let _leaving = Leaving(lane);
        run(&lane.pool)
    }
}

/// Leaves the lane, also if the query panics.
struct Leaving<'a>(&'a Lane);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.queries.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One single-threaded pool per core, for passages: each runs on one core, and passages run in parallel.
/// Not rayon, whose threads take up more work on the same stack while they wait for another pool.
pub(crate) fn per_core() -> Vec<Arc<ThreadPool>> {
    single(cores())
}

fn single(count: usize) -> Vec<Arc<ThreadPool>> {
    (0..count).map(|_| Arc::new(ThreadPool::with_num_threads(1))).collect()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_query_does_not_wait_for_another_while_a_core_is_free() {
        let pools = QueryPools { short: (0..2).map(|_| lane()).collect(), long: pool() };
        pools.run(SHORT, |first| {
            pools.run(SHORT, |second| assert!(!Arc::ptr_eq(first, second)));
            pools.run(SHORT + 1, |long| assert!(Arc::ptr_eq(long, &pools.long)));
        });
        assert!(pools.short.iter().all(|lane| lane.queries.load(Ordering::Relaxed) == 0));
    }

    fn lane() -> Lane {
        Lane { pool: pool(), queries: AtomicUsize::new(0) }
    }

    fn pool() -> Arc<ThreadPool> {
        Arc::new(ThreadPool::with_num_threads(1))
    }
}
