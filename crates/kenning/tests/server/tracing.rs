//! Spans as a collector receives them.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use kenning_testkit::jsonrpc;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::server::support::{Answer, Project, Server, call, connect, within};

/// One export: its headers and its bytes.
type Export = (HeaderMap, Bytes);

struct Collector {
    endpoint: String,
    exports: UnboundedReceiver<Export>,
    /// All that was received, to search for what must not be in it.
    bytes: Vec<u8>,
    spans: Vec<Span>,
    resource: Vec<KeyValue>,
    headers: HeaderMap,
}

async fn receive(State(sender): State<UnboundedSender<Export>>, headers: HeaderMap, body: Bytes) {
    sender.send((headers, body)).unwrap();
}

impl Collector {
    async fn start() -> Self {
        let (sender, exports) = unbounded_channel();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let routes = Router::new().route("/v1/traces", post(receive)).with_state(sender);
        tokio::spawn(async { axum::serve(listener, routes).await });
        Self {
            endpoint,
            exports,
            bytes: Vec::new(),
            spans: Vec::new(),
            resource: Vec::new(),
            headers: HeaderMap::new(),
        }
    }

    /// Waits for a span of this name.
    async fn span(&mut self, name: &str) -> Span {
        loop {
            if let Some(span) = self.spans.iter().find(|span| span.name == name) {
                return span.clone();
            }
            let (headers, body) = within(self.exports.recv()).await.unwrap();
            self.headers = headers;
            self.bytes.extend_from_slice(&body);
            for exported in ExportTraceServiceRequest::decode(body).unwrap().resource_spans {
                self.resource = exported.resource.unwrap().attributes;
                self.spans.extend(exported.scope_spans.into_iter().flat_map(|scope| scope.spans));
            }
        }
    }
}

fn attribute(attributes: &[KeyValue], name: &str) -> Value {
    let found = attributes.iter().find(|attribute| attribute.key == name);
    let value = found.and_then(|found| found.value.clone()?.value);
    match value {
        Some(Any::StringValue(text)) => text.into(),
        Some(Any::IntValue(number)) => number.into(),
        None => Value::Null,
        other => panic!("{name}: {other:?}"),
    }
}

