//! Clients of each era, on each road to a server.

use std::sync::Arc;

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService, ServiceExt,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ClientHandler, ServerHandler};

/// One that has no answers to give.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Silent;

impl ClientHandler for Silent {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("tester", "1"))
    }
}

pub(crate) type Client = RunningService<RoleClient, Silent>;

/// How a client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Lines in both directions, as over standard streams.
    Stream,
    Http,
    /// HTTP where every request stands for itself, whatever the client thinks.
    Sessionless,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// `initialize` first.
    Older,
    /// 2026-07-28: no session.
    Newer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Road(pub(crate) Way, pub(crate) Era);

pub(crate) const ROADS: [Road; 6] = [
    Road(Way::Stream, Era::Older),
    Road(Way::Stream, Era::Newer),
    Road(Way::Http, Era::Older),
    Road(Way::Http, Era::Newer),
    Road(Way::Sessionless, Era::Older),
    Road(Way::Sessionless, Era::Newer),
];

/// A client of a server that ends with the test.
pub(crate) async fn connect<S: ServerHandler + Clone>(server: S, road: Road) -> Client {
    let lifecycle = match road.1 {
        Era::Older => ClientLifecycleMode::Initialize,
        Era::Newer => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    };
    match road.0 {
        Way::Stream => {
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            tokio::spawn(async move { server.serve(theirs).await.unwrap().waiting().await });
            Silent.serve_with_lifecycle(ours, lifecycle).await.unwrap()
        }
        Way::Http | Way::Sessionless => {
            let url = serve_http(server, road.0 == Way::Http).await;
            let transport = StreamableHttpClientTransport::from_uri(url);
            Silent.serve_with_lifecycle(transport, lifecycle).await.unwrap()
        }
    }
}

async fn serve_http<S: ServerHandler + Clone>(server: S, sessions: bool) -> String {
    // The client wants to know whose cryptography it would use for TLS.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(sessions);
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let app = axum::Router::new().nest_service("/mcp", service);
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}
