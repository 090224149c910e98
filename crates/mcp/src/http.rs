//! Clients over Streamable HTTP.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use http_body_util::LengthLimitError;
use rmcp::ServerHandler;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use crate::server::Server;
use crate::unreadable;

/// The largest body of a request, in bytes.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// The path of the MCP endpoint, by convention.
pub const MCP_PATH: &str = "/mcp";

/// How access to the routes is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Here: every process of this machine has access. `port` is the server's own; requests are
    /// accepted only if their `Host`, and `Origin` if they have one, are this server's.
    Loopback { port: u16 },
    /// By the routes around these, which authenticate every request.
    Authenticated,
}

/// Routes that answer clients until `stop` is cancelled.
pub fn router(server: Server, reach: Reach, stop: CancellationToken) -> Router {
    router_around(server, |server| server, reach, stop)
}

/// The same with a handler around the server, made for each client.
pub fn router_around<S: ServerHandler>(
    server: Server,
    around: impl Fn(Server) -> S + Send + Sync + 'static,
    reach: Reach,
    stop: CancellationToken,
) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY)
        .with_cancellation_token(stop);
    let config = match reach {
        Reach::Loopback { port } => {
            let hosts = ["localhost", "127.0.0.1", "[::1]"];
            config
                .with_allowed_origins(hosts.map(|host| format!("http://{host}:{port}")))
                .enforce_origin_validation()
                .with_allowed_hosts(hosts)
        }
        Reach::Authenticated => config.disable_allowed_hosts(),
    };
    let service = StreamableHttpService::new(
        move || Ok(around(server.for_client())),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    Router::new().fallback_service(service).layer(from_fn(answer_unreadable))
}

/// Answers a body that is no message with an error of JSON-RPC. The SDK would say that the media
/// type is not supported, although it is.
async fn answer_unreadable(request: Request, next: Next) -> Response {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_json = kind.is_some_and(|kind| kind.starts_with("application/json"));
    if !is_json || request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = match axum::body::to_bytes(body, MAX_BODY).await {
        Ok(body) => body,
        Err(error) => return unread(&error),
    };
    let response = next.run(Request::from_parts(parts, Body::from(body.clone()))).await;
    if response.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return response;
    }
    match serde_json::from_slice::<ClientJsonRpcMessage>(&body) {
        Ok(_) => response,
        Err(error) => refuse(&body, &error),
    }
}

fn refuse(body: &Bytes, error: &serde_json::Error) -> Response {
    let answer = unreadable::answer(body, error);
    let json = HeaderValue::from_static("application/json");
    let text = serde_json::to_string(&answer).unwrap_or_default();
    (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, json)], text).into_response()
}

fn unread(error: &axum::Error) -> Response {
    let cause = std::error::Error::source(error);
    let is_too_long = cause.is_some_and(<dyn std::error::Error>::is::<LengthLimitError>);
    if is_too_long {
        let problem = format!("the body has more than {MAX_BODY} bytes");
        return (StatusCode::PAYLOAD_TOO_LARGE, problem).into_response();
    }
    (StatusCode::BAD_REQUEST, "the body was cut off").into_response()
}
