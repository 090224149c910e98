//! How a server ends: whoever it works for gets an answer first.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;

use reqwest::StatusCode;
use rmcp::model::SubscriptionFilter;
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{HttpServer, call, handbook, kenning, modern};
use crate::running::readiness_becomes;

/// So long that a test that waits for it never ends.
const FOREVER: &str = "86400";

fn server(variables: &[(&str, &str)]) -> HttpServer {
    let mut command = kenning(&handbook(), &["--http", "127.0.0.1:0"]);
    command.env("KENNING_SERVER_GRACE_SECONDS", FOREVER).envs(variables.iter().copied());
    HttpServer::run(command)
}

/// A request that the server works on: it has asked for the body, which is still to be sent.
struct UnderWay {
    stream: BufReader<TcpStream>,
    body: String,
}

impl UnderWay {
    fn begin(server: &HttpServer, path: &str, body: String) -> Self {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n\
             Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n",
            server.address()
        )
        .unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        assert_eq!(line, "HTTP/1.1 100 Continue\r\n");
        Self { stream, body }
    }

    fn finish(mut self) -> String {
        self.stream.get_mut().write_all(self.body.as_bytes()).unwrap();
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).unwrap();
        answer.trim_start().to_owned()
    }
}

/// Until the port is closed.
fn wait_until_nobody_is_let_in(server: &HttpServer) {
    while TcpStream::connect(server.address()).is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn requests_under_way_are_answered_before_the_server_ends() {
    let server = server(&[]);
    let agent = json!({"name": format!("under way {}", std::process::id())}).to_string();
    let rest = UnderWay::begin(&server, "/api/v1/agents", agent);
    let question = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": {"name": "search_knowledge", "arguments": {"query": "sessions"}}});
    let mcp = UnderWay::begin(&server, "/mcp", question.to_string());
    server.terminate();
    wait_until_nobody_is_let_in(&server);
    let (rest, mcp) = (rest.finish(), mcp.finish());
    assert!(rest.starts_with("HTTP/1.1 201 Created"), "{rest}");
    assert!(mcp.starts_with("HTTP/1.1 200 OK"), "{mcp}");
    assert!(mcp.contains("\"id\":7") && mcp.contains("results"), "{mcp}");
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn a_request_that_never_ends_is_given_up() {
    let server = server(&[("KENNING_SERVER_GRACE_SECONDS", "0")]);
    let stuck = UnderWay::begin(&server, "/api/v1/agents", "{}".to_owned());
    server.terminate();
    let (status, _) = server.ended();
    assert_eq!(status.code(), Some(0));
    drop(stuck);
}

#[tokio::test]
async fn streams_that_would_last_forever_end() {
    let server = server(&[]);
    let transport = StreamableHttpClientTransport::from_uri(server.url.as_str());
    let client = rmcp::service::serve_client_with_lifecycle((), transport, modern()).await.unwrap();
    let filter = SubscriptionFilter::builder().resources_list_changed();
    let mut subscription = client.listen(filter.build()).await.unwrap();
    let listening = async || {
        let figures = reqwest::get(server.page("/metrics")).await.unwrap().text().await.unwrap();
        figures.contains("\nkenning_mcp_listeners 1\n")
    };
    while !listening().await {}
    server.terminate();
    while subscription.next().await.is_ok_and(|message| message.is_some()) {}
    let (status, log) = tokio::task::spawn_blocking(move || server.ended()).await.unwrap();
    assert_eq!(status.code(), Some(0), "{log}");
    drop(client);
}

#[tokio::test]
async fn while_it_drains_it_answers_but_sends_others_elsewhere_and_a_second_signal_ends_it() {
    let server = server(&[("KENNING_SERVER_DRAIN_SECONDS", FOREVER)]);
    readiness_becomes(&server, StatusCode::OK).await;
    server.terminate();
    let draining = readiness_becomes(&server, StatusCode::SERVICE_UNAVAILABLE).await;
    assert_eq!(draining, json!({"ready": false, "waiting_for": ["stopping"]}));
    let answered = reqwest::get(server.page("/api/v1/agents")).await.unwrap();
    assert_eq!(answered.status(), StatusCode::OK);
    assert_eq!(answered.headers()["connection"], "close");
    assert_eq!(reqwest::get(server.page("/healthz")).await.unwrap().status(), StatusCode::OK);
    server.terminate();
    let (status, log) = server.ended();
    assert_eq!(status.code(), Some(130), "{log}");
}

#[tokio::test]
async fn what_was_heard_last_is_kept() {
    let home = TempDir::new().unwrap();
    let server = HttpServer::with_home(&handbook(), home.path());
    let client = server.client().await;
    call(&client, "search_knowledge", json!({"query": "sessions"})).await;
    client.cancel().await.unwrap();
    server.terminate();
    let (status, log) = server.ended();
    assert!(status.success(), "{log}");
    let mut report = Command::new(env!("CARGO_BIN_EXE_kenning"));
    report.args(["--json", "gaps", "report", "--since", "1d"]).current_dir(home.path());
    report.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    let report = report.output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(report["calls"], 1, "{report}");
}
