//! How many requests are worked on at once, how many may wait, and for how long.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::limit::Limit;
use crate::operation::Effect;

/// Requests run on blocking threads, of which the runtime has 512 by default; token lookups and
/// monitoring need some of them.
const MAX_CONCURRENT: usize = 256;

/// The capacity of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Requests that are worked on at once.
    pub concurrent: usize,
    /// Requests that wait beyond that. More are refused.
    pub waiting: usize,
    /// How long a request may take, its wait included.
    pub timeout: Duration,
}

impl Capacity {
    /// One client on standard streams: the limits of the specification.
    pub const STDIO: Self = Self { concurrent: 10, waiting: 100, timeout: Duration::from_secs(30) };

    /// Many clients over HTTP. Most work is computing, so by default the number of requests at once
    /// follows the cores; what waits costs a connection and a few kilobytes.
    pub fn http(concurrent: Option<NonZeroUsize>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let default = (8 * cores).clamp(16, MAX_CONCURRENT);
        let concurrent = concurrent.map_or(default, NonZeroUsize::get);
        Self { concurrent, waiting: 1_000, ..Self::STDIO }
    }

    /// The capacity, as clients are told.
    pub fn limits(self) -> [Limit; 3] {
        let timeout_ms = usize::try_from(self.timeout.as_millis()).unwrap_or(usize::MAX);
        [
            Limit::of_server("max_concurrent_requests", self.concurrent),
            Limit::of_server("max_waiting_requests", self.waiting),
            Limit::of_server("request_timeout_ms", timeout_ms),
        ]
    }
}

/// What a piece of work waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Memory and local files.
    Local,
    /// The store or a language model, which may be on another machine and not answer.
    External,
}

/// Bounds the requests of all surfaces together. Waiting requests get their turn in order, and each
/// surface has a queue of its own ([`Limiter::with_own_queue`]), so that none starves another. Work
/// that waits for something external gets only a share of permits and queue.
///
/// A permit belongs to the work, not to the caller: it is released when the work ends, even if the
/// caller gave up long before. Otherwise work that hangs would be started again and again.
#[derive(Debug, Clone)]
pub struct Limiter {
    capacity: Capacity,
    queue: Queue,
    running: Arc<Semaphore>,
    /// A share of `running`.
    external: Arc<Semaphore>,
}

/// Requests that run or wait.
#[derive(Debug, Clone)]
struct Queue {
    admitted: Arc<Semaphore>,
    /// A share of `admitted`.
    external: Arc<Semaphore>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error(
        "the server is busy: {} requests are being worked on and {} wait; try again shortly",
        .0.concurrent, .0.waiting
    )]
    Busy(Capacity),
    #[error("the request took longer than {0:?} and was given up; ask for less at once")]
    TimedOut(Duration),
    /// Work cannot be interrupted: what was asked for may still be done.
    #[error(
        "the request took longer than {0:?}; its outcome is not known: check before you try again"
    )]
    OutcomeUnknown(Duration),
    #[error("the request failed unexpectedly; the server's log says why")]
    Panicked,
}

impl Refused {
    /// What the caller of an operation with this effect should know.
    pub(crate) fn about(self, effect: Effect) -> Self {
        match self {
            Self::TimedOut(after) if effect != Effect::Reads => Self::OutcomeUnknown(after),
            other => other,
        }
    }
}

/// Held by work while it runs.
type Permits = Vec<OwnedSemaphorePermit>;

/// The share of permits and queue for work that waits for something external.
fn external_share(permits: usize) -> usize {
    (permits * 7 / 10).max(1)
}

impl Limiter {
    pub fn new(capacity: Capacity) -> Self {
        let concurrent = capacity.concurrent;
        Self {
            capacity,
            queue: Queue::new(capacity),
            running: Arc::new(Semaphore::new(concurrent)),
            external: Arc::new(Semaphore::new(external_share(concurrent))),
        }
    }

