//! `POST /ingest`: what mcpeye's clients, and our own wrapper elsewhere, have heard.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use kenning_gaps::{Batch, Code, Error, Gaps};
use tokio::sync::Semaphore;

use crate::guard::{Grant, Keys};
use crate::problem::Problem;
use crate::site::{now, read};
use crate::token::Scope;

/// Batches that are taken in at once. Clients whose batch has to wait are asked to send it again:
/// they keep it, and nothing is lost.
const AT_ONCE: usize = 16;

/// The largest batch, in bytes: what a client has kept while it could not reach us comes at once.
const MAX_BATCH: usize = 64 * 1024 * 1024;

struct Desk {
    gaps: Option<Gaps>,
    keys: Option<Arc<dyn Keys>>,
    seats: Arc<Semaphore>,
}

pub(crate) fn routes(gaps: Option<Gaps>, keys: Option<Arc<dyn Keys>>) -> Router {
    let desk = Arc::new(Desk { gaps, keys, seats: Arc::new(Semaphore::new(AT_ONCE)) });
    Router::new().route("/ingest", post(ingest)).with_state(desk)
}

async fn ingest(State(desk): State<Arc<Desk>>, request: Request) -> Result<Response, Problem> {
    let grant = request.extensions().get::<Grant>().cloned();
    let Ok(seat) = desk.seats.clone().try_acquire_owned() else {
        return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "send the batch again soon"));
    };
    let body = read(request.into_body(), MAX_BATCH).await?;
    let work = move || {
        // Taken until the work is done, whether or not somebody still waits for it.
        let _seat = seat;
        take_in(&desk, grant.as_ref(), &body)
    };
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!(%error, "a batch was not taken in");
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "something went wrong here; it is logged")
    })?
}

fn take_in(desk: &Desk, grant: Option<&Grant>, body: &[u8]) -> Result<Response, Problem> {
    let unavailable = |detail: &str| Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail);
    let Some(gaps) = &desk.gaps else {
        return Err(unavailable("there is no store to keep events in"));
    };
    let received = Batch::read(body)
        .map_err(|error| Problem::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    check(desk, grant, &received.batch.project_id)?;
    match gaps.ingest_received(received, now()) {
        Ok(response) => Ok(axum::Json(response).into_response()),
        Err(error) if error.code() == Code::DatabaseError => {
            log(&error);
            Err(unavailable("the store failed; send the batch again later"))
        }
        Err(error) => Err(Problem::new(StatusCode::BAD_REQUEST, error.to_string())),
    }
}

fn log(error: &Error) {
    let source = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(%error, source, "a batch was not taken in");
}

/// A project that has a secret takes events from those who know it.
fn check(desk: &Desk, grant: Option<&Grant>, project: &str) -> Result<(), Problem> {
    let Some(grant) = grant.filter(|grant| grant.by_token) else {
        let secret = desk.keys.as_ref().map(|keys| keys.has_secret(project)).transpose();
        return match secret {
            Ok(Some(true)) => {
                let detail = "this project has a secret: send it as `x-mcpeye-secret`";
                Err(Problem::new(StatusCode::UNAUTHORIZED, detail))
            }
            Ok(_) => Ok(()),
            Err(_) => {
                let detail = "secrets cannot be looked up for now";
                Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail))
            }
        };
    };
    let of_project = grant.project.as_deref().is_none_or(|own| own == project);
    if grant.scope.allows(Scope::Ingest) && of_project {
        return Ok(());
    }
    Err(Problem::new(StatusCode::FORBIDDEN, "this secret is not one of this project"))
}
