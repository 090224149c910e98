//! How the server fares, for those who run it.
//!
//! [`health`] says whether it lives and whether it is ready, [`metrics`] counts, [`observe`] looks
//! at every request for both of them and for tracing, [`stopping`] is how it ends. None of this
//! holds anything that a client wrote.

mod health;
mod metrics;
mod observe;
mod stopping;

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use axum::middleware::from_fn_with_state;

use crate::site::Rooms;

pub use stopping::Stopping;

use self::health::Pulse;
use self::metrics::Metrics;
use self::observe::{Observer, observe};

/// What the rooms cannot tell. Methods may wait a moment, and are not called on async threads.
pub trait Vitals: Send + Sync {
    /// Whether the store answers; `None` without a store.
    fn store_answers(&self) -> Option<bool>;

    /// How each tool fared.
    fn tools(&self) -> Vec<ToolFigures>;

    /// How many clients listen for changes.
    fn listeners(&self) -> usize;

    /// Calls of tools that were heard, and those of them that were lost.
    fn heard(&self) -> Option<(u64, u64)>;
}

/// How often a tool was called since the start, and how long that took.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolFigures {
    pub tool: &'static str,
    pub errors: u64,
    /// How long those took that succeeded, together.
    pub seconds: f64,
    /// How many of those ended between the edge before and this one, in seconds; the last edge is
    /// infinite.
    pub buckets: Vec<(f64, u64)>,
}

/// Makes a span part of the trace that the caller says it belongs to.
pub type Adopt = fn(&tracing::Span, &HeaderMap);

/// The server as whoever runs it sees it.
#[derive(Clone)]
pub struct Running {
    pub vitals: Arc<dyn Vitals>,
    pub stopping: Stopping,
    /// `None` where nothing is traced.
    pub adopt: Option<Adopt>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("stopping", &self.stopping).finish_non_exhaustive()
    }
}

/// The routes, and what looks at those of everybody.
pub(crate) struct Watch {
    pub(crate) routes: Router,
    observer: Observer,
}

impl Watch {
    pub(crate) fn new(running: Running, rooms: &Rooms) -> Self {
        let library = rooms.library.clone();
        let pulse =
            Arc::new(Pulse::new(library.clone(), running.vitals.clone(), running.stopping.clone()));
        let metrics = Arc::new(Metrics::new(library, running.vitals, pulse.clone()));
        let routes = health::routes(pulse).merge(metrics::routes(metrics.clone()));
        let Running { stopping, adopt, .. } = running;
        Self { routes, observer: Observer { metrics, stopping, adopt } }
    }

    /// Looks at every request to these routes.
    pub(crate) fn over(self, router: Router) -> Router {
        router.layer(from_fn_with_state(self.observer, observe))
    }
}
