//! Metrics and spans of every request. Only route, method, status and duration are kept.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{Instrument, Span};

use super::metrics::Metrics;
use super::{AdoptTrace, Shutdown};

/// The target of spans for collectors: the binary exports these and does not log them.
const TARGET: &str = "kenning::span";
/// Probes and scrapes come all the time; their traces would hide the others.
const NOT_TRACED: [&str; 3] = ["/healthz", "/readyz", "/metrics"];
/// The route of unknown paths: a path is text of the client and must not become a label.
const NO_ROUTE: &str = "other";
/// Headers that must never be printed, not even by a library at its most verbose level.
const SECRET: [HeaderName; 3] =
    [header::AUTHORIZATION, header::COOKIE, HeaderName::from_static("x-mcpeye-secret")];

#[derive(Clone)]
pub(super) struct Observer {
    pub(super) metrics: Arc<Metrics>,
    pub(super) shutdown: Shutdown,
    pub(super) adopt_trace: Option<AdoptTrace>,
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
    // The MCP SDK handles requests in another task and passes the extensions on.
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
    if observer.shutdown.has_begun() {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}

impl Observer {
    fn span(&self, request: &Request, method: &'static str, route: &str) -> Span {
        let Some(adopt) = self.adopt_trace.filter(|_| !NOT_TRACED.contains(&route)) else {
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

/// The route as it is registered, with the names of its parameters instead of their values.
fn route(request: &Request) -> String {
    let matched = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    // A nested service matches with a wildcard.
    let matched = matched.and_then(|path| path.split("/{*").next());
    matched.unwrap_or(NO_ROUTE).to_owned()
}

/// One of the known methods: a client may send any word as method.
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
