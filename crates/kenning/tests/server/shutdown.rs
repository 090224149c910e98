//! How a server stops: requests in flight are answered first.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use kenning_testkit::jsonrpc;
use reqwest::StatusCode;
use rmcp::model::SubscriptionFilter;
use serde_json::json;

use crate::server::monitoring::readiness_becomes;
use crate::server::support::{DEADLINE, Project, Server, call, eventually, within};

/// Longer than the deadline: a test that waits for it fails.
const FOREVER: &str = "86400";

fn server(variables: &[(&str, &str)]) -> Server {
    let grace = [("KENNING_SERVER_GRACE_SECONDS", FOREVER)];
    Project::handbook().http(&[], &[&grace, variables].concat())
}

/// A request in flight: the server has asked for the body, which is not sent yet.
struct InFlight {
    stream: BufReader<TcpStream>,
    body: String,
}

impl InFlight {
    fn start(server: &Server, path: &str, body: String) -> Self {
        let mut stream = server.connect();
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

#[tokio::test]
async fn requests_in_flight_are_answered_before_the_server_stops() {
    let server = server(&[]);
    let agent = json!({"name": format!("in flight {}", std::process::id())}).to_string();
    let rest = InFlight::start(&server, "/api/v1/agents", agent);
    let search = jsonrpc::call_tool(7, "search_knowledge", &json!({"query": "sessions"}));
    let mcp = InFlight::start(&server, "/mcp", search.to_string());
    server.terminate();
    eventually(DEADLINE, async || TcpStream::connect(server.address()).is_err().then_some(()))
        .await;
    let (rest, mcp) = (rest.finish(), mcp.finish());
    assert!(rest.starts_with("HTTP/1.1 201 Created"), "{rest}");
    assert!(mcp.starts_with("HTTP/1.1 200 OK"), "{mcp}");
    assert!(mcp.contains("\"id\":7") && mcp.contains("results"), "{mcp}");
    let (status, log) = server.wait().await;
    assert_eq!(status.code(), Some(0), "{log}");
}

#[tokio::test]
async fn a_request_that_never_ends_is_aborted_after_the_grace_period() {
    let server = server(&[("KENNING_SERVER_GRACE_SECONDS", "0")]);
    let stuck = InFlight::start(&server, "/api/v1/agents", "{}".to_owned());
    server.stop().await;
    drop(stuck);
}

#[tokio::test]
async fn subscription_streams_end_when_the_server_stops() {
    let server = server(&[]);
    let client = server.modern_client().await;
    let filter = SubscriptionFilter::builder().resources_list_changed();
    let mut subscription = within(client.listen(filter.build())).await.unwrap();
    eventually(DEADLINE, async || {
        let metrics = server.get("/metrics").await.text;
        metrics.contains("\nkenning_mcp_listeners 1\n").then_some(())
    })
    .await;
    server.terminate();
    while within(subscription.next()).await.is_ok_and(|message| message.is_some()) {}
    let (status, log) = server.wait().await;
    assert_eq!(status.code(), Some(0), "{log}");
    drop(client);
}

#[tokio::test]
async fn a_draining_server_answers_but_is_not_ready_and_a_second_signal_ends_it() {
    let server = server(&[("KENNING_SERVER_DRAIN_SECONDS", FOREVER)]);
    readiness_becomes(&server, StatusCode::OK).await;
    server.terminate();
    let draining = readiness_becomes(&server, StatusCode::SERVICE_UNAVAILABLE).await;
    assert_eq!(draining["waiting_for"], json!(["stopping"]));
    let stopping = json!({"ready": false, "reason": "the server is stopping"});
    assert_eq!(draining["parts"]["stopping"], stopping);
    let answered = server.get("/api/v1/agents").await;
    assert_eq!(answered.status, StatusCode::OK);
    assert_eq!(answered.header("connection"), "close");
    assert_eq!(server.get("/healthz").await.status, StatusCode::OK);
    server.terminate();
    let (status, log) = server.wait().await;
    assert_eq!(status.code(), Some(130), "{log}");
}

#[tokio::test]
async fn calls_recorded_last_are_stored_before_the_server_stops() {
    let project = Project::private_handbook();
    let server = project.http(&[], &[]);
    let client = server.client().await;
    call(&client, "search_knowledge", json!({"query": "sessions"})).await;
    within(client.cancel()).await.unwrap();
    server.stop().await;
    let report = project.json(&["gaps", "report", "--since", "1d"]);
    assert_eq!(report["calls"], 1, "{report}");
}
