//! Graceful shutdown: requests that were accepted are answered.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// The three steps of a shutdown.
#[derive(Debug, Clone)]
pub struct Shutdown {
    /// Shutdown was requested. Requests are answered as before, but the readiness probe fails, so
    /// that a load balancer sends no new ones.
    requested: CancellationToken,
    /// No connection is accepted any more, and streams end.
    closing: CancellationToken,
    /// Requests that are still under way are given up.
    over: CancellationToken,
    drain: Duration,
    grace: Duration,
}

impl Shutdown {
    /// `drain` is how long load balancers may take to notice, `grace` how long requests under way
    /// may take after that.
    pub fn new(requested: CancellationToken, drain: Duration, grace: Duration) -> Self {
        let (closing, over) = (CancellationToken::new(), CancellationToken::new());
        Self { requested, closing, over, drain, grace }
    }

    /// Whether shutdown was requested.
    pub(crate) fn has_begun(&self) -> bool {
        self.requested.is_cancelled()
    }

    /// Cancelled when no connection is accepted any more.
    pub fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// Cancelled when requests under way are given up.
    pub fn over(&self) -> CancellationToken {
        self.over.clone()
    }

    /// Takes the steps once shutdown is requested.
    async fn steps(self) {
        self.requested.cancelled().await;
        tracing::info!(
            drain_seconds = self.drain.as_secs(),
            grace_seconds = self.grace.as_secs(),
            "shutting down; requests under way are finished first"
        );
        tokio::time::sleep(self.drain).await;
        self.closing.cancel();
        tokio::time::sleep(self.grace).await;
        self.over.cancel();
    }

    /// Waits for `serving`, which ends by itself after [`Self::closing`], but not for longer than
    /// the grace.
    pub(crate) async fn bound(self, serving: impl Future<Output = ()>) {
        let over = self.over();
        let steps = tokio::spawn(self.steps());
        tokio::select! {
            () = serving => {}
            () = over.cancelled() => {
                tracing::warn!("the grace period is over; giving up the requests that are still under way");
            }
        }
        steps.abort();
    }
}
