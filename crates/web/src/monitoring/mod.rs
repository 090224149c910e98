//! What operators see of the server: health, metrics, traces, and its shutdown.
//!
//! [`health`] answers liveness and readiness probes, [`metrics`] exports figures, [`observe`] wraps
//! every request for both of them and for tracing, [`shutdown`] ends the server in steps. None of
//! it holds anything that a client wrote.

mod health;
mod metrics;
mod observe;
mod shutdown;

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use axum::middleware::from_fn_with_state;
use kenning_app::AppState;

pub use shutdown::Shutdown;

use self::health::Readiness;
use self::metrics::Metrics;
use self::observe::{Observer, observe};

/// What the application cannot tell about itself. Methods may block for a moment; they are not
/// called on async threads.
pub trait Health: Send + Sync {
    /// Whether the store can be read and written.
    fn store(&self) -> StoreHealth;

    /// How many clients are subscribed to notifications.
    fn subscribers(&self) -> usize;
}

/// The state of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreHealth {
    /// The server has none and needs none.
    None,
    Ready,
    /// Why it cannot be used. Everybody may read it: it names no path and no host.
    NotReady(&'static str),
}

/// Makes a span part of the trace that the caller's headers name.
pub type AdoptTrace = fn(&tracing::Span, &HeaderMap);

#[derive(Clone)]
pub struct Monitoring {
    pub health: Arc<dyn Health>,
    /// The application with the tools whose metrics are exported.
    pub offered: AppState,
    pub shutdown: Shutdown,
    /// `None` if tracing is off.
    pub adopt_trace: Option<AdoptTrace>,
}

impl std::fmt::Debug for Monitoring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Monitoring").field("shutdown", &self.shutdown).finish_non_exhaustive()
    }
}

/// The routes for operators, and the observer of all routes.
pub(crate) struct Monitor {
    pub(crate) routes: Router,
    observer: Observer,
}

impl Monitor {
    pub(crate) fn new(monitoring: Monitoring) -> Self {
        let Monitoring { health, offered, shutdown, adopt_trace } = monitoring;
        let library = offered.services.library.clone();
        let readiness = Arc::new(Readiness::new(library, health.clone(), shutdown.clone()));
        let metrics = Arc::new(Metrics::new(offered, health, readiness.clone()));
        let routes = health::routes(readiness).merge(metrics::routes(metrics.clone()));
        Self { routes, observer: Observer { metrics, shutdown, adopt_trace } }
    }

    /// Observes every request to these routes.
    pub(crate) fn observe(self, router: Router) -> Router {
        router.layer(from_fn_with_state(self.observer, observe))
    }
}
