//! `POST /ingest`: batches of events from mcpeye's clients and from our own wrapper on other
//! machines.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use kenning_app::{AppState, Services, Workload};
use kenning_gaps::{Batch, Code, Error};
use tokio::sync::Semaphore;

use crate::auth::{Grant, TokenStore};
use crate::body::read;
use crate::problem::Problem;
use crate::token::Scope;

/// Batches in memory at once. Clients are asked to send others again: they keep them, and nothing
/// is lost.
const MAX_CONCURRENT: usize = 16;

/// The largest batch, in bytes: a client sends at once what it kept while it could not reach us.
const MAX_BATCH: usize = 64 * 1024 * 1024;

struct Ingest {
    app: AppState,
    tokens: Option<Arc<dyn TokenStore>>,
    /// Bounds memory: a permit is taken before the body is read.
    permits: Arc<Semaphore>,
}

pub(crate) fn routes(app: AppState, tokens: Option<Arc<dyn TokenStore>>) -> Router {
    let permits = Arc::new(Semaphore::new(MAX_CONCURRENT));
    let state = Arc::new(Ingest { app, tokens, permits });
    Router::new().route("/ingest", post(ingest)).with_state(state)
}

async fn ingest(State(ingest): State<Arc<Ingest>>, request: Request) -> Result<Response, Problem> {
    let grant = request.extensions().get::<Grant>().cloned();
    let Ok(permit) = ingest.permits.clone().try_acquire_owned() else {
        return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "send the batch again soon"));
    };
    let body = read(request.into_body(), MAX_BATCH).await?;
    let app = ingest.app.clone();
    let work = move |_: &AppState| {
        // Held until the work is done, even if the client no longer waits for it.
        let _permit = permit;
        ingest.store(grant.as_ref(), &body)
    };
    app.work(Workload::External, work).await?
}

impl Ingest {
    fn store(&self, grant: Option<&Grant>, body: &[u8]) -> Result<Response, Problem> {
        let unavailable = |detail: &str| Problem::new(StatusCode::SERVICE_UNAVAILABLE, detail);
        let Some(gaps) = &self.app.services.gaps else {
            return Err(unavailable("there is no store to keep events in"));
        };
        let received = Batch::read(body)
            .map_err(|error| Problem::new(StatusCode::BAD_REQUEST, error.to_string()))?;
        self.check(grant, &received.batch.project_id)?;
        match gaps.ingest_received(received, Services::now()) {
            Ok(response) => Ok(axum::Json(response).into_response()),
            Err(error) if error.code() == Code::DatabaseError => {
                log(&error);
                Err(unavailable("the store failed; send the batch again later"))
            }
            Err(error) => Err(Problem::new(StatusCode::BAD_REQUEST, error.to_string())),
        }
    }

    /// A project that has a secret takes events only with it.
    fn check(&self, grant: Option<&Grant>, project: &str) -> Result<(), Problem> {
        let Some(grant) = grant.filter(|grant| grant.by_token) else {
            let secret = self.tokens.as_ref().map(|tokens| tokens.has_secret(project)).transpose();
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
}

fn log(error: &Error) {
    let source = std::error::Error::source(error).map(ToString::to_string);
    tracing::error!(%error, source, "a batch was not stored; the client sends it again");
}
