//! Everything the protocol offers, over both transports and in both eras.

use std::io::Write;
use std::process::{Command, Stdio};

use kenning_testkit::write_at_once;
use rmcp::model::{
    ArgumentInfo, CompleteRequestParams, GetPromptRequestParams, JsonObject,
    PaginatedRequestParams, ReadResourceRequestParams, Reference, ResourceContents,
    ResourceUpdatedNotificationParam, ServerNotification, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams, object,
};
use rmcp::service::{NotificationContext, RoleClient};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ServiceExt};
use serde_json::json;
use tempfile::TempDir;

use crate::client::{Client, HttpServer, call, handbook, kenning, modern, stdio_client};

/// What every connection must be able to do.
pub(crate) async fn check_everything(client: &Client) {
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools.len(), 14);

    let got = call(
        client,
        "retrieve_knowledge",
        json!({"ids": ["guidelines.security.authentication", "nope"]}),
    )
    .await;
    assert_eq!(got["nodes"][0]["path"], "guidelines/SECURITY.md#authentication");
    assert!(got["total_tokens"].as_u64().unwrap() > 100);
    assert_eq!(got["not_found"][0]["id"], "nope");

    let found = call(
        client,
        "search_knowledge",
        json!({"query": "slow query plan", "search_type": "keyword"}),
    )
    .await;
    assert!(
        found["results"][0]["id"].as_str().unwrap().starts_with("skills.debug_slow_query"),
        "{found}"
    );

    let typo = call(client, "search_knowledge", json!({"qurey": "x"})).await;
    assert_eq!(typo["error"], "INVALID_ARGUMENT");
    let wrong = call(client, "retrieve_knowledge", json!({"ids": ["a", 2]})).await;
    assert!(wrong["message"].as_str().unwrap().starts_with("ids[1]: "), "{wrong}");

    let deps =
        call(client, "get_dependencies", json!({"node_id": "plans.multi_tenancy.backfill"})).await;
    assert_eq!(deps["upstream"][0]["id"], "plans.multi_tenancy.schema");
    let list = call(client, "list_knowledge_bases", json!({"filter_type": "plan"})).await;
    assert_eq!(list["total_available"], 1);

    let resources = client.list_all_resources().await.unwrap();
    let files = resources.iter().filter(|resource| resource.uri.starts_with("knowledge://"));
    assert_eq!(files.count(), 14);
    let read = |uri: &str| client.read_resource(ReadResourceRequestParams::new(uri));
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
    for uri in [
        "knowledge://knowledge/../../../etc/passwd",
        "knowledge://knowledge/%2e%2e/%2e%2e/etc/passwd",
        "knowledge://knowledge//etc/passwd",
        "knowledge://knowledge/%2fetc%2fpasswd",
        "knowledge://knowledge/a%00.md",
        "knowledge://knowledge/a%5c..%5cb.md",
        "file:///etc/passwd",
        "knowledge://nowhere/README.md",
        "knowledge://knowledge/README.md#nowhere",
    ] {
        let error = read(uri).await.expect_err(uri).to_string();
        assert!(error.contains("not") || error.contains("no "), "{uri}: {error}");
    }

    let prompt = GetPromptRequestParams::new("task_preparation")
        .with_arguments(object(json!({"task": "Add {login}"})));
    let prompt = client.get_prompt(prompt).await.unwrap();
    let text = serde_json::to_string(&prompt.messages).unwrap();
    assert!(text.contains("Add {login}") && text.contains("relevance_score > 0.7"), "{text}");
    assert!(client.get_prompt(GetPromptRequestParams::new("task_preparation")).await.is_err());

    let complete = |template: &str, argument: &str, value: &str| {
        let reference = Reference::for_resource(template);
        client.complete(CompleteRequestParams::new(reference, ArgumentInfo::new(argument, value)))
    };
    let paths = complete("knowledge://{base}/{+path}", "path", "guide").await.unwrap();
    assert_eq!(paths.completion.values.len(), 4);
    let nodes = complete("knowledge://{base}/{+path}#{node}", "node", "authen").await.unwrap();
    assert_eq!(nodes.completion.values, ["authentication", "authentication.signing_key_rotation"]);
}

