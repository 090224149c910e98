//! Pages of other sites in a browser on this machine: DNS rebinding and cross-site requests.

use serde_json::Value;
use tempfile::TempDir;

use super::{guarded, token};
use crate::client::{HttpServer, handbook};

/// What tells nothing and changes nothing, but for who one is.
const OPEN: [&str; 4] = ["/healthz", "/readyz", "/login", "/logout"];

/// Every route: operations, pages, MCP, events, and what is not there.
async fn routes(server: &HttpServer, token: Option<&str>) -> Vec<(String, String)> {
    let get = |path: &'static str| {
        let request = reqwest::Client::new().get(server.page(path));
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        async { request.send().await.unwrap().text().await.unwrap() }
    };
    let document: Value = serde_json::from_str(&get("/api/openapi.json").await).unwrap();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            routes.push((method.to_uppercase(), path.replace("{agent_id}", "11")));
        }
    }
    let operations = routes.len();
    assert!(operations > 20, "{operations} operations");
    let home = get("/").await;
    let links = home.split("href=\"/").skip(1).filter_map(|rest| rest.split('"').next());
    let pages = links.filter(|link| !link.starts_with("assets/"));
    routes.extend(pages.map(|link| ("GET".to_owned(), format!("/{}", link.replace("&amp;", "&")))));
    assert!(routes.len() > operations + 5, "the pages are linked");
    for (method, path) in [
        ("POST", "/mcp"),
        ("GET", "/mcp"),
        ("DELETE", "/mcp"),
        ("POST", "/ingest"),
        ("POST", "/registry/agents"),
        ("GET", "/api"),
        ("GET", "/metrics"),
        ("GET", "/node?id=guidelines"),
        ("GET", "/nothing/here"),
        ("OPTIONS", "/mcp"),
        ("OPTIONS", "/api/v1/agents"),
        ("HEAD", "/"),
    ] {
        routes.push((method.to_owned(), path.to_owned()));
    }
    routes.retain(|(_, path)| !OPEN.contains(&path.as_str()));
    routes
}

/// The status of a request with these headers, whose answer no other site may read.
fn status(server: &HttpServer, method: &str, path: &str, headers: &str) -> String {
    let path = path.replace(['{', '}'], "");
    let head = format!("{method} {path} HTTP/1.1\r\n{headers}\r\nContent-Type: text/plain");
    let answer = server.raw(&head, if method == "POST" { "{}" } else { "" });
    let lower = answer.to_lowercase();
    assert!(!lower.contains("access-control-allow"), "{method} {path}: {answer}");
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn no_route_answers_another_site() {
    let server = HttpServer::start(&handbook());
    let address = server.page("").strip_prefix("http://").unwrap().to_owned();
    let port = address.rsplit(':').next().unwrap().to_owned();
    for (method, path) in routes(&server, None).await {
        let status = |headers: &str| status(&server, &method, &path, headers);
        for host in [
            "evil.example".to_owned(),
            format!("evil.example:{port}"),
            format!("127.0.0.1.evil.example:{port}"),
            format!("localhost.evil.example:{port}"),
            format!("127.0.0.1@evil.example:{port}"),
            format!("0.0.0.0:{port}"),
            "[::ffff:127.0.0.1]".to_owned(),
        ] {
            let seen = status(&format!("Host: {host}"));
            assert!(["403", "400"].contains(&seen.as_str()), "{method} {path} of {host}: {seen}");
        }
        for origin in [
            "http://evil.example".to_owned(),
            "null".to_owned(),
            "file://".to_owned(),
            format!("https://{address}"),
            format!("http://{address}.evil.example"),
            "http://127.0.0.1:1".to_owned(),
        ] {
            let seen = status(&format!("Host: {address}\r\nOrigin: {origin}"));
            assert_eq!(seen, "403", "{method} {path} from {origin}");
        }
    }
    for path in OPEN {
        let seen = status(&server, "GET", path, "Host: evil.example");
        assert!(["200", "303", "405", "503"].contains(&seen.as_str()), "{path}: {seen}");
    }
}

#[tokio::test]
async fn with_tokens_no_route_is_open_and_none_answers_another_site() {
    let home = TempDir::new().unwrap();
    let good = token(home.path(), "all", "write");
    let server = guarded(home.path());
    let address = server.page("").strip_prefix("http://").unwrap().to_owned();
    for (method, path) in routes(&server, Some(&good)).await {
        let status = |headers: &str| status(&server, &method, &path, headers);
        let host = format!("Host: {address}");
        assert_eq!(status(&host), "401", "{method} {path} without a token");
        let foreign =
            format!("{host}\r\nAuthorization: Bearer {good}\r\nOrigin: http://evil.example");
        assert_eq!(status(&foreign), "403", "{method} {path}");
        // The name that was rebound is its own origin, and has no cookie of ours.
        let rebound = "Host: evil.example\r\nOrigin: http://evil.example";
        assert_eq!(status(rebound), "401", "{method} {path}");
        if ["/api/v1", "/mcp", "/ingest"].iter().any(|root| path.starts_with(root)) {
            let cookie = format!("{host}\r\nCookie: kenning_token={good}");
            assert_eq!(status(&cookie), "401", "{method} {path}: a cookie is for pages");
        }
    }
}
