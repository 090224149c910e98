//! Liveness and readiness.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use kenning_knowledge::Library;
use serde_json::json;
use tokio::sync::Mutex;

use super::{Health, Shutdown};

/// How long an answer of the store is cached: these routes need no authentication, and must not
/// keep the store busy.
const CACHED: Duration = Duration::from_millis(500);

/// What readiness depends on.
pub(super) struct Readiness {
    library: Arc<Library>,
    health: Arc<dyn Health>,
    shutdown: Shutdown,
    /// The last answer of the store. The lock is held while it is asked, so that it is asked once.
    store: Mutex<Option<(Instant, Option<bool>)>>,
}

impl Readiness {
    pub(super) fn new(library: Arc<Library>, health: Arc<dyn Health>, shutdown: Shutdown) -> Self {
        Self { library, health, shutdown, store: Mutex::default() }
    }

    /// Whether the store answers; `None` without a store.
    pub(super) async fn store_answers(&self) -> Option<bool> {
        let mut last = self.store.lock().await;
        if let Some((at, answer)) = *last
            && at.elapsed() < CACHED
        {
            return answer;
        }
        let health = self.health.clone();
        let asked = tokio::task::spawn_blocking(move || health.store_answers()).await;
        let answer = asked.unwrap_or(Some(false));
        *last = Some((Instant::now(), answer));
        answer
    }

    /// Why the server is not ready. Files are read before the first connection is accepted.
    pub(super) async fn waiting_for(&self) -> Vec<&'static str> {
        let store_is_down = self.store_answers().await == Some(false);
        let reasons = [
            ("stopping", self.shutdown.has_begun()),
            ("model", !self.library.has_model()),
            ("store", store_is_down),
            ("files", self.library.is_behind()),
            ("bases", self.library.snapshot().unavailable().iter().any(|base| !base.keeps_files)),
        ];
        reasons.into_iter().filter(|(_, holds)| *holds).map(|(reason, _)| reason).collect()
    }
}

pub(super) fn routes(readiness: Arc<Readiness>) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .with_state(readiness)
}

async fn readyz(State(readiness): State<Arc<Readiness>>) -> Response {
    let waiting_for = readiness.waiting_for().await;
    let ready = waiting_for.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let fresh = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    let body = json!({ "ready": ready, "waiting_for": waiting_for });
    (status, fresh, axum::Json(body)).into_response()
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
        fn store_answers(&self) -> Option<bool> {
            None
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
            assert_eq!(readiness.waiting_for().await.contains(&"files"), is_reported);
        }
    }
}