/// A server that exports to this endpoint without delay.
fn traced(endpoint: &str, args: &[&str], variables: &[(&str, &str)]) -> Server {
    let exporter = [("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint), ("OTEL_BSP_SCHEDULE_DELAY", "50")];
    Project::handbook().http(args, &[&exporter, variables].concat())
}

async fn ask(server: &Server, tool: &str, arguments: Value, traceparent: &str) -> String {
    let request = server.http.post(server.url("/mcp")).header("traceparent", traceparent);
    let request = request.header("Content-Type", "application/json");
    let request = request.header("Accept", "application/json, text/event-stream");
    Answer::to(request.body(jsonrpc::call_tool(1, tool, &arguments).to_string())).await.text
}

async fn list_bases(server: &Server) {
    let answer = ask(server, "list_knowledge_bases", json!({}), "").await;
    assert!(answer.contains("result"), "{answer}");
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

#[tokio::test]
async fn every_call_is_exported_as_a_span_in_its_callers_trace() {
    let mut collector = Collector::start().await;
    let variables = [
        ("OTEL_SERVICE_NAME", "kenning-of-the-tests"),
        ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-collector-key=abc"),
    ];
    let server = traced(&collector.endpoint, &[], &variables);
    let traceparent = format!("00-{TRACE}-{CALLER}-01");
    let asked = json!({"query": "zebracorn sessions"});
    let answer = ask(&server, "search_knowledge", asked, &traceparent).await;
    assert!(answer.contains("results"), "{answer}");
    let request = collector.span("POST /mcp").await;
    assert_eq!(hex(&request.trace_id), TRACE);
    assert_eq!(hex(&request.parent_span_id), CALLER);
    assert_eq!(attribute(&request.attributes, "http.request.method"), "POST");
    assert_eq!(attribute(&request.attributes, "http.route"), "/mcp");
    assert_eq!(attribute(&request.attributes, "http.response.status_code"), 200);
    let call = collector.span("tools/call search_knowledge").await;
    assert_eq!(hex(&call.trace_id), TRACE);
    assert_eq!(call.parent_span_id, request.span_id);
    assert_eq!(attribute(&call.attributes, "mcp.method.name"), "tools/call");
    assert_eq!(attribute(&call.attributes, "gen_ai.tool.name"), "search_knowledge");
    assert_eq!(call.status.clone().unwrap_or_default().code, 0, "{call:?}");
    assert!(call.end_time_unix_nano > call.start_time_unix_nano);
    assert_eq!(attribute(&collector.resource, "service.name"), "kenning-of-the-tests");
    assert_eq!(attribute(&collector.resource, "deployment.environment.name"), "test");
    assert_eq!(collector.headers["x-collector-key"], "abc");
    assert_eq!(collector.headers["content-type"], "application/x-protobuf");

    ask(&server, "retrieve_knowledge", json!({"ids": ["zebracorn"], "x": "zebracorn"}), "").await;
    let failed = collector.span("tools/call retrieve_knowledge").await;
    assert_eq!(attribute(&failed.attributes, "error.type"), "tool_error");
    assert_eq!(failed.status.clone().unwrap().code, 2, "{failed:?}");
    assert_ne!(hex(&failed.trace_id), TRACE);
    ask(&server, "zebracorn", json!({}), "").await;
    server.get("/zebracorn?q=zebracorn").await;
    collector.span("GET other").await;
    let leaked = collector.bytes.windows(9).any(|bytes| bytes == b"zebracorn");
    assert!(!leaked, "spans hold no text of clients");
}

#[tokio::test]
async fn calls_on_stdio_are_traced_as_well() {
    let mut collector = Collector::start().await;
    let mut command = Project::handbook().serve(&[]);
    command.env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", format!("{}/v1/traces", collector.endpoint));
    command.env("OTEL_BSP_SCHEDULE_DELAY", "50");
    let client = connect(command).await;
    call(&client, "list_knowledge_bases", json!({})).await;
    let span = collector.span("tools/call list_knowledge_bases").await;
    within(client.cancel()).await.unwrap();
    assert!(span.parent_span_id.is_empty());
}

#[tokio::test]
async fn the_last_spans_are_sent_when_the_server_stops() {
    let mut collector = Collector::start().await;
    let server = traced(&collector.endpoint, &[], &[("OTEL_BSP_SCHEDULE_DELAY", "86400000")]);
    list_bases(&server).await;
    server.stop().await;
    collector.span("tools/call list_knowledge_bases").await;
    assert_eq!(attribute(&collector.resource, "service.name"), "kenning");
}

#[tokio::test]
async fn an_unreachable_collector_costs_one_warning() {
    let endpoint = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://user:hunter2@{}", listener.local_addr().unwrap())
    };
    let server = traced(&endpoint, &["--log-level", "warn"], &[]);
    for _ in 0..20 {
        list_bases(&server).await;
        // Spans are exported every 50 ms: there are several exports that fail.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let log = server.stop().await;
    assert_eq!(log.matches("spans cannot be exported").count(), 1, "{log}");
    assert!(!log.contains("hunter2"), "{log}");
}

#[tokio::test]
async fn a_collector_that_never_answers_delays_no_request() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let server = traced(&endpoint, &[], &[("OTEL_EXPORTER_OTLP_TIMEOUT", "86400000")]);
    for _ in 0..3 {
        list_bases(&server).await;
    }
    let (_export, _) = within(silent.accept()).await.unwrap();
    list_bases(&server).await;
    server.stop().await;
}

#[tokio::test]
async fn an_unsupported_export_protocol_does_not_stop_the_server() {
    let grpc = [("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
    let server = traced("http://127.0.0.1:4317", &["--log-level", "warn"], &grpc);
    list_bases(&server).await;
    let log = server.kill().await;
    assert!(log.contains("grpc"), "{log}");
}

/// The names of the threads of a process.
#[cfg(target_os = "linux")]
fn threads(server: &Server) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.child.id())).unwrap();
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.collect()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn without_a_collector_no_exporter_is_started() {
    let is_exporter = |name: &String| name.starts_with("OpenTelemetry");
    let collector = Collector::start().await;
    let server = traced(&collector.endpoint, &[], &[]);
    assert!(threads(&server).iter().any(is_exporter), "{:?}", threads(&server));
    for variable in [("OTEL_SDK_DISABLED", "true"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "")] {
        let server = traced(&collector.endpoint, &[], &[variable]);
        assert!(!threads(&server).iter().any(is_exporter), "{:?}", threads(&server));
    }
}
