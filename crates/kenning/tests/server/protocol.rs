//! Everything the protocol offers, over both transports and in both eras.

use std::io::Write;
use std::process::Stdio;

use kenning_testkit::{LineProcess, finish, jsonrpc};
use reqwest::{Method, StatusCode};
use rmcp::model::{
    ArgumentInfo, CompleteRequestParams, ErrorCode, ErrorData, GetPromptRequestParams,
    PaginatedRequestParams, ReadResourceRequestParams, Reference, ResourceContents, object,
};
use rmcp::service::ServiceError;
use serde_json::{Value, json};

use crate::server::support::{Answer, Client, Project, call, connect_with, modern, within};

const JSON: &str = "application/json";

/// What every connection must be able to do.
pub(crate) async fn check_everything(client: &Client) {
    check_tools(client).await;
    check_resources(client).await;
    check_prompts_and_completion(client).await;
}

async fn check_tools(client: &Client) {
    let tools = within(client.list_all_tools()).await.unwrap();
    assert_eq!(tools.len(), 14);

    let ids = json!({"ids": ["guidelines.security.authentication", "nope"]});
    let got = call(client, "retrieve_knowledge", ids).await;
    assert_eq!(got["nodes"][0]["path"], "guidelines/SECURITY.md#authentication");
    assert!(got["total_tokens"].as_u64().unwrap() > 100);
    assert_eq!(got["not_found"][0]["id"], "nope");

    let query = json!({"query": "slow query plan", "search_type": "keyword"});
    let found = call(client, "search_knowledge", query).await;
    let first = found["results"][0]["id"].as_str().unwrap();
    assert!(first.starts_with("skills.debug_slow_query"), "{found}");

    let typo = call(client, "search_knowledge", json!({"qurey": "x"})).await;
    assert_eq!(typo["error"], "INVALID_ARGUMENT");
    let wrong = call(client, "retrieve_knowledge", json!({"ids": ["a", 2]})).await;
    assert!(wrong["message"].as_str().unwrap().starts_with("ids[1]: "), "{wrong}");

    let deps =
        call(client, "get_dependencies", json!({"node_id": "plans.multi_tenancy.backfill"})).await;
    assert_eq!(deps["upstream"][0]["id"], "plans.multi_tenancy.schema");
    let list = call(client, "list_knowledge_bases", json!({"filter_type": "plan"})).await;
    assert_eq!(list["total_available"], 1);
}

/// URIs that name nothing, and what the error names: the path as it was decoded, or the part that
/// is unknown.
const NOT_FOUND: [(&str, &str); 9] = [
    ("knowledge://knowledge/../../../etc/passwd", "`../../../etc/passwd`"),
    ("knowledge://knowledge/%2e%2e/%2e%2e/etc/passwd", "`../../etc/passwd`"),
    ("knowledge://knowledge//etc/passwd", "`/etc/passwd`"),
    ("knowledge://knowledge/%2fetc%2fpasswd", "`/etc/passwd`"),
    ("knowledge://knowledge/a%00.md", "`a\\0.md`"),
    ("knowledge://knowledge/a%5c..%5cb.md", "`a\\\\..\\\\b.md`"),
    ("file:///etc/passwd", "`file:///etc/passwd`"),
    ("knowledge://nowhere/README.md", "`nowhere`"),
    ("knowledge://knowledge/README.md#nowhere", "`nowhere`"),
];

