//! A server at a URL that answers each method in another way.

use std::convert::Infallible;
use std::process::Command;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::support::{self, call, list, program, remote};

/// The requests that the server got.
type Requests = Arc<Mutex<Vec<(Method, HeaderMap, Value)>>>;

async fn difficult(
    State(requests): State<Requests>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response<Body>, Infallible> {
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let resumed = headers.get("last-event-id").is_some_and(|id| id == "e7");
    let named = headers.get("mcp-session-id").cloned();
    requests.lock().unwrap().push((method.clone(), headers, message.clone()));
    let session = format!("s-{}", 1 + count(&requests, "lose/session"));
    let kind = "application/json";
    if method == Method::POST && message.is_null() {
        return Ok(reply(StatusCode::BAD_REQUEST, kind, INVALID.to_owned()));
    }
    if named.is_some_and(|named| named != session.as_str()) && message["method"] != "lose/session" {
        return Ok(reply(StatusCode::NOT_FOUND, kind, SESSION_LOST.to_owned()));
    }
    if let Some(batch) = message.as_array() {
        return Ok(batch_reply(batch));
    }
    let id = &message["id"];
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    let json = |body: String| reply(StatusCode::OK, "application/json", body);
    Ok(match (method.as_str(), message["method"].as_str().unwrap_or_default()) {
        ("GET", _) if resumed => reply(
            StatusCode::OK,
            "text/event-stream",
            "data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"late\":true}}\n\n".into(),
        ),
        ("GET", _) => reply(StatusCode::METHOD_NOT_ALLOWED, "text/plain", String::new()),
        ("DELETE", _) => reply(StatusCode::OK, "text/plain", String::new()),
        (_, "initialize") => {
            let body = format!(
                "{:#}",
                result(
                    json!({"protocolVersion": "2025-06-18", "serverInfo": {"name": "s", "version": "1"}})
                )
            );
            let mut response = json(body);
            response.headers_mut().insert("mcp-session-id", session.parse().unwrap());
            response
        }
        (_, "tools/list") => {
            let progress = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n";
            let listed = result(json!({"tools": [{"name": "a", "inputSchema": {}}]}));
            reply(StatusCode::OK, "text/event-stream", format!("{progress}data: {listed}\n\n"))
        }
        (_, "breaks/off") => {
            reply(StatusCode::OK, "text/event-stream", "retry: 1\nid: e7\ndata:\n\n".into())
        }
        (_, "no/such") => reply(
            StatusCode::NOT_FOUND,
            "application/json",
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32601,\"message\":\"no\"}}"
                .into(),
        ),
        (_, "is/big") => json(result(json!(big())).to_string()),
        (_, "is/big/too") => {
            let data = format!("data: {}\n\n", result(json!(big())));
            reply(StatusCode::OK, "text/event-stream", data)
        }
        (_, "lose/session") => json(result(json!({})).to_string()),
        (_, "is/ill") => reply(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", "ouch".into()),
        (_, "tools/call") => {
            json(result(json!({"arguments": message["params"]["arguments"]})).to_string())
        }
        _ => reply(StatusCode::ACCEPTED, "text/plain", String::new()),
    })
}

const INVALID: &str =
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what is that?"}}"#;
const SESSION_LOST: &str =
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#;

/// More than a message may hold.
fn big() -> String {
    "x".repeat(65 * 1024 * 1024)
}

fn count(requests: &Requests, method: &str) -> usize {
    requests.lock().unwrap().iter().filter(|(_, _, message)| message["method"] == method).count()
}

/// Answers to a batch: one event each if its first method is `in/turn`, one body otherwise.
fn batch_reply(batch: &[Value]) -> Response<Body> {
    let requests = batch.iter().filter(|message| message.get("id").is_some());
    let answers = requests.filter(|message| message["method"] != "no/answer").map(
        |message| json!({"jsonrpc": "2.0", "id": message["id"], "result": {"echo": message["method"]}}),
    );
    if batch[0]["method"] == "in/turn" {
        let events: Vec<String> = answers.map(|answer| format!("data: {answer}\n\n")).collect();
        return reply(StatusCode::OK, "text/event-stream", events.concat());
    }
    let answers: Vec<Value> = answers.collect();
    reply(StatusCode::OK, "application/json", format!("{:#}", json!(answers)))
}

fn reply(status: StatusCode, kind: &str, body: String) -> Response<Body> {
    Response::builder().status(status).header("content-type", kind).body(Body::from(body)).unwrap()
}

fn serve() -> (String, Requests) {
    let requests = Requests::default();
    let shared = requests.clone();
    let base = support::serve(|_| Router::new().fallback(difficult).with_state(shared));
    (format!("{base}/mcp"), requests)
}

fn request(id: u64, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method})
}

