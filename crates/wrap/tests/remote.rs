//! Servers at an address: one that is made to be difficult, and a real one.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod support;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, StatusCode};
use serde_json::{Value, json};
use support::{Process, call, list, program, servers};

/// What the server has seen.
type Seen = Arc<Mutex<Vec<(Method, HeaderMap, Value)>>>;

/// A server that answers each method in another way.
async fn difficult(
    State(seen): State<Seen>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response<Body>, Infallible> {
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let resumed = headers.get("last-event-id").is_some_and(|id| id == "e7");
    let named = headers.get("mcp-session-id").cloned();
    seen.lock().unwrap().push((method.clone(), headers, message.clone()));
    let session = format!("s-{}", 1 + count(&seen, "forget/me"));
    let kind = "application/json";
    if method == Method::POST && message.is_null() {
        return Ok(reply(StatusCode::BAD_REQUEST, kind, GARBLED.to_owned()));
    }
    if named.is_some_and(|named| named != session.as_str()) && message["method"] != "forget/me" {
        return Ok(reply(StatusCode::NOT_FOUND, kind, FORGOTTEN.to_owned()));
    }
    if let Some(batch) = message.as_array() {
        return Ok(several(batch));
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
        (_, "has/moved") => {
            let mut response = reply(StatusCode::PERMANENT_REDIRECT, "text/plain", String::new());
            response.headers_mut().insert("location", "http://localhost:1/mcp".parse().unwrap());
            response
        }
        (_, "is/big") => json(result(json!(big())).to_string()),
        (_, "is/big/too") => {
            let data = format!("data: {}\n\n", result(json!(big())));
            reply(StatusCode::OK, "text/event-stream", data)
        }
        (_, "forget/me") => json(result(json!({})).to_string()),
        (_, "is/ill") => reply(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", "ouch".into()),
        (_, "tools/call") => {
            json(result(json!({"arguments": message["params"]["arguments"]})).to_string())
        }
        _ => reply(StatusCode::ACCEPTED, "text/plain", String::new()),
    })
}

const GARBLED: &str =
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what is that?"}}"#;
const FORGOTTEN: &str =
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#;

/// More than a message can hold.
fn big() -> String {
    "x".repeat(65 * 1024 * 1024)
}

fn count(seen: &Seen, method: &str) -> usize {
    seen.lock().unwrap().iter().filter(|(_, _, message)| message["method"] == method).count()
}

/// Answers to several messages: as they come if the first says so, at once otherwise.
fn several(batch: &[Value]) -> Response<Body> {
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

/// Serves on a thread for as long as the test runs.
fn serve() -> (String, Seen) {
    let seen = Seen::default();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let app = Router::new().fallback(difficult).with_state(seen.clone());
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            axum::serve(listener, app).await.unwrap();
        });
    });
    (url, seen)
}

fn front(url: &str) -> Process {
    let mut command = Command::new(program());
    Process::start(command.args(["url", url]))
}

fn request(id: u64, method: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method})
}

#[test]
fn every_way_of_answering_becomes_a_line() {
    let (url, seen) = serve();
    let mut process = front(&url);
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
    let moved = process.ask(&request(7, "has/moved"));
    let said = moved["error"]["message"].as_str().unwrap();
    assert!(said.starts_with("the server answered 308"), "not followed to another host: {said}");
    let asked = call(6, "mcpeye_request_capability", &json!({"capability": "x"}));
    assert_eq!(process.ask(&asked)["result"], kenning_gaps::contract::acknowledgement());
    assert!(process.close().success());

    let seen = seen.lock().unwrap();
    assert!(seen.iter().all(|(_, headers, _)| headers["x-test"] == "yes"));
    assert!(seen.iter().skip(1).all(|(_, headers, _)| headers["mcp-session-id"] == "s-1"));
    assert!(
        seen.iter().skip(1).all(|(_, headers, _)| headers["mcp-protocol-version"] == "2025-06-18")
    );
    assert_eq!(seen.last().unwrap().0, Method::DELETE, "the session is closed");
    assert!(
        seen.iter().all(|(_, _, message)| message["params"]["name"] != "mcpeye_request_capability")
    );
}

