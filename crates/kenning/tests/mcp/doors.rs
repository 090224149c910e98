//! Who gets in from other machines.

use std::path::Path;
use std::process::{Command, Output};

use reqwest::StatusCode;
use rmcp::ServiceExt;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tempfile::TempDir;

use crate::client::{Client, HttpServer, handbook, kenning};

fn token(home: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
    command.arg("token").args(words).env("HOME", home);
    command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    command.output().unwrap()
}

pub(crate) fn create(home: &Path, name: &str, scope: &str) -> String {
    let made = token(home, &["create", name, "--scope", scope]);
    assert!(made.status.success());
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

pub(crate) fn guarded(home: &Path) -> Command {
    let mut command = kenning(&handbook(), &["--http", "127.0.0.1:0"]);
    command.env("HOME", home).env("KENNING_SERVER_REQUIRE_TOKEN", "true");
    command
}

pub(crate) async fn client(server: &HttpServer, token: &str) -> Client {
    let config = StreamableHttpClientTransportConfig::with_uri(server.url.as_str());
    let transport = StreamableHttpClientTransport::from_config(config.auth_header(token));
    ().serve(transport).await.unwrap()
}

#[test]
fn other_machines_are_not_served_without_tokens() {
    let home = TempDir::new().unwrap();
    for mut command in [guarded(home.path()), kenning(&handbook(), &["--http", "0.0.0.0:0"])] {
        let refused = command.env("HOME", home.path()).output().unwrap();
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("kenning token create"), "{said}");
    }
}

#[tokio::test]
async fn a_token_opens_what_its_scope_says() {
    let home = TempDir::new().unwrap();
    let (read, write) =
        (create(home.path(), "reader", "read"), create(home.path(), "writer", "write"));
    let ingest = create(home.path(), "sender", "ingest");
    let server = HttpServer::run(guarded(home.path()));
    let http = reqwest::Client::new();
    let add = |token: Option<&str>, name: &str| {
        let request = http.post(server.page("/api/v1/agents"));
        let request = request.header("Content-Type", "application/json");
        let request = request.body(format!("{{\"name\": \"{name}\"}}"));
        let request = match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        async { request.send().await.unwrap().status() }
    };
    let list = |token: &str| {
        let request = http.get(server.page("/api/v1/agents")).bearer_auth(token);
        async { request.send().await.unwrap().status() }
    };
    assert_eq!(add(None, "a").await, StatusCode::UNAUTHORIZED);
    assert_eq!(add(Some("kng_123456789abc_0"), "a").await, StatusCode::UNAUTHORIZED);
    assert_eq!(add(Some(&read), "a").await, StatusCode::FORBIDDEN);
    assert_eq!(add(Some(&ingest), "a").await, StatusCode::FORBIDDEN);
    assert_eq!(add(Some(&write), "a").await, StatusCode::CREATED);
    assert_eq!((list(&read).await, list(&ingest).await), (StatusCode::OK, StatusCode::FORBIDDEN));
    let other = format!("{}{}", &read[..17], &write[17..]);
    assert_eq!(
        list(&other).await,
        StatusCode::UNAUTHORIZED,
        "the id of one, the secret of another"
    );
    assert_eq!(http.get(&server.url).send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    assert!(http.get(server.page("/healthz")).send().await.unwrap().status().is_success());

    let tools = async |token: &str| {
        let client = client(&server, token).await;
        let tools = client.list_all_tools().await.unwrap();
        client.cancel().await.unwrap();
        tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>()
    };
    let (reading, writing) = (tools(&read).await, tools(&write).await);
    assert!(writing.contains(&"register_agent_capabilities".to_owned()));
    assert!(!reading.contains(&"register_agent_capabilities".to_owned()));
    assert!(reading.contains(&"get_agent_capabilities".to_owned()));

    assert!(token(home.path(), &["revoke", "reader"]).status.success());
    assert_eq!(list(&read).await, StatusCode::UNAUTHORIZED, "at once");
}

#[test]
fn secrets_are_kept_nowhere() {
    let home = TempDir::new().unwrap();
    let made = create(home.path(), "ci", "read");
    let secret = made.rsplit('_').next().unwrap();
    let listed = token(home.path(), &["list"]).stdout;
    let listed = String::from_utf8(listed).unwrap();
    assert!(listed.contains("ci") && listed.contains("read") && !listed.contains(secret));
    let folder = home.path().join(".local/share/kenning");
    for file in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()));
    }
    let twice = token(home.path(), &["create", "ci"]);
    assert!(String::from_utf8(twice.stderr).unwrap().contains("there is a token `ci` already"));
    let unknown = token(home.path(), &["revoke", "nobody"]);
    assert_eq!(unknown.status.code(), Some(1));
}
