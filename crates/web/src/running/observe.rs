//! Looks at every request, and keeps nothing of it but what it was for and how it ended.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{Instrument, Span};

use super::metrics::Metrics;
use super::{Adopt, Stopping};

/// Spans for collectors; `kenning` exports those of this target, and none of them is logged.
const TARGET: &str = "kenning::span";
/// What is asked all the time, by nobody who would want to trace it.
const NOT_TRACED: [&str; 3] = ["/healthz", "/readyz", "/metrics"];
/// For what no route is registered for: paths are a client's words.
const NO_ROUTE: &str = "other";
/// Never to be printed, not even by a library that is asked for all it knows.
const SECRET: [HeaderName; 3] =
    [header::AUTHORIZATION, header::COOKIE, HeaderName::from_static("x-mcpeye-secret")];

#[derive(Clone)]
pub(super) struct Observer {
    pub(super) metrics: Arc<Metrics>,
    pub(super) stopping: Stopping,
    pub(super) adopt: Option<Adopt>,
}

pub(super) async fn observe(
    State(observer): State<Observer>,
    mut request: Request,
    next: Next,
) -> Response {
    for name in &SECRET {
        if let header::Entry::Occupied(mut values) = request.headers_mut().entry(name) {
            values.iter_mut().for_each(|value| value.set_sensitive(true));
        }
    }
    let (method, route) = (method(&request), route(&request));
    let span = observer.span(&request, method, &route);
    // The SDK of MCP works on requests elsewhere, and passes this on.
    request.extensions_mut().insert(span.clone());
    let under_way = observer.metrics.begin();
    let began = Instant::now();
    let mut response = next.run(request).instrument(span.clone()).await;
    drop(under_way);
    let status = response.status();
    span.record("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
    observer.metrics.answered(method, route, status, began.elapsed());
    if observer.stopping.has_begun() {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}

impl Observer {
    fn span(&self, request: &Request, method: &'static str, route: &str) -> Span {
        let Some(adopt) = self.adopt.filter(|_| !NOT_TRACED.contains(&route)) else {
            return Span::none();
        };
        let span = tracing::info_span!(
            target: TARGET,
            parent: None,
            "request",
            "otel.name" = format!("{method} {route}"),
            "otel.kind" = "server",
            "otel.status_code" = tracing::field::Empty,
            "http.request.method" = method,
            "http.route" = route,
            "http.response.status_code" = tracing::field::Empty,
        );
        adopt(&span, request.headers());
        span
    }
}

/// The route as it is registered, without what a client put in its place.
fn route(request: &Request) -> String {
    let matched = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    // A mount has a rest of its own.
    let matched = matched.and_then(|path| path.split("/{*").next());
    matched.unwrap_or(NO_ROUTE).to_owned()
}

/// Of the few there are; a client may send any word.
fn method(request: &Request) -> &'static str {
    match *request.method() {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}