#[test]
fn several_messages_at_once_are_all_answered() {
    let (url, _) = serve();
    let mut process = front(&url);
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
fn what_the_server_says_of_garbage_is_passed_on() {
    let (url, _) = serve();
    let mut process = front(&url);
    process.send("{ this is no message");
    assert_eq!(process.line(), format!("{GARBLED}\n"));
    assert!(process.close().success());
}

#[test]
fn a_session_that_the_server_forgot_is_opened_anew() {
    let (url, seen) = serve();
    let mut process = front(&url);
    process.initialize();
    process.ask(&request(1, "forget/me"));
    let calls: Vec<String> =
        (2..30).map(|id| call(id, "a", &json!({"x": id})).to_string()).collect();
    for line in process.pipeline(&calls) {
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["result"]["arguments"]["x"], answer["id"], "{answer}");
    }
    process.ask(&request(30, "forget/me"));
    process.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
    assert_eq!(process.ask(&call(31, "a", &json!({"x": 1})))["result"]["arguments"]["x"], 1);
    assert!(process.close().success());
    assert_eq!(count(&seen, "initialize"), 3, "once by the client, and once for each loss");
    let seen = seen.lock().unwrap();
    let openings: Vec<_> = seen.iter().filter(|(_, _, m)| m["method"] == "initialize").collect();
    assert!(openings.iter().all(|(_, headers, message)| {
        !headers.contains_key("mcp-session-id") && message == &openings[0].2
    }));
    let (method, headers, _) = seen.last().unwrap();
    assert_eq!((method, &headers["mcp-session-id"]), (&Method::DELETE, &"s-3".parse().unwrap()));
}

#[test]
fn what_is_too_big_is_an_error() {
    let (url, _) = serve();
    let mut process = front(&url);
    for (id, method) in [(1, "is/big"), (2, "is/big/too")] {
        let answer = process.ask(&request(id, method));
        let said = &answer["error"]["message"];
        assert_eq!(said, "the server's answer is larger than 64 MiB");
    }
    process.send(&format!("\"{}\"", big()));
    let refused: Value = serde_json::from_str(&process.line()).unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32600)));
    assert_eq!(process.ask(&call(3, "a", &json!({"x": 1})))["result"]["arguments"]["x"], 1);
    assert!(process.close().success());
}

#[test]
fn newer_requests_say_in_their_headers_what_they_are() {
    let (url, seen) = serve();
    let mut process = front(&url);
    let mut called = call(1, "größe", &json!({}));
    called["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    process.ask(&called);
    assert!(process.close().success());
    let seen = seen.lock().unwrap();
    let [(_, headers, _)] = &seen[..] else { panic!("no session, no farewell") };
    assert_eq!(headers["mcp-protocol-version"], "2026-07-28");
    assert_eq!(headers["mcp-method"], "tools/call");
    assert_eq!(headers["mcp-name"], "=?base64?Z3LDtsOfZQ==?=");
}

#[test]
fn an_address_that_nobody_answers_is_an_error_for_the_request() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let mut process = front(&url);
    let answer = process.ask(&request(1, "ping"));
    assert_eq!(answer["error"]["code"], -32000);
    assert!(process.close().success());
    let refused =
        Command::new(program()).args(["url", "ftp://x/"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

/// The real server, ended with the test.
struct Everything(Child);

impl Drop for Everything {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn everything() -> (Everything, String) {
    let command = servers().everything();
    // The server cannot choose a port by itself; one that was free a moment ago will do.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = Command::new(&command[0]);
    server.args(&command[1..]).arg("streamableHttp").env("PORT", port.to_string());
    let server = Everything(server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    (server, format!("http://127.0.0.1:{port}/mcp"))
}

#[test]
fn a_real_server_answers_a_thousand_calls() {
    let (_server, url) = everything();
    let mut process = front(&url);
    process.initialize();
    let lines: Vec<String> = (1..=1_000)
        .map(|id| {
            call(id, "echo", &json!({"message": id.to_string(), "mcpeyeIntent": "x"})).to_string()
        })
        .collect();
    let mut answers: BTreeMap<u64, Value> = BTreeMap::new();
    let mut input = process.input.take().unwrap();
    let sender = std::thread::spawn(move || {
        use std::io::Write;
        input.write_all((lines.join("\n") + "\n").as_bytes()).unwrap();
        input
    });
    while answers.len() < 1_000 {
        let message: Value = serde_json::from_str(&process.line()).unwrap();
        if let Some(id) = message["id"].as_u64().filter(|_| message.get("method").is_none()) {
            answers.insert(id, message);
        }
    }
    for (id, answer) in answers {
        assert_eq!(answer["result"]["content"][0]["text"], format!("Echo: {id}"));
    }
    process.input = Some(sender.join().unwrap());
    assert!(process.close().success());
}
