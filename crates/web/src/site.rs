//! All routes of the server, and how they are served.

use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::{Extension, Router};
use kenning_app::AppState;
use tokio::net::TcpListener;
use tower::ServiceExt;

use crate::auth::{AccessPolicy, Authenticator, Grant, authenticate, not_allowed};
use crate::body;
use crate::connections::{self, ConnectionLimits};
use crate::monitoring::{Monitor, Monitoring};
use crate::pages::FormKey;
use crate::problem::Problem;
use crate::token::Scope;
use crate::{ingest, openapi, pages, rest};

/// Routes of another adapter, for callers that may write and for callers that may only read.
#[derive(Debug)]
pub struct Mount {
    pub path: &'static str,
    pub write: Router,
    pub read: Router,
}

/// Everything that is served on one address.
#[derive(Debug)]
pub struct Site {
    pub app: AppState,
    pub mounts: Vec<Mount>,
    pub access: AccessPolicy,
    /// Whether all changes are refused, whatever token is presented.
    pub read_only: bool,
    pub monitoring: Monitoring,
    pub connections: ConnectionLimits,
}

impl Site {
    /// Serves on `listener` until shutdown, and then finishes the requests under way.
    pub async fn serve(self, listener: TcpListener) -> std::io::Result<()> {
        let key = FormKey::new().map_err(|error| std::io::Error::other(error.to_string()))?;
        let shutdown = self.monitoring.shutdown.clone();
        let (limits, closing) = (self.connections, shutdown.closing());
        shutdown.bound(connections::serve(listener, self.router(key), limits, closing)).await;
        Ok(())
    }

    fn router(self, key: FormKey) -> Router {
        let monitor = Monitor::new(self.monitoring);
        let endpoints = rest::endpoints(&self.app.inventory);
        let most = if self.read_only { Scope::Read } else { Scope::Write };
        let mut router = openapi::routes(&endpoints)
            .merge(rest::routes(&endpoints, &self.app))
            .merge(ingest::routes(self.app.clone(), self.access.tokens()))
            .merge(pages::routes(self.app, key, &self.access))
            .merge(monitor.routes.clone());
        for mount in self.mounts {
            router = router.nest_service(mount.path, by_scope(mount));
        }
        let authenticator = Authenticator::new(self.access, most);
        let router = router
            .fallback(pages::not_found)
            .method_not_allowed_fallback(async || {
                Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this cannot be done here")
            })
            .layer(axum::middleware::from_fn_with_state(authenticator, authenticate));
        monitor.observe(router)
    }
}

/// Chooses the routes by what the caller may do.
fn by_scope(mount: Mount) -> Router {
    let Mount { write, read, .. } = mount;
    Router::new().fallback(move |Extension(grant): Extension<Grant>, request: Request| async move {
        let router = match grant.scope {
            Scope::Write => write,
            Scope::Read => read,
            Scope::Ingest => return not_allowed(grant.scope).into_response(),
        };
        // The other adapter would wait for a body without an answer that says so.
        let (parts, sent) = request.into_parts();
        let sent = match body::read(sent, body::MAX_BODY).await {
            Ok(sent) => sent,
            Err(problem) => return problem.into_response(),
        };
        match router.oneshot(Request::from_parts(parts, Body::from(sent))).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    })
}