    /// The same permits behind a queue of its own: a surface that fills its queue does not fill the
    /// others'.
    #[must_use]
    pub fn with_own_queue(&self) -> Self {
        Self { queue: Queue::new(self.capacity), ..self.clone() }
    }

    pub(crate) fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// Runs `work` on a blocking thread as soon as there is a permit.
    pub async fn run<T: Send + 'static>(
        &self,
        workload: Workload,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refused> {
        let deadline = Instant::now() + self.capacity.timeout;
        let permits = self.permits(workload, deadline).await?;
        let task = tokio::task::spawn_blocking(move || {
            let _permits = permits;
            work()
        });
        match timeout_at(deadline, task).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                tracing::error!(%error, "the work of a request panicked");
                Err(Refused::Panicked)
            }
            Err(_) => Err(Refused::TimedOut(self.capacity.timeout)),
        }
    }

    /// Runs `work` on this thread: for work that takes less time than a change of threads.
    pub async fn run_inline<T>(
        &self,
        workload: Workload,
        work: impl FnOnce() -> T,
    ) -> Result<T, Refused> {
        let _permits = self.permits(workload, Instant::now() + self.capacity.timeout).await?;
        Ok(work())
    }

    async fn permits(&self, workload: Workload, deadline: Instant) -> Result<Permits, Refused> {
        let mut permits = self.queue.enter(workload).ok_or(Refused::Busy(self.capacity))?;
        let turn = async {
            if workload == Workload::External {
                permits.push(self.external.clone().acquire_owned().await.expect(NEVER_CLOSED));
            }
            permits.push(self.running.clone().acquire_owned().await.expect(NEVER_CLOSED));
        };
        let timed_out = |_| Refused::TimedOut(self.capacity.timeout);
        timeout_at(deadline, turn).await.map_err(timed_out)?;
        Ok(permits)
    }
}

const NEVER_CLOSED: &str = "the limiter's semaphores are never closed";

impl Queue {
    fn new(capacity: Capacity) -> Self {
        let admitted = capacity.concurrent + capacity.waiting;
        Self {
            admitted: Arc::new(Semaphore::new(admitted)),
            external: Arc::new(Semaphore::new(external_share(admitted))),
        }
    }

