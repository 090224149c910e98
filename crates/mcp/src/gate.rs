//! How many requests are worked on at once, how many may wait, and for how long.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::ErrorData;
use tokio::sync::Semaphore;

use crate::limit::Limit;

const MAX_CONCURRENT: usize = 10;
/// Of these, at most so many wait for a store, which may be on another machine and away: the rest
/// is for those who need none.
const MAX_AT_STORE: usize = 7;
const MAX_WAITING: usize = 100;
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
pub(crate) struct Gate {
    /// Those inside and those waiting.
    admitted: Arc<Semaphore>,
    working: Arc<Semaphore>,
    at_store: Arc<Semaphore>,
    timeout: Duration,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error(
        "the server is busy: {MAX_CONCURRENT} requests are being worked on and {MAX_WAITING} wait; try again shortly"
    )]
    Busy,
    #[error("the request took longer than {0:?} and was given up; ask for less at once")]
    TimedOut(Duration),
}

pub(crate) fn limits() -> Vec<Limit> {
    vec![
        Limit::of_server("max_concurrent_requests", MAX_CONCURRENT),
        Limit::of_server("max_waiting_requests", MAX_WAITING),
        Limit { name: "request_timeout_ms", value: TIMEOUT.as_secs() * 1_000, toolset: None },
    ]
}

impl Gate {
    pub(crate) fn new() -> Self {
        Self::with_limits(MAX_CONCURRENT, MAX_WAITING, TIMEOUT)
    }

    fn with_limits(concurrent: usize, waiting: usize, timeout: Duration) -> Self {
        Self {
            admitted: Arc::new(Semaphore::new(concurrent + waiting)),
            working: Arc::new(Semaphore::new(concurrent)),
            at_store: Arc::new(Semaphore::new(concurrent.min(MAX_AT_STORE))),
            timeout,
        }
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Runs `work` when there is room. The time limit includes the wait.
    pub(crate) async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, Refused> {
        self.run_after(async { Ok(()) }, work).await
    }

    /// The same for work that needs the store.
    pub(crate) async fn run_at_store<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, Refused> {
        let turn = async { self.at_store.acquire().await.map_err(|_| Refused::Busy) };
        self.run_after(turn, work).await
    }

    /// What `turn` gives is held until the work is done.
    async fn run_after<Held, T>(
        &self,
        turn: impl Future<Output = Result<Held, Refused>>,
        work: impl Future<Output = T>,
    ) -> Result<T, Refused> {
        let _admitted = self.admitted.try_acquire().map_err(|_| Refused::Busy)?;
        let in_turn = async {
            let _held = turn.await?;
            let _working = self.working.acquire().await.map_err(|_| Refused::Busy)?;
            Ok(work.await)
        };
        let timed = tokio::time::timeout(self.timeout, in_turn).await;
        timed.unwrap_or(Err(Refused::TimedOut(self.timeout)))
    }
}

impl From<Refused> for ErrorData {
    fn from(refused: Refused) -> Self {
        Self::internal_error(refused.to_string(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    #[tokio::test]
    async fn beyond_the_limit_requests_wait_and_beyond_that_they_are_refused() {
        let gate = Gate::with_limits(1, 1, Duration::from_mins(1));
        let (release, held) = tokio::sync::oneshot::channel::<()>();
        let working = tokio::spawn({
            let gate = gate.clone();
            async move { gate.run(async { held.await.is_ok() }).await }
        });
        while gate.working.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let waiting = tokio::spawn({
            let gate = gate.clone();
            async move { gate.run(async { 2 }).await }
        });
        while gate.admitted.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(gate.run(async { 3 }).await, Err(Refused::Busy));
        release.send(()).unwrap();
        assert_eq!(working.await.unwrap(), Ok(true));
        assert_eq!(waiting.await.unwrap(), Ok(2));
        assert_eq!(gate.run(async { 4 }).await, Ok(4));
    }

    #[tokio::test]
    async fn those_who_wait_for_the_store_leave_room_for_others() {
        let gate = Gate::new();
        let waiting: Vec<_> = (0..MAX_CONCURRENT + 5)
            .map(|_| {
                let gate = gate.clone();
                tokio::spawn(async move { gate.run_at_store(pending::<()>()).await })
            })
            .collect();
        while gate.at_store.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(gate.run(async { 1 }).await, Ok(1));
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_never_ends_is_given_up() {
        let gate = Gate::new();
        assert_eq!(gate.run(pending::<()>()).await, Err(Refused::TimedOut(TIMEOUT)));
        assert_eq!(gate.run(async { 1 }).await, Ok(1));
    }
}
