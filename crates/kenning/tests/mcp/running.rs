//! What those see who run the server: health, figures, logs.

use std::process::{Command, Stdio};

use kenning_testkit::Postgres;
use prometheus_parse::{Scrape, Value as Figure};
use reqwest::StatusCode;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{HttpServer, call, handbook, kenning};
use crate::doors::{create, guarded};

async fn get(server: &HttpServer, path: &str) -> (StatusCode, String) {
    let answer = reqwest::get(server.page(path)).await.unwrap();
    (answer.status(), answer.text().await.unwrap())
}

/// Asks until the answer is this one.
pub(crate) async fn readiness_becomes(server: &HttpServer, status: StatusCode) -> Value {
    loop {
        let (given, body) = get(server, "/readyz").await;
        if given == status {
            return serde_json::from_str(&body).unwrap();
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_server_whose_store_is_gone_lives_but_is_not_ready() {
    let postgres = Postgres::start(&["fsync=off"]);
    let store = postgres.database();
    let mut command = kenning(&handbook(), &["--http", "127.0.0.1:0"]);
    command.env("KENNING_STORE_URL", &store);
    let server = HttpServer::run(command);
    let ready = readiness_becomes(&server, StatusCode::OK).await;
    assert_eq!(ready, json!({"ready": true, "waiting_for": []}));
    let password = postgres.password();
    drop(postgres);
    let gone = readiness_becomes(&server, StatusCode::SERVICE_UNAVAILABLE).await;
    assert_eq!(gone, json!({"ready": false, "waiting_for": ["store"]}));
    assert_eq!(get(&server, "/healthz").await, (StatusCode::OK, "ok\n".to_owned()));
    let figures = get(&server, "/metrics").await.1;
    assert!(figures.contains("\nkenning_store_up 0\n"), "{figures}");
    assert!(!figures.contains(password));
    server.terminate();
    let (status, log) = server.ended();
    assert!(status.success(), "{log}");
    assert!(!log.contains(password));
}

/// A scrape as a parser that is not ours reads it.
struct Figures {
    scrape: Scrape,
    text: String,
}

impl Figures {
    async fn scrape(server: &HttpServer, token: &str) -> Self {
        let request = reqwest::Client::new().get(server.page("/metrics")).bearer_auth(token);
        let answer = request.send().await.unwrap();
        let kind = answer.headers()["content-type"].to_str().unwrap();
        assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
        let text = answer.text().await.unwrap();
        let lines = text.lines().map(|line| Ok(line.to_owned()));
        Self { scrape: Scrape::parse(lines).unwrap(), text: text.clone() }
    }

    /// What stands there for the metric with these labels.
    fn of(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let fits = |sample: &&prometheus_parse::Sample| {
            sample.metric == name
                && labels.iter().all(|(name, value)| sample.labels.get(name) == Some(*value))
        };
        match self.scrape.samples.iter().find(fits)?.value {
            Figure::Counter(value) | Figure::Gauge(value) | Figure::Untyped(value) => Some(value),
            ref other => panic!("{name}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn figures_are_for_those_who_may_read_and_hold_no_words_of_clients() {
    let home = TempDir::new().unwrap();
    let read = create(home.path(), "prometheus", "read");
    let ingest = create(home.path(), "sender", "ingest");
    let server = HttpServer::run(guarded(home.path()));
    let http = reqwest::Client::new();
    let status = async |request: reqwest::RequestBuilder| request.send().await.unwrap().status();
    let scrape = || http.get(server.page("/metrics"));
    assert_eq!(status(scrape()).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(scrape().bearer_auth(&ingest)).await, StatusCode::FORBIDDEN);
    let by_cookie = scrape().header("Cookie", format!("kenning_token={read}"));
    assert_eq!(status(by_cookie).await, StatusCode::UNAUTHORIZED, "it is not a page");
    for path in ["/healthz", "/readyz"] {
        let open = http.get(server.page(path)).send().await.unwrap();
        assert_ne!(open.status(), StatusCode::UNAUTHORIZED, "{path}");
    }

    let client = crate::doors::client(&server, &read).await;
    call(&client, "search_knowledge", json!({"query": "zebracorn"})).await;
    call(&client, "search_knowledge", json!({"query": "sessions"})).await;
    call(&client, "retrieve_knowledge", json!({"ids": []})).await;
    client.cancel().await.unwrap();
    let odd = http.request("ZEBRA".parse().unwrap(), server.page("/zebra-of-a-client"));
    assert_eq!(status(odd.bearer_auth(&read)).await, StatusCode::NOT_FOUND);
    let agent = http.get(server.page("/api/v1/agents/424242")).bearer_auth(&read);
    assert_eq!(status(agent).await, StatusCode::NOT_FOUND);

    let figures = Figures::scrape(&server, &read).await;
    let search = [("tool", "search_knowledge")];
    assert_eq!(figures.of("kenning_tool_calls_total", &search), Some(2.0));
    assert_eq!(figures.of("kenning_tool_errors_total", &search), Some(0.0));
    assert_eq!(figures.of("kenning_tool_duration_seconds_count", &search), Some(2.0));
    assert!(figures.of("kenning_tool_duration_seconds_sum", &search) > Some(0.0));
    let retrieve = [("tool", "retrieve_knowledge")];
    assert_eq!(figures.of("kenning_tool_calls_total", &retrieve), Some(1.0));
    assert_eq!(figures.of("kenning_tool_errors_total", &retrieve), Some(1.0));
    assert_eq!(figures.of("kenning_heard_calls_total", &[]), Some(3.0));
    assert_eq!(figures.of("kenning_heard_calls_dropped_total", &[]), Some(0.0));
    assert_eq!(figures.of("kenning_store_up", &[]), Some(1.0));
    assert!(figures.of("kenning_index_nodes", &[]) > Some(10.0));
    assert!(figures.of("kenning_index_files", &[]) > Some(1.0));
    assert!(figures.of("kenning_index_vectors", &[]).is_some());
    assert_eq!(figures.of("kenning_mcp_listeners", &[]), Some(0.0));
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    assert_eq!(figures.of("kenning_build_info", &version), Some(1.0));
    let requests = "kenning_http_requests_total";
    let mcp = [("method", "POST"), ("route", "/mcp"), ("status", "200")];
    assert!(figures.of(requests, &mcp) >= Some(3.0));
    let odd = [("method", "other"), ("route", "other"), ("status", "404")];
    assert_eq!(figures.of(requests, &odd), Some(1.0));
    // This parser is at a loss for braces in a label; others are not.
    let agent = r#"{method="GET",route="/api/v1/agents/{agent_id}",status="404"} 1"#;
    assert!(figures.text.contains(&format!("{requests}{agent}\n")), "{}", figures.text);
    let refused = [("route", "/metrics"), ("status", "401")];
    assert_eq!(figures.of(requests, &refused), Some(2.0));
    assert_eq!(figures.of("kenning_http_requests_under_way", &[]), Some(1.0), "this one");
    assert!(!figures.text.to_lowercase().contains("zebra"), "{}", figures.text);
}

#[tokio::test]
async fn who_asks_for_the_newer_format_gets_it() {
    let server = HttpServer::start(&handbook());
    let asked = reqwest::Client::new().get(server.page("/metrics"));
    let asked =
        asked.header("Accept", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5");
    let answer = asked.send().await.unwrap();
    let kind = answer.headers()["content-type"].to_str().unwrap();
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
    assert!(answer.text().await.unwrap().ends_with("# EOF\n"));
}

/// Every line is an object with what a log needs.
fn check_json_lines(log: &str) -> Vec<Value> {
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    for line in &lines {
        for field in ["timestamp", "level", "target"] {
            assert!(line[field].is_string(), "{field}: {line}");
        }
    }
    lines
}

#[tokio::test]
async fn logs_are_json_if_asked_for_and_never_hold_a_secret() {
    let home = TempDir::new().unwrap();
    let read = create(home.path(), "reader", "read");
    let secret = read.rsplit('_').next().unwrap();
    let wrong = "kng_000000000000_thisisnotatokenbutasecretnevertheless";
    let store = Postgres::shared().database();
    let mut command = guarded(home.path());
    let made = Command::new(env!("CARGO_BIN_EXE_kenning"))
        .args(["token", "create", "reader", "--scope", "read"])
        .env("KENNING_STORE_URL", &store)
        .env("HOME", home.path())
        .output()
        .unwrap();
    let shared = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    command.env("KENNING_STORE_URL", &store).env("KENNING_SERVER_LOG_FORMAT", "json");
    command.args(["--log-level", "trace"]);
    let server = HttpServer::run(command);
    let http = reqwest::Client::new();
    for token in [shared.as_str(), read.as_str(), wrong] {
        for path in ["/api/v1/agents", "/mcp", "/metrics", "/"] {
            let asked = http.get(server.page(path));
            asked.try_clone().unwrap().bearer_auth(token).send().await.unwrap();
            let cookie = format!("kenning_token={token}");
            asked.try_clone().unwrap().header("Cookie", cookie).send().await.unwrap();
            asked.header("x-mcpeye-secret", token).send().await.unwrap();
        }
        let form = format!("token={token}");
        let login = http.post(server.page("/login")).body(form);
        login.header("Content-Type", "application/x-www-form-urlencoded").send().await.unwrap();
    }
    let client = crate::doors::client(&server, &shared).await;
    call(&client, "search_knowledge", json!({"query": "sessions"})).await;
    client.cancel().await.unwrap();
    server.terminate();
    let (status, log) = server.ended();
    assert!(status.success(), "{log}");
    let lines = check_json_lines(&log);
    let stops = |line: &&Value| line["message"].as_str().is_some_and(|m| m.contains("stops"));
    let stopping = lines.iter().find(stops).unwrap();
    assert_eq!((&stopping["level"], &stopping["grace_seconds"]), (&json!("INFO"), &json!(10)));
    let shared = shared.rsplit('_').next().unwrap();
    for secret in [secret, shared, "thisisnotatokenbutasecret", Postgres::shared().password()] {
        let told = log.lines().find(|line| line.contains(secret));
        assert_eq!(told, None, "a secret is logged");
    }
}

#[test]
fn a_failure_is_a_line_of_the_log_as_well() {
    let mut command = kenning(&handbook(), &["--http", "0.0.0.0:0"]);
    let home = TempDir::new().unwrap();
    command.env("HOME", home.path()).env("KENNING_SERVER_LOG_FORMAT", "json");
    let refused = command.output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let lines = check_json_lines(&String::from_utf8(refused.stderr).unwrap());
    let last = lines.last().unwrap();
    assert_eq!(last["level"], "ERROR");
    assert!(last["hint"].as_str().unwrap().contains("kenning token create"), "{last}");
}

#[test]
fn json_logs_leave_standard_output_to_the_protocol() {
    let mut command = kenning(&handbook(), &[]);
    command.args(["--log-level", "debug"]).env("KENNING_SERVER_LOG_FORMAT", "json");
    command.env("KENNING_SERVER_ATTACH", "false");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.output().unwrap();
    assert!(output.status.success());
    assert!(output.stdout.is_empty());
    assert!(!check_json_lines(&String::from_utf8(output.stderr).unwrap()).is_empty());
}
