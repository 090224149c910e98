//! Stop signals.

use tokio_util::sync::CancellationToken;

/// As a shell reports a program that an interrupt ended.
const INTERRUPTED: i32 = 130;

/// The first signal stops the server, which takes as long as it takes; a second one ends the
/// process at once.
///
/// Must be called inside a runtime. Signals count from the call on, even before the future runs.
pub(super) fn stop_on_signal(stop: CancellationToken) -> impl Future<Output = ()> + Send + 'static {
    let signals = Signals::new();
    attend(signals, stop)
}

async fn attend(mut signals: Signals, stop: CancellationToken) {
    signals.next().await;
    stop.cancel();
    signals.next().await;
    tracing::warn!("stopped at once; requests under way are not answered");
    std::process::exit(INTERRUPTED);
}

/// One value for all signals: a second one may come while the first is being attended to.
#[cfg(unix)]
struct Signals(Vec<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Signals {
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::terminate(), SignalKind::interrupt()];
        Self(kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect())
    }

    async fn next(&mut self) {
        std::future::poll_fn(|context| {
            let came = self.0.iter_mut().map(|signal| signal.poll_recv(context).is_ready());
            // Every one is asked, so that each of them wakes us.
            let came = came.fold(false, |one, other| one | other);
            if came { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> Self {
        Self
    }

    async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
