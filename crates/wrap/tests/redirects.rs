//! A server that sends us elsewhere: our headers, and what agents say, are for it alone.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod support;

use std::process::Command;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};
use support::{Process, program};

/// The path and headers of every request that came.
type Seen = Arc<Mutex<Vec<String>>>;

#[derive(Clone)]
struct Place {
    seen: Seen,
    /// Where to send whoever asks for `/mcp`.
    elsewhere: Option<(StatusCode, String)>,
}

async fn answer(State(place): State<Place>, request: Request) -> Response<Body> {
    let path = request.uri().path().to_owned();
    place.seen.lock().unwrap().push(format!("{path} {:?}", request.headers()));
    match place.elsewhere {
        Some((status, location)) if path == "/mcp" => {
            Response::builder().status(status).header("location", location).body(Body::empty())
        }
        _ => {
            let said = json!({"jsonrpc": "2.0", "id": 1, "result": {"at": path}});
            Response::builder()
                .header("content-type", "application/json")
                .body(Body::from(said.to_string()))
        }
    }
    .unwrap()
}

/// Serves on a thread for as long as the test runs.
fn serve(elsewhere: impl FnOnce(u16) -> Option<(StatusCode, String)>) -> (u16, Seen) {
    let seen = Seen::default();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let place = Place { seen: seen.clone(), elsewhere: elsewhere(port) };
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let app = Router::new().fallback(answer).with_state(place);
            axum::serve(listener, app).await.unwrap();
        });
    });
    (port, seen)
}

fn ask(port: u16) -> Value {
    let mut command = Command::new(program());
    let mut process =
        Process::start(command.args(["url", &format!("http://127.0.0.1:{port}/mcp")]));
    let said = process.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    assert!(process.close().success());
    said
}

#[test]
fn no_redirect_leads_to_another_host() {
    let (other, seen) = serve(|_| None);
    for status in [301, 302, 303, 307, 308].map(|code| StatusCode::from_u16(code).unwrap()) {
        for location in [
            format!("http://127.0.0.1:{other}/stolen"),
            format!("//127.0.0.1:{other}/stolen"),
            format!("http://localhost:{other}/stolen"),
            format!("http://me:pw@127.0.0.1:{other}/stolen"),
            "http://169.254.169.254/latest/meta-data".to_owned(),
            "file:///etc/passwd".to_owned(),
        ] {
            let (port, _) = serve(|_| Some((status, location.clone())));
            let said = ask(port);
            let message = said["error"]["message"].as_str().unwrap_or_default();
            assert!(message.starts_with("the server answered 3"), "{status} {location}: {said}");
        }
    }
    assert_eq!(*seen.lock().unwrap(), [] as [String; 0], "nobody was sent there");
}

#[test]
fn a_server_may_move_on_its_own_host() {
    let moved =
        |port| Some((StatusCode::TEMPORARY_REDIRECT, format!("http://127.0.0.1:{port}/new")));
    let (port, seen) = serve(moved);
    assert_eq!(ask(port)["result"]["at"], "/new");
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 2, "{seen:?}");
    let (round, seen_round) = serve(|port| {
        Some((StatusCode::TEMPORARY_REDIRECT, format!("http://127.0.0.1:{port}/mcp")))
    });
    assert!(ask(round)["error"]["message"].as_str().is_some(), "a circle is no answer");
    assert!(seen_round.lock().unwrap().len() <= 5, "and comes to an end");
}