#[tokio::test]
async fn stdio_serves_clients_that_initialize() {
    let client = stdio_client(&handbook()).await;
    check_everything(&client).await;
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn http_serves_clients_that_initialize() {
    let server = HttpServer::start(&handbook());
    let client = server.client().await;
    let resources = client.peer_info().unwrap().capabilities.resources.clone().unwrap();
    assert_eq!(
        resources.subscribe, None,
        "a stateless server cannot notify, and does not say it can"
    );
    check_everything(&client).await;
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn both_transports_serve_clients_that_discover() {
    let transport =
        TokioChildProcess::new(tokio::process::Command::from(kenning(&handbook(), &[]))).unwrap();
    let client = rmcp::service::serve_client_with_lifecycle((), transport, modern()).await.unwrap();
    assert_eq!(client.peer_info().unwrap().protocol_version.as_str(), "2026-07-28");
    check_everything(&client).await;
    client.cancel().await.unwrap();
    let server = HttpServer::start(&handbook());
    let transport = StreamableHttpClientTransport::from_uri(server.url.as_str());
    let client = rmcp::service::serve_client_with_lifecycle((), transport, modern()).await.unwrap();
    check_everything(&client).await;
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn long_lists_come_in_pages() {
    let folder = TempDir::new().unwrap();
    for n in 0..250 {
        std::fs::write(folder.path().join(format!("f{n:03}.md")), "# x\n").unwrap();
    }
    let client = stdio_client(folder.path()).await;
    let first = client.list_resources(None).await.unwrap();
    assert_eq!(first.resources.len(), 100);
    let all = client.list_all_resources().await.unwrap();
    let files = all.iter().filter(|resource| resource.uri.starts_with("knowledge://"));
    assert_eq!(files.count(), 250);
    let wrong = PaginatedRequestParams::default().with_cursor(Some("rubbish".into()));
    assert!(
        client.list_resources(Some(wrong)).await.unwrap_err().to_string().contains("not a cursor")
    );
    client.cancel().await.unwrap();
}

#[test]
fn stdout_carries_protocol_only_and_the_process_ends_with_stdin() {
    let mut child = kenning(&handbook(), &[])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    });
    writeln!(stdin, "{initialize}").unwrap();
    writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .unwrap();
    writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).unwrap();
    writeln!(stdin, "this is not JSON").unwrap();
    writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": 3, "method": "no/such"})).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let messages: Vec<JsonObject> =
        stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(messages.iter().all(|message| message["jsonrpc"] == "2.0"));
    assert!(
        messages.iter().any(|message| message["id"] == 2 && message["result"]["tools"].is_array())
    );
}

#[test]
fn a_client_that_says_nothing_is_no_error() {
    let mut child =
        kenning(&handbook(), &[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(output.stdout.is_empty());
}

#[test]
fn foreign_hosts_and_origins_are_refused() {
    let server = HttpServer::start(&handbook());
    let address =
        server.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    })
    .to_string();
    let post = |host: &str, origin: Option<&str>| {
        let origin = origin.map(|origin| format!("\r\nOrigin: {origin}")).unwrap_or_default();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}{origin}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream"
        );
        let answer = server.raw(&head, &body);
        answer.lines().next().unwrap().split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(post(&address, None), "200");
    assert_eq!(post(&address, Some(&format!("http://{address}"))), "200");
    assert_eq!(post("evil.example.com", None), "403");
    for origin in ["http://evil.example.com", "https://127.0.0.1", "http://127.0.0.1:1", "null"] {
        assert_eq!(post(&address, Some(origin)), "403", "{origin}");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_server_gracefully() {
    let mut server = HttpServer::start(&handbook());
    let killed = Command::new("kill").arg(server.child.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert!(server.child.wait().unwrap().success());
}

/// Hears what a server tells a client of the `initialize` eras.
pub(crate) struct Listener(pub(crate) tokio::sync::mpsc::UnboundedSender<String>);

impl ClientHandler for Listener {
    async fn on_resource_updated(
        &self,
        update: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let _ = self.0.send(update.uri);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.0.send("list".to_owned());
    }
}

#[tokio::test]
#[expect(deprecated, reason = "this is how clients before 2026-07-28 subscribe")]
async fn subscribers_hear_of_changes_over_stdio() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| write_at_once(&folder.path().join(name), text);
    write("a.md", "# A\n## B\n");
    let (tell, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let mut command = tokio::process::Command::from(kenning(folder.path(), &[]));
    // Whatever else changes in the home that tests share is not to be heard here.
    let home = TempDir::new().unwrap();
    command.env("HOME", home.path());
    let client = Listener(tell).serve(TokioChildProcess::new(command).unwrap()).await.unwrap();
    let uri = client.list_all_resources().await.unwrap()[0].uri.clone();
    let section = format!("{uri}#b");
    client.subscribe(SubscribeRequestParams::new(&section)).await.unwrap();
    let missing = client.subscribe(SubscribeRequestParams::new("knowledge://x/y.md")).await;
    assert!(missing.is_err(), "what is not there cannot be subscribed to");
    write("a.md", "# A\n## B\nnew\n");
    assert_eq!(heard.recv().await.unwrap(), section);
    write("c.md", "# C\n");
    assert_eq!(heard.recv().await.unwrap(), "list");
    client.unsubscribe(UnsubscribeRequestParams::new(&section)).await.unwrap();
    write("a.md", "# A\n## B\nnewer\n");
    std::fs::remove_file(folder.path().join("c.md")).unwrap();
    assert_eq!(heard.recv().await.unwrap(), "list", "and nothing of a.md before");
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn subscribers_hear_of_changes_over_http() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("a.md"), "# A\n").unwrap();
    let home = TempDir::new().unwrap();
    let server = HttpServer::with_home(folder.path(), home.path());
    let transport = StreamableHttpClientTransport::from_uri(server.url.as_str());
    let client = rmcp::service::serve_client_with_lifecycle((), transport, modern()).await.unwrap();
    let uri = client.list_all_resources().await.unwrap()[0].uri.clone();
    let filter = SubscriptionFilter::builder().resource_subscription(&uri).resources_list_changed();
    let mut subscription = client.listen(filter.build()).await.unwrap();
    write_at_once(&folder.path().join("a.md"), "# A\nnew\n");
    let updated = subscription.next().await.unwrap().unwrap();
    assert!(
        matches!(updated, ServerNotification::ResourceUpdatedNotification(n) if n.params.uri == uri)
    );
    write_at_once(&folder.path().join("b.md"), "# B\n");
    let listed = subscription.next().await.unwrap().unwrap();
    assert!(matches!(listed, ServerNotification::ResourceListChangedNotification(_)));
    client.cancel().await.unwrap();
}
