//! Clients over Streamable HTTP.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use axum::serve::ListenerExt;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::server::Server;

/// Where the protocol is spoken.
pub const MCP_PATH: &str = "/mcp";

/// Serves on `listener` until `stop` is cancelled.
///
/// The listener must be bound to a loopback address: there is no authentication, and requests are
/// accepted only if their `Host`, and `Origin` if they have one, are this server's own.
pub async fn serve(
    server: Server,
    listener: TcpListener,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let router = router(server, listener.local_addr()?, stop.clone());
    // Without this every streamed answer waits some 40 ms for the client's delayed ACK.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY could not be set");
        }
    });
    axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await
}

fn router(server: Server, address: SocketAddr, stop: CancellationToken) -> Router {
    let port = address.port();
    let hosts = ["localhost", "127.0.0.1", "[::1]"];
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_cancellation_token(stop)
        .with_allowed_origins(hosts.map(|host| format!("http://{host}:{port}")))
        .enforce_origin_validation()
        .with_allowed_hosts(hosts);
    let service = StreamableHttpService::new(
        move || Ok(server.for_client()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    Router::new().route("/", get(front_page)).nest_service(MCP_PATH, service)
}

async fn front_page() -> String {
    format!(
        "Kenning {} speaks the Model Context Protocol at {MCP_PATH}.\n",
        env!("CARGO_PKG_VERSION")
    )
}