async fn check_resources(client: &Client) {
    let resources = within(client.list_all_resources()).await.unwrap();
    let files = resources.iter().filter(|resource| resource.uri.starts_with("knowledge://"));
    assert_eq!(files.count(), 14);
    let read = |uri: &str| within(client.read_resource(ReadResourceRequestParams::new(uri)));
    let section =
        read("knowledge://knowledge/guidelines/SECURITY.md#authentication").await.unwrap();
    let ResourceContents::TextResourceContents { text, mime_type, meta, .. } = &section.contents[0]
    else {
        panic!("a section is text");
    };
    assert!(text.starts_with("## Authentication\n- id: guidelines.security.authentication"));
    assert_eq!(mime_type.as_deref(), Some("text/markdown"));
    let meta = serde_json::to_value(meta).unwrap();
    assert_eq!((&meta["type"], &meta["status"]), (&json!("guideline"), &json!("active")));
    // From 2026-07-28 on the protocol has no code of its own for this.
    let is_modern = client.peer_info().unwrap().protocol_version.as_str() >= "2026-07-28";
    let code = if is_modern { ErrorCode::INVALID_PARAMS } else { ErrorCode::RESOURCE_NOT_FOUND };
    for (uri, named) in NOT_FOUND {
        let error = protocol_error(read(uri).await);
        assert_eq!(error.code, code, "{uri}: {error:?}");
        assert!(error.message.contains(named), "{uri}: {error:?}");
        assert_eq!(error.data, Some(json!({ "uri": uri })));
    }
}

fn protocol_error<T: std::fmt::Debug>(answer: Result<T, ServiceError>) -> ErrorData {
    match answer.unwrap_err() {
        ServiceError::McpError(error) => error,
        other => panic!("this is no error of the protocol: {other:?}"),
    }
}

async fn check_prompts_and_completion(client: &Client) {
    let prompt = GetPromptRequestParams::new("task_preparation")
        .with_arguments(object(json!({"task": "Add {login}"})));
    let prompt = within(client.get_prompt(prompt)).await.unwrap();
    let text = serde_json::to_string(&prompt.messages).unwrap();
    assert!(text.contains("Add {login}") && text.contains("relevance_score > 0.7"), "{text}");
    let without = GetPromptRequestParams::new("task_preparation");
    let error = protocol_error(within(client.get_prompt(without)).await);
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    assert!(error.message.contains("the argument `task`"), "{error:?}");

    let complete = |template: &str, argument: &str, value: &str| {
        let reference = Reference::for_resource(template);
        let argument = ArgumentInfo::new(argument, value);
        within(client.complete(CompleteRequestParams::new(reference, argument)))
    };
    let paths = complete("knowledge://{base}/{+path}", "path", "guide").await.unwrap();
    assert_eq!(paths.completion.values.len(), 4);
    let nodes = complete("knowledge://{base}/{+path}#{node}", "node", "authen").await.unwrap();
    assert_eq!(nodes.completion.values, ["authentication", "authentication.signing_key_rotation"]);
}

#[tokio::test]
async fn stdio_serves_clients_that_initialize() {
    let client = Project::handbook().client(&[]).await;
    check_everything(&client).await;
    within(client.cancel()).await.unwrap();
}

#[tokio::test]
async fn stdio_serves_clients_that_discover() {
    let client = connect_with((), Project::handbook().serve(&[]), modern()).await;
    assert_eq!(client.peer_info().unwrap().protocol_version.as_str(), "2026-07-28");
    check_everything(&client).await;
    within(client.cancel()).await.unwrap();
}

#[tokio::test]
async fn http_serves_clients_of_both_eras() {
    let server = Project::handbook().http(&[], &[]);
    let client = server.client().await;
    let resources = client.peer_info().unwrap().capabilities.resources.clone().unwrap();
    assert_eq!(resources.subscribe, None, "a stateless server cannot notify, and says so");
    check_everything(&client).await;
    within(client.cancel()).await.unwrap();
    let client = server.modern_client().await;
    check_everything(&client).await;
    within(client.cancel()).await.unwrap();
}

#[tokio::test]
async fn long_lists_come_in_pages() {
    let project = Project::empty();
    for n in 0..250 {
        project.write(&format!("f{n:03}.md"), "# x\n");
    }
    let client = project.client(&[]).await;
    let first = within(client.list_resources(None)).await.unwrap();
    assert_eq!(first.resources.len(), 100);
    let all = within(client.list_all_resources()).await.unwrap();
    let files = all.iter().filter(|resource| resource.uri.starts_with("knowledge://"));
    assert_eq!(files.count(), 250);
    let wrong = PaginatedRequestParams::default().with_cursor(Some("rubbish".into()));
    let error = protocol_error(within(client.list_resources(Some(wrong))).await);
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    assert!(error.message.starts_with("`rubbish` is not a cursor"), "{error:?}");
    within(client.cancel()).await.unwrap();
}

