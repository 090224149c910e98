//! What must not be in a log, however much is logged.

use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use super::token;
use crate::client::{HttpServer, handbook};

fn kenning(home: &TempDir, level: &str, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
    command.arg("--root").arg(handbook()).args(["--log-level", level]).args(words);
    command.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    command.current_dir(handbook());
    command
}

#[tokio::test]
async fn no_token_is_logged() {
    for level in ["warn", "debug", "trace"] {
        let home = TempDir::new().unwrap();
        let good = token(home.path(), "all", "write");
        let wrong = format!("kng_{}_{}", "5".repeat(12), "ab".repeat(32));
        let mut command = kenning(&home, level, &["serve", "--http", "127.0.0.1:0"]);
        command.env("KENNING_SERVER_REQUIRE_TOKEN", "true");
        let server = HttpServer::run(command);
        let http = reqwest::Client::new();
        for shown in [&good, &wrong] {
            let get = |path: &str| http.get(server.page(path));
            let post = |path: &str| http.post(server.page(path)).body("{}");
            for request in [
                get("/api/v1/agents").bearer_auth(shown),
                get("/").header("Cookie", format!("kenning_token={shown}")),
                post("/mcp").bearer_auth(shown),
                post("/ingest").header("x-mcpeye-secret", shown.as_str()),
                post("/login").body(format!("token={shown}")),
            ] {
                request.send().await.unwrap();
            }
        }
        let log = server.log();
        for secret in [&good, &wrong] {
            let secret = secret.rsplit('_').next().unwrap();
            assert!(!log.contains(secret), "{level}: {log}");
        }
    }
}

#[test]
fn no_password_of_a_store_is_shown() {
    const PASSWORD: &str = "hunter2-of-this-test";
    let url = format!("postgres://me:{PASSWORD}@127.0.0.1:1/team?connect_timeout=1");
    let twice = format!("postgres://me@127.0.0.1:1/team?password={PASSWORD}");
    let wrong = format!("postgres://me:{PASSWORD}@[nowhere/team");
    let home = TempDir::new().unwrap();
    for url in [&url, &twice, &wrong] {
        for words in [
            &["agents", "list"][..],
            &["--json", "agents", "list"],
            &["doctor"],
            &["config", "show", "--origin"],
            &["status"],
        ] {
            let mut command = kenning(&home, "trace", words);
            let output = command.env("KENNING_STORE_URL", url).output().unwrap();
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            assert!(!said.is_empty() && !said.contains(PASSWORD), "{words:?}: {said}");
        }
    }
}

/// The headers for a wrapped server are for it alone, and so is what stands in its address.
#[test]
fn no_credential_of_a_wrapped_server_is_logged() {
    use std::io::Write;
    const SECRET: &str = "hunter3-of-this-test";
    let home = TempDir::new().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // Nobody answers: what goes wrong is what is talked about.
    drop(listener);
    let header = format!("Authorization: Bearer {SECRET}");
    let url = format!("http://me:{SECRET}@{address}/mcp?key={SECRET}");
    let ingest = format!("http://me:{SECRET}@{address}");
    let mut command =
        kenning(&home, "trace", &["wrap", "--header", &header, "--ingest", &ingest, "--url", &url]);
    command.env("MCPEYE_INGEST_SECRET", SECRET);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for id in 0..3 {
        let arguments = json!({"name": "a", "arguments": {"x": 1}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": arguments});
        writeln!(stdin, "{call}").unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("\"error\""), "it says that nobody answers: {said}");
    assert!(!said.contains(SECRET), "{said}");
}
