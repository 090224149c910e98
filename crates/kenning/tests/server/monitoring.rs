//! Health, metrics and the format of the log.

use prometheus_parse::{Scrape, Value as Sample};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::server::support::{
    Answer, DEADLINE, Project, Server, call, eventually, finished, within,
};

/// Asks `/readyz` until it answers with this status, and returns the body.
pub(crate) async fn readiness_becomes(server: &Server, status: StatusCode) -> Value {
    eventually(DEADLINE, async || {
        let answer = server.get("/readyz").await;
        (answer.status == status).then(|| answer.json())
    })
    .await
}

/// A scrape, read by a parser that is not ours.
struct Metrics {
    scrape: Scrape,
    text: String,
}

impl Metrics {
    async fn scrape(server: &Server, token: &str) -> Self {
        let request = server.request(Method::GET, "/metrics").bearer_auth(token);
        let answer = Answer::to(request).await;
        let kind = answer.header("content-type");
        assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
        let lines = answer.text.lines().map(|line| Ok(line.to_owned()));
        Self { scrape: Scrape::parse(lines).unwrap(), text: answer.text }
    }

    /// The value of the metric with these labels.
    fn of(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let fits = |sample: &&prometheus_parse::Sample| {
            sample.metric == name
                && labels.iter().all(|(name, value)| sample.labels.get(name) == Some(*value))
        };
        match self.scrape.samples.iter().find(fits)?.value {
            Sample::Counter(value) | Sample::Gauge(value) | Sample::Untyped(value) => Some(value),
            ref other => panic!("{name}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn metrics_need_the_read_scope_and_hold_no_client_text() {
    let project = Project::private_handbook();
    let read = project.token("prometheus", "read");
    let ingest = project.token("sender", "ingest");
    let server = project.http_with_tokens(&[]);
    let status = async |request: RequestBuilder| Answer::to(request).await.status;
    let scrape = || server.request(Method::GET, "/metrics");
    assert_eq!(status(scrape()).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(scrape().bearer_auth(&ingest)).await, StatusCode::FORBIDDEN);
    let by_cookie = scrape().header("Cookie", format!("kenning_token={read}"));
    assert_eq!(status(by_cookie).await, StatusCode::UNAUTHORIZED, "it is not a page");
    for path in ["/healthz", "/readyz"] {
        assert_ne!(server.get(path).await.status, StatusCode::UNAUTHORIZED, "{path}");
    }

    let client = server.client_with_token(&read).await;
    call(&client, "search_knowledge", json!({"query": "zebracorn"})).await;
    call(&client, "search_knowledge", json!({"query": "sessions"})).await;
    call(&client, "retrieve_knowledge", json!({"ids": []})).await;
    within(client.cancel()).await.unwrap();
    let odd = server.request("ZEBRA".parse().unwrap(), "/zebra-of-a-client");
    assert_eq!(status(odd.bearer_auth(&read)).await, StatusCode::NOT_FOUND);
    let agent = server.request(Method::GET, "/api/v1/agents/424242").bearer_auth(&read);
    assert_eq!(status(agent).await, StatusCode::NOT_FOUND);

    let metrics = Metrics::scrape(&server, &read).await;
    let search = [("tool", "search_knowledge")];
    assert_eq!(metrics.of("kenning_tool_calls_total", &search), Some(2.0));
    assert_eq!(metrics.of("kenning_tool_errors_total", &search), Some(0.0));
    assert_eq!(metrics.of("kenning_tool_duration_seconds_count", &search), Some(2.0));
    assert!(metrics.of("kenning_tool_duration_seconds_sum", &search) > Some(0.0));
    let retrieve = [("tool", "retrieve_knowledge")];
    assert_eq!(metrics.of("kenning_tool_calls_total", &retrieve), Some(1.0));
    assert_eq!(metrics.of("kenning_tool_errors_total", &retrieve), Some(1.0));
    assert_eq!(metrics.of("kenning_recorded_calls_total", &[]), Some(3.0));
    assert_eq!(metrics.of("kenning_recorded_calls_dropped_total", &[]), Some(0.0));
    assert_eq!(metrics.of("kenning_store_up", &[]), Some(1.0));
    assert!(metrics.of("kenning_index_nodes", &[]) > Some(10.0));
    assert!(metrics.of("kenning_index_files", &[]) > Some(1.0));
    assert!(metrics.of("kenning_index_vectors", &[]).is_some());
    assert_eq!(metrics.of("kenning_mcp_listeners", &[]), Some(0.0));
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    assert_eq!(metrics.of("kenning_build_info", &version), Some(1.0));
    let requests = "kenning_http_requests_total";
    let mcp = [("method", "POST"), ("route", "/mcp"), ("status", "200")];
    assert!(metrics.of(requests, &mcp) >= Some(3.0));
    let odd = [("method", "other"), ("route", "other"), ("status", "404")];
    assert_eq!(metrics.of(requests, &odd), Some(1.0));
    // This parser cannot read braces in a label; others can.
    let agent = r#"{method="GET",route="/api/v1/agents/{agent_id}",status="404"} 1"#;
    assert!(metrics.text.contains(&format!("{requests}{agent}\n")), "{}", metrics.text);
    let refused = [("route", "/metrics"), ("status", "401")];
    assert_eq!(metrics.of(requests, &refused), Some(2.0));
    assert_eq!(metrics.of("kenning_http_requests_under_way", &[]), Some(1.0), "this request");
    assert!(!metrics.text.to_lowercase().contains("zebra"), "{}", metrics.text);
}

#[tokio::test]
async fn metrics_come_as_openmetrics_if_asked_for() {
    let server = Project::handbook().http(&[], &[]);
    let accepted = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    let request = server.request(Method::GET, "/metrics").header("Accept", accepted);
    let answer = Answer::to(request).await;
    let kind = answer.header("content-type");
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
    assert!(answer.text.ends_with("# EOF\n"));
}

/// Every line is an object with time, level and target.
pub(crate) fn check_json_lines(log: &str) -> Vec<Value> {
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

#[test]
fn a_failed_start_is_logged_as_json_too() {
    let project = Project::private_handbook();
    let mut command = project.serve(&["--http", "0.0.0.0:0"]);
    let refused = finished(command.env("KENNING_SERVER_LOG_FORMAT", "json"));
    assert_eq!(refused.code, Some(2));
    let lines = check_json_lines(&refused.err);
    let last = lines.last().unwrap();
    assert_eq!(last["level"], "ERROR");
    assert!(last["hint"].as_str().unwrap().contains("kenning token create"), "{last}");
}

#[test]
fn json_logs_leave_standard_output_to_the_protocol() {
    let mut command = Project::handbook().serve(&["--log-level", "debug"]);
    let ended = finished(command.env("KENNING_SERVER_LOG_FORMAT", "json")).success();
    assert!(ended.out.is_empty());
    assert!(!check_json_lines(&ended.err).is_empty());
}