#[test]
fn stdout_carries_protocol_only_and_the_process_ends_with_stdin() {
    let mut command = Project::handbook().serve(&[]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in [
        jsonrpc::initialize(1).to_string(),
        jsonrpc::notification("notifications/initialized").to_string(),
        jsonrpc::request(2, "tools/list", &json!({})).to_string(),
        "this is not JSON".to_owned(),
        jsonrpc::request(3, "no/such", &json!({})).to_string(),
    ] {
        writeln!(stdin, "{line}").unwrap();
    }
    drop(stdin);
    let output = finish(child);
    assert!(output.status.success(), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let messages: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(messages.iter().all(|message| message["jsonrpc"] == "2.0"));
    let answer = |id: u64| messages.iter().find(|message| message["id"] == id).unwrap();
    assert!(answer(2)["result"]["tools"].is_array());
    assert_eq!(answer(3)["error"]["code"], ErrorCode::METHOD_NOT_FOUND.0);
}

/// A request with 200 kB of brackets.
fn nested_call(id: u64) -> String {
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let call = jsonrpc::call_tool(id, "search_knowledge", &json!({"query": "QUERY"})).to_string();
    call.replace("\"QUERY\"", &format!("{open}{close}"))
}

#[tokio::test]
async fn messages_that_cannot_be_read_are_errors_of_json_rpc_over_http() {
    let server = Project::handbook().http(&[], &[]);
    let send = async |body: String| {
        let request = server.request(Method::POST, "/mcp").header("Content-Type", JSON);
        let request = request.header("Accept", "application/json, text/event-stream");
        Answer::to(request.body(body)).await
    };
    let cases = [
        (nested_call(7), -32700, json!(7)),
        ("{\"jsonrpc\": ".to_owned(), -32700, Value::Null),
        ("[]".to_owned(), -32600, Value::Null),
    ];
    for (body, code, id) in cases {
        let start = body.chars().take(40).collect::<String>();
        let refused = send(body).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{start}: {}", refused.text);
        assert_eq!(refused.header("content-type"), JSON, "{start}");
        let answer = refused.json();
        let found = (&answer["jsonrpc"], &answer["error"]["code"], &answer["id"]);
        assert_eq!(found, (&json!("2.0"), &json!(code), &id), "{start}: {answer}");
    }
    let text = server.request(Method::POST, "/mcp").header("Content-Type", "text/plain");
    let text = text.header("Accept", "application/json, text/event-stream").body("{}");
    assert_eq!(Answer::to(text).await.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let large = send(format!("\"{}\"", "x".repeat(5_000_000))).await;
    assert_eq!(large.status, StatusCode::PAYLOAD_TOO_LARGE, "{}", large.text);
    server.stop().await;
}

#[test]
fn messages_that_cannot_be_read_are_errors_of_json_rpc_over_stdio() {
    let mut process = LineProcess::start(&mut Project::handbook().serve(&[]));
    process.send(&jsonrpc::initialize(1).to_string());
    assert!(process.line().contains("\"result\""));
    for (line, id) in [(nested_call(7), json!(7)), ("not JSON".to_owned(), Value::Null)] {
        process.send(&line);
        let answer: Value = serde_json::from_str(&process.line()).unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32700), &id), "{answer}");
    }
    process.send(&jsonrpc::request(8, "ping", &json!({})).to_string());
    let answer: Value = serde_json::from_str(&process.line()).unwrap();
    assert_eq!(answer["id"], 8, "the session goes on: {answer}");
    assert!(process.close().success());
}

#[test]
fn a_client_that_sends_nothing_is_no_error() {
    let output = kenning_testkit::output(&mut Project::handbook().serve(&[]));
    assert!(output.status.success(), "{output:?}");
    assert!(output.stdout.is_empty());
}
