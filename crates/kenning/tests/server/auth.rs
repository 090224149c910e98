//! Tokens: when they are required, and what a scope allows.

use reqwest::{Method, RequestBuilder, StatusCode};

use crate::server::support::{Answer, Project, within};

#[test]
fn a_reachable_server_does_not_start_without_tokens() {
    let project = Project::private_handbook();
    let mut required = project.serve(&["--http", "127.0.0.1:0"]);
    required.env("KENNING_SERVER_REQUIRE_TOKEN", "true");
    for mut command in [required, project.serve(&["--http", "0.0.0.0:0"])] {
        let refused = crate::server::support::finished(&mut command);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains("kenning token create"), "{refused:?}");
    }
}

async fn status(request: RequestBuilder) -> StatusCode {
    Answer::to(request).await.status
}

#[tokio::test]
async fn a_token_allows_what_its_scope_says() {
    let project = Project::private_handbook();
    let [read, write, ingest] =
        ["read", "write", "ingest"].map(|scope| project.token(scope, scope));
    let server = project.http_with_tokens(&[]);
    let add = |name: &str| {
        let request = server.request(Method::POST, "/api/v1/agents");
        let request = request.header("Content-Type", "application/json");
        request.body(format!("{{\"name\": \"{name}\"}}"))
    };
    let list =
        |token: &str| status(server.request(Method::GET, "/api/v1/agents").bearer_auth(token));
    assert_eq!(status(add("a")).await, StatusCode::UNAUTHORIZED);
    let unknown = add("a").bearer_auth("kng_123456789abc_0");
    assert_eq!(status(unknown).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(add("a").bearer_auth(&read)).await, StatusCode::FORBIDDEN);
    assert_eq!(status(add("a").bearer_auth(&ingest)).await, StatusCode::FORBIDDEN);
    assert_eq!(status(add("a").bearer_auth(&write)).await, StatusCode::CREATED);
    assert_eq!((list(&read).await, list(&ingest).await), (StatusCode::OK, StatusCode::FORBIDDEN));
    let mixed = format!("{}{}", &read[..17], &write[17..]);
    let mixed = list(&mixed).await;
    assert_eq!(mixed, StatusCode::UNAUTHORIZED, "the id of one, the secret of another");
    assert_eq!(server.get("/mcp").await.status, StatusCode::UNAUTHORIZED);
    assert!(server.get("/healthz").await.status.is_success());

    let tools = async |token: &str| {
        let client = server.client_with_token(token).await;
        let tools = within(client.list_all_tools()).await.unwrap();
        within(client.cancel()).await.unwrap();
        tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>()
    };
    let (reading, writing) = (tools(&read).await, tools(&write).await);
    assert!(writing.contains(&"register_agent_capabilities".to_owned()));
    assert!(!reading.contains(&"register_agent_capabilities".to_owned()));
    assert!(reading.contains(&"get_agent_capabilities".to_owned()));

    project.run(&["token", "revoke", "read"]).success();
    assert_eq!(list(&read).await, StatusCode::UNAUTHORIZED, "effective immediately");
}

#[test]
fn token_secrets_are_not_stored() {
    let project = Project::private_handbook();
    let token = project.token("ci", "read");
    let secret = token.rsplit('_').next().unwrap();
    let listed = project.run(&["token", "list"]).out;
    assert!(listed.contains("ci") && listed.contains("read") && !listed.contains(secret));
    for file in std::fs::read_dir(project.data()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()));
    }
    let twice = project.run(&["token", "create", "ci"]);
    assert!(twice.err.contains("there is a token `ci` already"), "{twice:?}");
    assert_eq!(project.run(&["token", "revoke", "unknown"]).code, Some(1));
}
