//! How the server ends: nobody who was let in is sent away without an answer.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// Three steps, each at its time.
#[derive(Debug, Clone)]
pub struct Stopping {
    /// Somebody wants it to end. Requests are answered as before, but whoever asks whether the
    /// server is ready is told that it is not, so that a balancer sends nobody else.
    asked: CancellationToken,
    /// No connection is accepted any more, and what would last forever ends.
    closing: CancellationToken,
    /// What is not finished now is given up.
    over: CancellationToken,
    drain: Duration,
    grace: Duration,
}

impl Stopping {
    /// `drain` is how long others may take to notice, `grace` how long requests under way may take
    /// after that.
    pub fn new(asked: CancellationToken, drain: Duration, grace: Duration) -> Self {
        let (closing, over) = (CancellationToken::new(), CancellationToken::new());
        Self { asked, closing, over, drain, grace }
    }

    /// Whether somebody wants it to end.
    pub(crate) fn has_begun(&self) -> bool {
        self.asked.is_cancelled()
    }

    /// Ends when no connection is accepted any more.
    pub fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// Ends when nothing is waited for any more.
    pub fn over(&self) -> CancellationToken {
        self.over.clone()
    }

    /// Takes the steps, once it is asked to.
    async fn steps(self) {
        self.asked.cancelled().await;
        tracing::info!(
            drain_seconds = self.drain.as_secs(),
            grace_seconds = self.grace.as_secs(),
            "the server stops; requests under way are finished"
        );
        tokio::time::sleep(self.drain).await;
        self.closing.cancel();
        tokio::time::sleep(self.grace).await;
        self.over.cancel();
    }

    /// Waits for `serving`, which ends by itself after [`Self::closing`], but not for longer than
    /// the grace.
    pub(crate) async fn bound<E>(
        self,
        serving: impl Future<Output = Result<(), E>>,
    ) -> Result<(), E> {
        let over = self.over();
        let steps = tokio::spawn(self.steps());
        let served = tokio::select! {
            served = serving => served,
            () = over.cancelled() => {
                tracing::warn!("some requests were not finished in time and are given up");
                Ok(())
            }
        };
        steps.abort();
        served
    }
}