    /// `None` if the queue is full.
    fn enter(&self, workload: Workload) -> Option<Permits> {
        let mut permits = vec![self.admitted.clone().try_acquire_owned().ok()?];
        if workload == Workload::External {
            permits.push(self.external.clone().try_acquire_owned().ok()?);
        }
        Some(permits)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use tokio::task::JoinHandle;

    use super::*;

    const DEADLINE: Duration = Duration::from_mins(1);

    fn limiter(concurrent: usize, waiting: usize, timeout: Duration) -> Limiter {
        Limiter::new(Capacity { concurrent, waiting, timeout })
    }

    /// Work that blocks its thread until it is released, and says when it begins.
    fn blocking(
        limiter: &Limiter,
        workload: Workload,
    ) -> (JoinHandle<Result<(), Refused>>, Receiver<()>, Sender<()>) {
        let (began, begins) = channel();
        let (release, released) = channel::<()>();
        let limiter = limiter.clone();
        let task = tokio::spawn(async move {
            let work = move || {
                began.send(()).expect("the test waits for it");
                released.recv_timeout(DEADLINE).expect("the test releases it");
            };
            limiter.run(workload, work).await
        });
        (task, begins, release)
    }

    async fn eventually(condition: impl Fn() -> bool) {
        let waiting = async {
            while !condition() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(DEADLINE, waiting).await.expect("it happens within the deadline");
    }

    fn begun(begins: &Receiver<()>) {
        begins.recv_timeout(DEADLINE).expect("work with a permit begins");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn requests_wait_beyond_the_limit_and_are_refused_beyond_the_queue() {
        let limiter = limiter(1, 1, DEADLINE);
        let (first, first_begins, release_first) = blocking(&limiter, Workload::Local);
        begun(&first_begins);
        let (second, second_begins, release_second) = blocking(&limiter, Workload::Local);
        eventually(|| limiter.queue.admitted.available_permits() == 0).await;
        let ran = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let set = ran.clone();
        let third = limiter
            .run(Workload::Local, move || set.store(true, std::sync::atomic::Ordering::SeqCst))
            .await;
        assert_eq!(third, Err(Refused::Busy(limiter.capacity)));
        assert!(!ran.load(std::sync::atomic::Ordering::SeqCst), "refused work must not run");
        let too_early = second_begins.recv_timeout(Duration::from_millis(100));
        assert!(too_early.is_err(), "the second waits for the first");
        release_first.send(()).unwrap();
        begun(&second_begins);
        release_second.send(()).unwrap();
        assert_eq!(first.await.unwrap(), Ok(()));
        assert_eq!(second.await.unwrap(), Ok(()));
        assert_eq!(limiter.run(Workload::Local, || 4).await, Ok(4));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn work_that_timed_out_keeps_its_permit_until_it_ends() {
        let limiter = limiter(1, 0, Duration::from_millis(50));
        let (task, begins, release) = blocking(&limiter, Workload::Local);
        begun(&begins);
        assert_eq!(task.await.unwrap(), Err(Refused::TimedOut(limiter.capacity.timeout)));
        assert_eq!(limiter.run(Workload::Local, || ()).await, Err(Refused::Busy(limiter.capacity)));
        release.send(()).unwrap();
        eventually(|| limiter.queue.admitted.available_permits() > 0).await;
        assert_eq!(limiter.run(Workload::Local, || 1).await, Ok(1));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_caller_that_goes_away_does_not_release_the_permit() {
        let limiter = limiter(1, 0, DEADLINE);
        let (task, begins, release) = blocking(&limiter, Workload::Local);
        begun(&begins);
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!(limiter.run(Workload::Local, || ()).await, Err(Refused::Busy(limiter.capacity)));
        release.send(()).unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_store_that_hangs_leaves_permits_and_queue_for_other_work() {
        let limiter = limiter(4, 10, DEADLINE);
        let stuck: Vec<_> = (0..9).map(|_| blocking(&limiter, Workload::External)).collect();
        eventually(|| limiter.external.available_permits() == 0).await;
        eventually(|| limiter.queue.external.available_permits() == 0).await;
        let more = limiter.run(Workload::External, || ()).await;
        assert_eq!(more, Err(Refused::Busy(limiter.capacity)), "its share of the queue is full");
        assert_eq!(limiter.run(Workload::Local, || 1).await, Ok(1));
        for (_, _, release) in &stuck {
            release.send(()).unwrap();
        }
        for (task, _, _) in stuck {
            assert_eq!(task.await.unwrap(), Ok(()));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_surface_that_fills_its_queue_leaves_the_others_theirs() {
        let limiter = limiter(1, 1, DEADLINE);
        let other = limiter.with_own_queue();
        let (first, begins, release_first) = blocking(&limiter, Workload::Local);
        begun(&begins);
        let (second, _second_begins, release_second) = blocking(&limiter, Workload::Local);
        eventually(|| limiter.queue.admitted.available_permits() == 0).await;
        assert_eq!(limiter.run(Workload::Local, || ()).await, Err(Refused::Busy(limiter.capacity)));
        let (third, _third_begins, release_third) = blocking(&other, Workload::Local);
        for release in [release_first, release_second, release_third] {
            release.send(()).unwrap();
        }
        for task in [first, second, third] {
            assert_eq!(task.await.unwrap(), Ok(()));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_is_contained_and_releases_the_permit() {
        let limiter = limiter(1, 0, DEADLINE);
        let panics = limiter.run(Workload::Local, || panic!("a bug")).await;
        assert_eq!(panics, Err::<(), _>(Refused::Panicked));
        assert_eq!(limiter.run(Workload::Local, || 1).await, Ok(1));
    }
}