#[test]
fn every_kind_of_response_becomes_a_line() {
    let (url, requests) = serve();
    let mut process = remote(&url);
    assert_eq!(process.initialize()["result"]["serverInfo"]["name"], "s");
    process.send(&list(1).to_string());
    assert_eq!(process.line(), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n");
    let listed: Value = serde_json::from_str(&process.line()).unwrap();
    let names: Vec<&Value> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|t| &t["name"]).collect();
    assert_eq!(names, ["a", "mcpeye_request_capability"]);
    let called = process.ask(&call(2, "a", &json!({"x": 1, "mcpeyeIntent": "why"})));
    assert_eq!(called["result"]["arguments"], json!({"x": 1}));
    assert_eq!(process.ask(&request(3, "breaks/off"))["result"]["late"], true);
    assert_eq!(process.ask(&request(4, "no/such"))["error"]["code"], -32601);
    let ill = process.ask(&request(5, "is/ill"));
    assert_eq!(ill["error"]["message"], "the server answered 500 Internal Server Error: ouch");
    let asked = call(6, "mcpeye_request_capability", &json!({"capability": "x"}));
    assert_eq!(process.ask(&asked)["result"], kenning_gaps::contract::acknowledgement());
    assert!(process.close().success());

    let requests = requests.lock().unwrap();
    assert!(requests.iter().all(|(_, headers, _)| headers["x-test"] == "yes"));
    assert!(requests.iter().skip(1).all(|(_, headers, _)| headers["mcp-session-id"] == "s-1"));
    assert!(
        requests
            .iter()
            .skip(1)
            .all(|(_, headers, _)| headers["mcp-protocol-version"] == "2025-06-18")
    );
    assert_eq!(requests.last().unwrap().0, Method::DELETE, "the session is closed");
    assert!(
        requests
            .iter()
            .all(|(_, _, message)| message["params"]["name"] != "mcpeye_request_capability")
    );
}

#[test]
fn every_request_of_a_batch_is_answered() {
    let (url, _) = serve();
    let mut process = remote(&url);
    process.send(
        &json!([request(1, "a"), {"jsonrpc": "2.0", "method": "b"}, request(2, "c")]).to_string(),
    );
    let answers: Value = serde_json::from_str(&process.line()).unwrap();
    assert_eq!(answers[0]["result"]["echo"], "a");
    assert_eq!(answers[1]["id"], 2);
    process.send(&json!([request(3, "in/turn"), request(4, "x")]).to_string());
    for id in [3, 4] {
        let answer: Value = serde_json::from_str(&process.line()).unwrap();
        assert_eq!(answer["id"], id);
    }
    process.send(&json!([request(5, "in/turn"), request(6, "no/answer")]).to_string());
    let answer: Value = serde_json::from_str(&process.line()).unwrap();
    assert_eq!(answer["id"], 5);
    let failure: Value = serde_json::from_str(&process.line()).unwrap();
    assert_eq!((&failure["id"], &failure["error"]["code"]), (&json!(6), &json!(-32000)));
    assert!(process.close().success());
}

#[test]
fn the_servers_answer_to_invalid_json_is_forwarded() {
    let (url, _) = serve();
    let mut process = remote(&url);
    process.send("{ this is no message");
    assert_eq!(process.line(), format!("{INVALID}\n"));
    assert!(process.close().success());
}

#[test]
fn a_session_that_the_server_lost_is_reopened() {
    let (url, requests) = serve();
    let mut process = remote(&url);
    process.initialize();
    process.ask(&request(1, "lose/session"));
    let calls: Vec<String> =
        (2..30).map(|id| call(id, "a", &json!({"x": id})).to_string()).collect();
    for line in process.pipeline(&calls) {
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["result"]["arguments"]["x"], answer["id"], "{answer}");
    }
    process.ask(&request(30, "lose/session"));
    process.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
    assert_eq!(process.ask(&call(31, "a", &json!({"x": 1})))["result"]["arguments"]["x"], 1);
    assert!(process.close().success());
    assert_eq!(count(&requests, "initialize"), 3, "once by the client, and once for each loss");
    let requests = requests.lock().unwrap();
    let openings: Vec<_> =
        requests.iter().filter(|(_, _, m)| m["method"] == "initialize").collect();
    assert!(openings.iter().all(|(_, headers, message)| {
        !headers.contains_key("mcp-session-id") && message == &openings[0].2
    }));
    let (method, headers, _) = requests.last().unwrap();
    assert_eq!((method, &headers["mcp-session-id"]), (&Method::DELETE, &"s-3".parse().unwrap()));
}

#[test]
fn a_message_that_is_too_large_is_an_error() {
    let (url, _) = serve();
    let mut process = remote(&url);
    for (id, method) in [(1, "is/big"), (2, "is/big/too")] {
        let answer = process.ask(&request(id, method));
        assert_eq!(answer["error"]["message"], "the server's answer is larger than 64 MiB");
    }
    process.send(&format!("\"{}\"", big()));
    let refused: Value = serde_json::from_str(&process.line()).unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)));
    assert_eq!(process.ask(&call(3, "a", &json!({"x": 1})))["result"]["arguments"]["x"], 1);
    assert!(process.close().success());
}

#[test]
fn newer_requests_repeat_method_and_name_in_headers() {
    let (url, requests) = serve();
    let mut process = remote(&url);
    let mut called = call(1, "größe", &json!({}));
    called["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    process.ask(&called);
    assert!(process.close().success());
    let requests = requests.lock().unwrap();
    let [(_, headers, _)] = &requests[..] else { panic!("one request, and no session to close") };
    assert_eq!(headers["mcp-protocol-version"], "2026-07-28");
    assert_eq!(headers["mcp-method"], "tools/call");
    assert_eq!(headers["mcp-name"], "=?base64?Z3LDtsOfZQ==?=");
}

#[test]
fn a_server_that_is_not_there_is_an_error_for_each_request() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let mut process = remote(&url);
    let answer = process.ask(&request(1, "ping"));
    assert_eq!(answer["error"]["code"], -32000);
    assert!(process.close().success());
    let refused = kenning_testkit::output(Command::new(program()).args(["url", "ftp://x/"]));
    assert_eq!(refused.status.code(), Some(2));
}
