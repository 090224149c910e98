//! Whether the server lives, and whether it is ready.

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

use super::{Stopping, Vitals};

/// How long an answer of the store is believed: anybody may ask, and must not keep it busy.
const BELIEVED: Duration = Duration::from_millis(500);

/// What readiness depends on.
pub(super) struct Pulse {
    library: Arc<Library>,
    vitals: Arc<dyn Vitals>,
    stopping: Stopping,
    /// What the store said last; held while it is asked, so that it is asked once.
    store: Mutex<Option<(Instant, Option<bool>)>>,
}

impl Pulse {
    pub(super) fn new(library: Arc<Library>, vitals: Arc<dyn Vitals>, stopping: Stopping) -> Self {
        Self { library, vitals, stopping, store: Mutex::default() }
    }

    /// Whether the store answers; `None` without a store.
    pub(super) async fn store_answers(&self) -> Option<bool> {
        let mut last = self.store.lock().await;
        if let Some((at, answer)) = *last
            && at.elapsed() < BELIEVED
        {
            return answer;
        }
        let vitals = self.vitals.clone();
        let asked = tokio::task::spawn_blocking(move || vitals.store_answers()).await;
        let answer = asked.unwrap_or(Some(false));
        *last = Some((Instant::now(), answer));
        answer
    }

    /// What is in the way. The files are read before the first connection is accepted.
    pub(super) async fn waiting_for(&self) -> Vec<&'static str> {
        let store_is_gone = self.store_answers().await == Some(false);
        let reasons = [
            ("stopping", self.stopping.has_begun()),
            ("model", !self.library.has_model()),
            ("store", store_is_gone),
        ];
        reasons.into_iter().filter(|(_, holds)| *holds).map(|(reason, _)| reason).collect()
    }
}

pub(super) fn routes(pulse: Arc<Pulse>) -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .with_state(pulse)
}

async fn readyz(State(pulse): State<Arc<Pulse>>) -> Response {
    let waiting_for = pulse.waiting_for().await;
    let ready = waiting_for.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let fresh = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    let body = json!({ "ready": ready, "waiting_for": waiting_for });
    (status, fresh, axum::Json(body)).into_response()
}
