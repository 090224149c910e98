//! Requests that pages of other sites make a browser send: DNS rebinding and cross-site requests.

use kenning_testkit::jsonrpc;
use reqwest::Method;

use crate::server::support::{Answer, Project, Server};

/// Routes that reveal no data and change nothing but who is logged in.
const OPEN: [&str; 4] = ["/healthz", "/readyz", "/login", "/logout"];

/// Every route: operations, pages, MCP, events, and one that does not exist.
async fn routes(server: &Server, token: Option<&str>) -> Vec<(String, String)> {
    let get = async |path: &str| {
        let request = server.request(Method::GET, path);
        Answer::to(match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        })
        .await
    };
    let document = get("/api/openapi.json").await.json();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            routes.push((method.to_uppercase(), path.replace("{agent_id}", "11")));
        }
    }
    let operations = routes.len();
    assert!(operations > 20, "{operations} operations");
    let home = get("/").await.text;
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

/// The status of a request with these headers. No answer allows another site to read it.
fn status(server: &Server, method: &str, path: &str, headers: &str) -> String {
    let path = path.replace(['{', '}'], "");
    let head = format!("{method} {path} HTTP/1.1\r\n{headers}\r\nContent-Type: text/plain");
    let answer = server.raw(&head, if method == "POST" { "{}" } else { "" });
    let lower = answer.to_lowercase();
    assert!(!lower.contains("access-control-allow"), "{method} {path}: {answer}");
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn no_route_answers_another_site() {
    let server = Project::handbook().http(&[], &[]);
    let address = server.address();
    let port = address.rsplit(':').next().unwrap();
    for (method, path) in routes(&server, None).await {
        let status = |headers: &str| status(&server, &method, &path, headers);
        for host in [
            "evil.example".to_owned(),
            format!("evil.example:{port}"),
            format!("127.0.0.1.evil.example:{port}"),
            format!("localhost.evil.example:{port}"),
            format!("0.0.0.0:{port}"),
        ] {
            assert_eq!(status(&format!("Host: {host}")), "403", "{method} {path} of {host}");
        }
        for malformed in [format!("127.0.0.1@evil.example:{port}"), "[::ffff:127.0.0.1]".to_owned()]
        {
            let given = status(&format!("Host: {malformed}"));
            assert!(["403", "400"].contains(&given.as_str()), "{method} {path}: {given}");
        }
        for origin in [
            "http://evil.example".to_owned(),
            "null".to_owned(),
            "file://".to_owned(),
            "https://127.0.0.1".to_owned(),
            format!("https://{address}"),
            format!("http://{address}.evil.example"),
            "http://127.0.0.1:1".to_owned(),
        ] {
            let given = status(&format!("Host: {address}\r\nOrigin: {origin}"));
            assert_eq!(given, "403", "{method} {path} from {origin}");
        }
    }
    for path in OPEN {
        let given = status(&server, "GET", path, "Host: evil.example");
        assert!(["200", "303", "405", "503"].contains(&given.as_str()), "{path}: {given}");
    }
}

/// The same checks let the server's own page, and clients that send no origin, through.
#[tokio::test]
async fn requests_without_a_foreign_origin_are_served() {
    let server = Project::handbook().http(&[], &[]);
    let own = server.url("");
    for origin in [None, Some(&own)] {
        let mut request = server.request(Method::POST, "/mcp");
        if let Some(origin) = origin {
            request = request.header("Origin", origin);
        }
        let request = request.header("Content-Type", "application/json");
        let request = request.header("Accept", "application/json, text/event-stream");
        let answer = Answer::to(request.body(jsonrpc::initialize(1).to_string())).await;
        assert_eq!(answer.status, 200, "{origin:?}: {}", answer.text);
    }
}

#[tokio::test]
async fn with_tokens_no_route_answers_without_one_or_to_another_site() {
    let project = Project::private_handbook();
    let good = project.token("all", "write");
    let server = project.http_with_tokens(&[]);
    let address = server.address();
    for (method, path) in routes(&server, Some(&good)).await {
        let status = |headers: &str| status(&server, &method, &path, headers);
        let host = format!("Host: {address}");
        assert_eq!(status(&host), "401", "{method} {path} without a token");
        let foreign =
            format!("{host}\r\nAuthorization: Bearer {good}\r\nOrigin: http://evil.example");
        assert_eq!(status(&foreign), "403", "{method} {path}");
        // To a browser a rebound name is an origin of its own, which has none of our cookies.
        let rebound = "Host: evil.example\r\nOrigin: http://evil.example";
        assert_eq!(status(rebound), "401", "{method} {path}");
        if ["/api/v1", "/mcp", "/ingest"].iter().any(|root| path.starts_with(root)) {
            let cookie = format!("{host}\r\nCookie: kenning_token={good}");
            assert_eq!(status(&cookie), "401", "{method} {path}: a cookie is for pages");
        }
    }
}
