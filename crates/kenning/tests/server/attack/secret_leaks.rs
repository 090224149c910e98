//! Secrets that must not be in any log or message, however much is logged.

use std::io::Write;
use std::process::Stdio;

use kenning_testkit::{Postgres, finish, jsonrpc};
use serde_json::json;

use crate::server::monitoring::check_json_lines;
use crate::server::support::{Project, Server, call, within};

/// Not a token of the store, and just as secret.
const WRONG: &str = "kng_000000000000_thisisnotatokenbutasecretnevertheless";

/// Sends a token in every way a token can be sent. One request per way comes first: after ten wrong
/// tokens the server looks at no more of them.
async fn send_in_every_way(server: &Server, token: &str) {
    let get = |path: &str| server.http.get(server.url(path));
    let post = |path: &str| server.http.post(server.url(path)).body("{}");
    let cookie = format!("kenning_token={token}");
    let login = || post("/login").body(format!("token={token}"));
    let mut requests = vec![
        get("/api/v1/agents").bearer_auth(token),
        get("/").header("Cookie", &cookie),
        post("/mcp").bearer_auth(token),
        post("/ingest").header("x-mcpeye-secret", token),
        login(),
        login().header("Content-Type", "application/x-www-form-urlencoded"),
    ];
    for path in ["/api/v1/agents", "/mcp", "/metrics", "/"] {
        requests.push(get(path).bearer_auth(token));
        requests.push(get(path).header("Cookie", &cookie));
        requests.push(get(path).header("x-mcpeye-secret", token));
    }
    for request in requests {
        within(request.send()).await.unwrap();
    }
}

fn check_no_secret(log: &str, secrets: &[&str]) {
    for secret in secrets {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "a secret is logged");
    }
}

fn secret_of(token: &str) -> &str {
    token.rsplit('_').next().unwrap()
}

#[tokio::test]
async fn no_token_is_logged() {
    for level in ["warn", "debug", "trace"] {
        let project = Project::private_handbook();
        let token = project.token("all", "write");
        let server = project.http_with_tokens(&["--log-level", level]);
        send_in_every_way(&server, &token).await;
        // Well-formed, so that it is looked up and compared.
        let unknown = format!("kng_{}_{}", "5".repeat(12), "ab".repeat(32));
        send_in_every_way(&server, &unknown).await;
        send_in_every_way(&server, WRONG).await;
        let log = server.kill().await;
        check_no_secret(&log, &[secret_of(&token), secret_of(&unknown), secret_of(WRONG)]);
    }
}

#[tokio::test]
async fn json_logs_hold_no_token_and_no_password() {
    let (project, store) = (Project::private_handbook(), Postgres::shared().database());
    let elsewhere = project.token("reader", "read");
    let mut create = project.kenning(&["token", "create", "reader", "--scope", "read"]);
    let created = kenning_testkit::output(create.env("KENNING_STORE_URL", &store));
    let token = String::from_utf8(created.stdout).unwrap().trim().to_owned();
    let variables = [
        ("KENNING_SERVER_REQUIRE_TOKEN", "true"),
        ("KENNING_STORE_URL", &store),
        ("KENNING_SERVER_LOG_FORMAT", "json"),
    ];
    let server = project.http(&["--log-level", "trace"], &variables);
    for token in [&token, &elsewhere, WRONG] {
        send_in_every_way(&server, token).await;
    }
    let client = server.client_with_token(&token).await;
    call(&client, "search_knowledge", json!({"query": "sessions"})).await;
    within(client.cancel()).await.unwrap();
    let log = server.stop().await;
    let lines = check_json_lines(&log);
    let stopping = lines.iter().find(|line| line["grace_seconds"] == 10).unwrap();
    assert_eq!(stopping["level"], "INFO", "the stop is logged: {stopping}");
    let password = Postgres::shared().password();
    check_no_secret(&log, &[secret_of(&token), secret_of(&elsewhere), secret_of(WRONG), password]);
}

#[test]
fn no_password_of_a_store_is_printed() {
    const PASSWORD: &str = "hunter2-of-this-test";
    let project = Project::private_handbook();
    for url in [
        format!("postgres://me:{PASSWORD}@127.0.0.1:1/team?connect_timeout=1"),
        format!("postgres://me@127.0.0.1:1/team?password={PASSWORD}"),
        format!("postgres://me:{PASSWORD}@[nowhere/team"),
    ] {
        for args in [
            &["agents", "list"][..],
            &["--json", "agents", "list"],
            &["doctor"],
            &["config", "show", "--origin"],
            &["status"],
        ] {
            let mut command = project.kenning(&[&["--log-level", "trace"], args].concat());
            let finished = crate::server::support::finished(command.env("KENNING_STORE_URL", &url));
            let printed = finished.printed();
            assert!(!printed.is_empty() && !printed.contains(PASSWORD), "{args:?}: {printed}");
        }
    }
}

/// The headers for a wrapped server and the credentials in its address are for that server only.
#[test]
fn no_credential_of_a_wrapped_server_is_logged() {
    const SECRET: &str = "hunter3-of-this-test";
    // A port that was free a moment ago: connecting fails, and the failure is logged.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let header = format!("Authorization: Bearer {SECRET}");
    let url = format!("http://me:{SECRET}@{address}/mcp?key={SECRET}");
    let ingest = format!("http://me:{SECRET}@{address}");
    let wrap = ["--log-level", "trace", "wrap", "--header", &header];
    let wrap = [&wrap[..], &["--ingest", &ingest, "--url", &url]].concat();
    let project = Project::private_handbook();
    let mut command = project.kenning(&wrap);
    command.env("MCPEYE_INGEST_SECRET", SECRET);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    for id in 0..3 {
        let call = jsonrpc::call_tool(id, "a", &json!({"x": 1}));
        writeln!(child.stdin.as_mut().unwrap(), "{call}").unwrap();
    }
    let output = finish(child);
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    assert!(printed.contains("\"error\""), "the failure is reported: {printed}");
    assert!(!printed.contains(SECRET), "{printed}");
}
