//! Liveness and readiness.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use kenning_knowledge::Library;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::{Health, Shutdown, StoreHealth};
use crate::problem::{RETRY_AFTER, add_retry_after};

/// How long an answer of the store is cached: these routes need no authentication, and must not
/// keep the store busy.
const CACHED: Duration = Duration::from_secs(1);

/// What readiness depends on.
pub(super) struct Readiness {
    library: Arc<Library>,
    health: Arc<dyn Health>,
    shutdown: Shutdown,
    /// The last answer of the store. The lock is held while it is asked, so that it is asked once.
    store: Mutex<Option<(Instant, StoreHealth)>>,
}

/// One part of the server, and why it is not ready.
pub(super) struct Part {
    name: &'static str,
    /// Read by callers without a token, so it names nothing of this machine.
    problem: Option<&'static str>,
}

impl Part {
    fn new(name: &'static str, problem: Option<&'static str>) -> Self {
        Self { name, problem }
    }

    fn json(&self) -> Value {
        match self.problem {
            None => json!({ "ready": true }),
            Some(problem) => json!({ "ready": false, "reason": problem }),
        }
    }
}

impl Readiness {
    pub(super) fn new(library: Arc<Library>, health: Arc<dyn Health>, shutdown: Shutdown) -> Self {
        Self { library, health, shutdown, store: Mutex::default() }
    }

    pub(super) async fn store(&self) -> StoreHealth {
        let mut last = self.store.lock().await;
        if let Some((at, answer)) = *last
            && at.elapsed() < CACHED
        {
            return answer;
        }
        let health = self.health.clone();
        let asked = tokio::task::spawn_blocking(move || health.store()).await;
        let answer = asked.unwrap_or(StoreHealth::NotReady("the check of the store failed"));
        log_change(last.map(|(_, before)| before), answer);
        *last = Some((Instant::now(), answer));
        answer
    }

    /// Every part that requests need. Files are read before the first connection is accepted.
    pub(super) async fn parts(&self) -> Vec<Part> {
        let store = match self.store().await {
            StoreHealth::NotReady(reason) => Some(reason),
            StoreHealth::Ready | StoreHealth::None => None,
        };
        let model = (!self.library.has_model()).then_some("the model is not loaded");
        let behind = "the index has not kept up with the files for a minute";
        let gone = "the folder of a knowledge base is gone or cannot be read";
        let is_gone = self.library.snapshot().unavailable().iter().any(|base| !base.keeps_files);
        let mut parts = vec![
            Part::new("model", model),
            Part::new("store", store),
            Part::new("files", self.library.is_behind().then_some(behind)),
            Part::new("bases", is_gone.then_some(gone)),
        ];
        // It has no opposite to report.
        if self.shutdown.has_begun() {
            parts.insert(0, Part::new("stopping", Some("the server is stopping")));
        }
        parts
    }

    pub(super) async fn is_ready(&self) -> bool {
        self.parts().await.iter().all(|part| part.problem.is_none())
    }
}

fn log_change(before: Option<StoreHealth>, now: StoreHealth) {
    match now {
        _ if before == Some(now) => {}
        StoreHealth::NotReady(reason) => tracing::warn!("not ready: {reason}"),
        StoreHealth::Ready if before.is_some() => tracing::info!("the store is ready again"),
        StoreHealth::Ready | StoreHealth::None => {}
    }
}

pub(super) fn routes(readiness: Arc<Readiness>) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .with_state(readiness)
}

async fn readyz(State(readiness): State<Arc<Readiness>>) -> Response {
    let parts = readiness.parts().await;
    let unready = parts.iter().filter(|part| part.problem.is_some());
    let waiting_for: Vec<&str> = unready.map(|part| part.name).collect();
    let by_name: Map<String, Value> =
        parts.iter().map(|part| (part.name.to_owned(), part.json())).collect();
    let ready = waiting_for.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let fresh = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    let body = json!({ "ready": ready, "waiting_for": waiting_for, "parts": by_name });
    let mut response = (status, fresh, axum::Json(body)).into_response();
    add_retry_after(status, RETRY_AFTER, response.headers_mut());
    response
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use kenning_knowledge::Base;
    use kenning_knowledge::base::Listing;
    use kenning_knowledge::path::RelPath;
    use kenning_knowledge::reading::{FileSystem, Limits};

    use super::*;

    struct Healthy;

    impl Health for Healthy {
        fn store(&self) -> StoreHealth {
            StoreHealth::None
        }

        fn subscribers(&self) -> usize {
            0
        }
    }

    /// A network mount that is dead.
    struct Dead;

    impl FileSystem for Dead {
        fn list(&self, _: &Base, _: &dyn Fn()) -> Listing {
            loop {
                std::thread::park();
            }
        }

        fn read(
            &self,
            _: &kenning_knowledge::reading::Dir,
            _: &RelPath,
        ) -> Result<Vec<u8>, String> {
            unreachable!("nothing is listed")
        }
    }

    #[tokio::test]
    async fn an_index_that_has_not_kept_up_for_a_minute_is_not_ready() {
        for (behind, is_reported) in [(Duration::from_hours(1), false), (Duration::ZERO, true)] {
            let base = Base::new("kb", Path::new(env!("CARGO_MANIFEST_DIR")), &[], &[]).unwrap();
            let limits = Limits { answer: Duration::from_millis(10), behind };
            let library = Library::open_on(Arc::new(Dead), limits, vec![base], &|_, _| {}).unwrap();
            let shutdown = Shutdown::new(
                tokio_util::sync::CancellationToken::new(),
                Duration::ZERO,
                Duration::ZERO,
            );
            let readiness = Readiness::new(Arc::new(library), Arc::new(Healthy), shutdown);
            let parts = readiness.parts().await;
            let files = parts.iter().find(|part| part.name == "files").unwrap();
            assert_eq!(files.problem.is_some(), is_reported);
        }
    }
}
