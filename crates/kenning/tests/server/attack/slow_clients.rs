//! Clients that connect and do not go on: they need no token, and must not hold up the others.

use std::process::Command;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use rmcp::model::{ServerNotification, SubscriptionFilter};
use rmcp::service::Subscription;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::server::support::{Answer, Client, DEADLINE, Project, Server, eventually, within};

const HALF_A_HEAD: &str = "GET /api/v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half:";
const SEARCH: &str = "/api/v1/search_knowledge?query=token&search_type=keyword";
/// One second for everything that a client can be late with.
const IMPATIENT: [(&str, &str); 3] = [
    ("KENNING_SERVER_HEAD_TIMEOUT_SECONDS", "1"),
    ("KENNING_SERVER_BODY_TIMEOUT_SECONDS", "1"),
    ("KENNING_SERVER_IDLE_TIMEOUT_SECONDS", "1"),
];

async fn connect(server: &Server, sent: &str) -> TcpStream {
    let mut stream = within(TcpStream::connect(server.address())).await.unwrap();
    within(stream.write_all(sent.as_bytes())).await.unwrap();
    stream
}

/// Everything that the server sends until it closes the connection.
async fn until_closed(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset is an end, too.
    let _ = within(stream.read_to_end(&mut bytes)).await;
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn a_client_that_does_not_finish_its_head_is_disconnected() {
    let server = Project::handbook().http(&[], &IMPATIENT);
    for sent in ["", "G", HALF_A_HEAD] {
        let mut stream = connect(&server, sent).await;
        assert_eq!(until_closed(&mut stream).await, "", "{sent:?}");
    }
    let mut second = connect(&server, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET").await;
    assert!(until_closed(&mut second).await.ends_with("ok\n"), "one answer, and then the end");
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let server = Project::handbook().http(&[], &IMPATIENT);
    let mut stream = connect(&server, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").await;
    let answer = until_closed(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(!answer.contains("connection: close"), "it could have been used again: {answer}");
}

#[tokio::test]
async fn a_body_that_drips_is_refused() {
    let server = Project::handbook().http(&[], &IMPATIENT);
    for path in ["/api/v1/agents", "/mcp", "/ingest"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: 100000\r\n\r\n"
        );
        let (mut reader, mut writer) = connect(&server, &head).await.into_split();
        let drip = tokio::spawn(async move {
            while writer.write_all(b" ").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        let mut bytes = Vec::new();
        let _ = within(reader.read_to_end(&mut bytes)).await;
        let answer = String::from_utf8(bytes).unwrap();
        assert!(answer.starts_with("HTTP/1.1 408"), "{path}: {answer:?}");
        within(drip).await.unwrap();
    }
}

async fn subscribe(client: &Client) -> (String, Subscription) {
    let uri = within(client.list_all_resources()).await.unwrap()[0].uri.clone();
    let filter = SubscriptionFilter::builder().resource_subscription(&uri).build();
    (uri, within(client.listen(filter)).await.unwrap())
}

#[tokio::test]
async fn the_stream_of_an_mcp_client_is_not_idle() {
    let project = Project::with(&[("a.md", "# A\n")]);
    let server = project.http(&[], &IMPATIENT);
    let client = server.modern_client().await;
    let (uri, mut subscription) = subscribe(&client).await;
    // Longer than any deadline.
    tokio::time::sleep(Duration::from_secs(4)).await;
    project.write("a.md", "# A\nnew\n");
    let updated = within(subscription.next()).await.unwrap().unwrap();
    assert!(
        matches!(updated, ServerNotification::ResourceUpdatedNotification(n) if n.params.uri == uri)
    );
    within(client.cancel()).await.unwrap();
}

/// A server that may open so many files.
fn with_open_files(project: &Project, limit: u32) -> Server {
    let mut command = Command::new("sh");
    project.isolate(&mut command);
    let script = format!("ulimit -n {limit}; exec \"$@\"");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_kenning"), "--root"]);
    Server::start(command.arg(project.root()).args(["serve", "--http", "127.0.0.1:0"]))
}

#[tokio::test]
async fn three_hundred_half_sent_requests_block_nobody() {
    let project = Project::handbook();
    let server = with_open_files(&project, 128);
    let mut half_open = Vec::new();
    for _ in 0..300 {
        half_open.push(connect(&server, HALF_A_HEAD).await);
    }
    for path in ["/healthz", "/readyz", SEARCH] {
        // A connection of its own for each.
        let request = server.request(Method::GET, path).header("Connection", "close");
        let answer = Answer::to(request).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
    }
    drop(half_open);
    let log = server.stop().await;
    assert!(log.contains("too many connections"), "{log}");
    assert!(!log.contains("could not be accepted"), "descriptors are left over: {log}");
}

#[tokio::test]
async fn probes_are_answered_when_all_connections_are_at_work() {
    let project = Project::with(&[("a.md", "# A\n")]);
    let server = project.http(&[], &[("KENNING_SERVER_MAX_CONNECTIONS", "2")]);
    let (one, other) = (server.modern_client().await, server.modern_client().await);
    let _streams = (subscribe(&one).await, subscribe(&other).await);
    let agents = async || server.get("/api/v1/agents").await;
    // The client's own connections are idle for a moment before they make room.
    let refused = eventually(DEADLINE, async || {
        Some(agents().await).filter(|answer| answer.status == StatusCode::SERVICE_UNAVAILABLE)
    });
    let refused = refused.await;
    assert!(refused.text.contains("all connections of this server are in use"), "{refused:?}");
    assert_eq!(refused.header("connection"), "close");
    assert!(!refused.header("retry-after").is_empty());
    for path in ["/healthz", "/readyz"] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text);
    }
    within(one.cancel()).await.unwrap();
    let served = async || Some(agents().await).filter(|answer| answer.status == StatusCode::OK);
    eventually(DEADLINE, served).await;
    within(other.cancel()).await.unwrap();
}

#[tokio::test]
async fn half_sent_requests_do_not_delay_the_end_of_a_server() {
    let project = Project::with(&[("a.md", "# A\n")]);
    let server = project.http(&[], &[("KENNING_SERVER_HEAD_TIMEOUT_SECONDS", "3600")]);
    let _half_open = connect(&server, HALF_A_HEAD).await;
    let log = server.stop().await;
    assert!(!log.contains("the grace period is over"), "{log}");
}

#[tokio::test]
async fn a_deadline_of_zero_is_refused() {
    let project = Project::with(&[("a.md", "# A\n")]);
    let mut command = project.kenning(&["serve", "--http", "127.0.0.1:0"]);
    command.env("KENNING_SERVER_HEAD_TIMEOUT_SECONDS", "0");
    let refused = crate::server::support::finished(&mut command);
    refused.fails_with(&["server.head_timeout_seconds", "1 to 86400"]);
}
