//! Clients of each era of the protocol, over each transport.

use std::sync::Arc;

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService, ServiceExt,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ClientHandler, ServerHandler};

/// It answers nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TestClient;

impl ClientHandler for TestClient {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("tester", "1"))
    }
}

pub(crate) type Client = RunningService<RoleClient, TestClient>;

/// How a client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Lines in both directions, as over standard streams.
    Stream,
    Http,
    /// HTTP without sessions, which older clients expect.
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
pub(crate) struct Connection(pub(crate) Transport, pub(crate) Era);

pub(crate) const CONNECTIONS: [Connection; 6] = [
    Connection(Transport::Stream, Era::Older),
    Connection(Transport::Stream, Era::Newer),
    Connection(Transport::Http, Era::Older),
    Connection(Transport::Http, Era::Newer),
    Connection(Transport::Sessionless, Era::Older),
    Connection(Transport::Sessionless, Era::Newer),
];

/// A client of a server that both end with the test.
pub(crate) async fn connect<S: ServerHandler + Clone>(server: S, connection: Connection) -> Client {
    let lifecycle = match connection.1 {
        Era::Older => ClientLifecycleMode::Initialize,
        Era::Newer => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    };
    match connection.0 {
        Transport::Stream => {
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            tokio::spawn(async move { server.serve(theirs).await.unwrap().waiting().await });
            TestClient.serve_with_lifecycle(ours, lifecycle).await.unwrap()
        }
        Transport::Http | Transport::Sessionless => {
            let url = serve_http(server, connection.0 == Transport::Http).await;
            let transport = StreamableHttpClientTransport::from_uri(url);
            TestClient.serve_with_lifecycle(transport, lifecycle).await.unwrap()
        }
    }
}

async fn serve_http<S: ServerHandler + Clone>(server: S, sessions: bool) -> String {
    // The client requires a TLS provider, even for plain HTTP.
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
