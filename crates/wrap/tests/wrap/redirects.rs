//! A server that redirects us: our headers, and what agents say, are for its host alone.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};

use crate::support;

/// The path and headers of every request.
type Requests = Arc<Mutex<Vec<String>>>;

#[derive(Clone)]
struct Server {
    requests: Requests,
    /// Where `/mcp` redirects to.
    redirect: Option<(StatusCode, String)>,
}

async fn answer(State(server): State<Server>, request: Request) -> Response<Body> {
    let path = request.uri().path().to_owned();
    server.requests.lock().unwrap().push(format!("{path} {:?}", request.headers()));
    match server.redirect {
        Some((status, location)) if path == "/mcp" => {
            Response::builder().status(status).header("location", location).body(Body::empty())
        }
        _ => {
            let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"at": path}});
            Response::builder()
                .header("content-type", "application/json")
                .body(Body::from(answer.to_string()))
        }
    }
    .unwrap()
}

fn serve(redirect: impl FnOnce(u16) -> Option<(StatusCode, String)>) -> (String, Requests) {
    let requests = Requests::default();
    let shared = requests.clone();
    let base = support::serve(move |port| {
        let server = Server { requests: shared, redirect: redirect(port) };
        Router::new().fallback(answer).with_state(server)
    });
    (base, requests)
}

fn ask(base: &str) -> Value {
    let mut process = support::remote(&format!("{base}/mcp"));
    let answer = process.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    assert!(process.close().success());
    answer
}

#[test]
fn redirects_to_another_host_are_not_followed() {
    let (other, requests) = serve(|_| None);
    let other = other.rsplit(':').next().unwrap();
    for status in [301, 302, 303, 307, 308].map(|code| StatusCode::from_u16(code).unwrap()) {
        for location in [
            format!("http://127.0.0.1:{other}/stolen"),
            format!("//127.0.0.1:{other}/stolen"),
            format!("http://localhost:{other}/stolen"),
            format!("http://me:pw@127.0.0.1:{other}/stolen"),
            "http://169.254.169.254/latest/meta-data".to_owned(),
            "file:///etc/passwd".to_owned(),
        ] {
            let redirect = (status, location.clone());
            let (base, _) = serve(|_| Some(redirect));
            let answer = ask(&base);
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            let expected = format!("the server answered {}", status.as_u16());
            assert!(message.starts_with(&expected), "{status} {location}: {answer}");
        }
    }
    assert_eq!(*requests.lock().unwrap(), [] as [String; 0]);
}

#[test]
fn redirects_on_the_same_host_are_followed_a_few_times() {
    let to = |path: &'static str| {
        move |port| {
            let location = format!("http://127.0.0.1:{port}{path}");
            Some((StatusCode::TEMPORARY_REDIRECT, location))
        }
    };
    let (base, requests) = serve(to("/new"));
    assert_eq!(ask(&base)["result"]["at"], "/new");
    let requests = requests.lock().unwrap();
    assert_eq!(requests.len(), 2, "{requests:?}");
    let (circular, requests) = serve(to("/mcp"));
    assert!(ask(&circular)["error"]["message"].is_string(), "a circle is no answer");
    assert!(requests.lock().unwrap().len() <= 5, "and comes to an end");
}
