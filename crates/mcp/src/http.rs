//! Clients over Streamable HTTP.

use std::sync::Arc;

use axum::Router;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use crate::server::Server;

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
    Router::new().fallback_service(service)
}
