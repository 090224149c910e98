//! One server for many clients on standard streams.

mod admission;
mod fixture;
mod loss;

use std::io::{BufRead, BufReader, Write};

use kenning_testkit::{DeadlineReader, finish, jsonrpc, wait};
use rmcp::model::{
    ReadResourceRequestParams, ServerNotification, SubscribeRequestParams, SubscriptionFilter,
};
use serde_json::{Value, json};

use self::fixture::{Attached, Fixture, legacy, memory, signal};
use crate::server::protocol::check_everything;
use crate::server::support::{ResourceUpdates, call, within};

/// Ten calls whose answers do not depend on vectors or clocks.
fn calls() -> [(&'static str, Value); 10] {
    let keyword = |query: &str| json!({"query": query, "search_type": "keyword"});
    [
        ("search_knowledge", keyword("slow query plan")),
        ("search_knowledge", keyword("signing keys")),
        ("retrieve_knowledge", json!({"ids": ["guidelines.security.authentication"]})),
        ("retrieve_knowledge", json!({"ids": ["plans.multi_tenancy.schema", "nope"]})),
        ("list_knowledge_bases", json!({})),
        ("list_knowledge_bases", json!({"filter_type": "plan"})),
        ("get_dependencies", json!({"node_id": "plans.multi_tenancy.backfill"})),
        ("lookup_capability", json!({"agent": "claude-code", "capability": "hooks"})),
        ("compare_capability", json!({"capability": "hooks"})),
        ("list_all_capabilities", json!({})),
    ]
}

#[tokio::test]
async fn ten_clients_share_one_server_and_leave_nothing_behind() {
    let fixture = Fixture::handbook();
    let alone = fixture.client(&[]).await;
    let server = fixture.server(&[]);
    let mut clients = Vec::new();
    for n in 0..10 {
        clients.push(if n % 2 == 0 {
            fixture.client(&[]).await
        } else {
            fixture.modern_client().await
        });
    }
    assert_eq!(fixture.connections(), 10);
    let asked = clients.iter().zip(calls()).map(|(client, (tool, arguments))| {
        let alone = &alone.client;
        async move {
            let answer = call(&client.client, tool, arguments.clone()).await;
            assert_eq!(answer, call(alone, tool, arguments).await, "{tool}");
        }
    });
    join_all(asked).await;

    let own = memory(alone.pid);
    for client in &clients {
        let shared = memory(client.pid);
        assert!(shared * 3 < own, "{shared} kB where a server of its own takes {own} kB");
    }
    let found = fixture.doctor();
    let (pid, message) = (server.child.id(), found["message"].as_str().unwrap());
    assert!(message.starts_with(&format!("process {pid} serves 10 clients at /")), "{found}");

    within(alone.client.cancel()).await.unwrap();
    for Attached { client, .. } in clients {
        within(client.cancel()).await.unwrap();
    }
    fixture.wait_for_connections(0).await;
    assert_eq!(fixture.processes(), [pid], "only the server runs");
    server.stop().await;
    assert_eq!((fixture.processes(), fixture.socket()), (Vec::new(), None));
    assert_eq!(fixture.doctor()["status"], "ok", "it is no problem that none runs");
}

/// Polls all futures at once.
async fn join_all(all: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut all: Vec<_> = all.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        all.retain_mut(|one| one.as_mut().poll(context).is_pending());
        if all.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

#[tokio::test]
async fn a_shared_server_answers_as_ones_own_in_both_protocol_eras() {
    let fixture = Fixture::handbook();
    let _server = fixture.server(&[]);
    for is_old in [true, false] {
        let client = if is_old { fixture.client(&[]).await } else { fixture.modern_client().await };
        assert_eq!(fixture.connections(), 1);
        check_everything(&client.client).await;
        within(client.client.cancel()).await.unwrap();
        fixture.wait_for_connections(0).await;
    }
}

#[tokio::test]
async fn each_client_is_offered_the_toolsets_it_asks_for() {
    let fixture = Fixture::with_files(&[("a.md", "# A\n")]);
    let _server = fixture.server(&["--toolsets", "all"]);
    let offered = async |words: &[&str]| {
        let Attached { client, .. } = fixture.client(words).await;
        assert_eq!(fixture.connections(), 1, "{words:?}");
        let tools = within(client.list_all_tools()).await.unwrap();
        let about = ReadResourceRequestParams::new("capabilities://server");
        let about = within(client.read_resource(about)).await.unwrap();
        let about = serde_json::to_value(&about.contents[0]).unwrap()["text"].clone();
        let about: Value = serde_json::from_str(about.as_str().unwrap()).unwrap();
        assert_eq!(about["tool_count"], tools.len());
        within(client.cancel()).await.unwrap();
        fixture.wait_for_connections(0).await;
        tools.into_iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(offered(&[]).await.len(), 14);
    assert_eq!(offered(&["--toolsets", "catalog"]).await.len(), 4);
    assert!(offered(&["--toolsets", "all"]).await.contains(&"assemble_artifact".to_owned()));
    let reading = offered(&["--read-only"]).await;
    assert!(reading.contains(&"get_agent_capabilities".to_owned()));
    assert!(!reading.contains(&"register_agent_capabilities".to_owned()));
}

#[tokio::test]
#[expect(deprecated, reason = "this is how clients before 2026-07-28 subscribe")]
async fn notifications_of_changes_pass_through_a_shared_server() {
    let fixture = Fixture::with_files(&[("a.md", "# A\n")]);
    let _server = fixture.server(&[]);
    let (sender, mut changed) = tokio::sync::mpsc::unbounded_channel();
    let old = fixture.client_of(ResourceUpdates(sender), &[], legacy()).await.client;
    let new = fixture.modern_client().await.client;
    assert_eq!(fixture.connections(), 2);
    let uri = within(new.list_all_resources()).await.unwrap()[0].uri.clone();
    within(old.subscribe(SubscribeRequestParams::new(&uri))).await.unwrap();
    let filter = SubscriptionFilter::builder().resource_subscription(&uri);
    let mut changes = within(new.listen(filter.build())).await.unwrap();
    fixture.write("a.md", "# A\nnew\n");
    assert_eq!(within(changed.recv()).await.unwrap(), uri);
    let updated = within(changes.next()).await.unwrap().unwrap();
    assert!(
        matches!(updated, ServerNotification::ResourceUpdatedNotification(n) if n.params.uri == uri)
    );
    fixture.write("b.md", "# B\n");
    assert_eq!(within(changed.recv()).await.unwrap(), "list");
    within(old.cancel()).await.unwrap();
    drop(changes);
    within(new.cancel()).await.unwrap();
    fixture.wait_for_connections(0).await;
}

#[test]
fn an_attached_process_writes_only_protocol_and_ends_with_its_client() {
    let fixture = Fixture::with_files(&[("a.md", "# A\n")]);
    let _server = fixture.server(&[]);
    let mut child = fixture.raw(&[]);
    let mut stdin = child.stdin.take().unwrap();
    // More than a server reads on its standard input.
    let long = " ".repeat(kenning_mcp::stdio::MAX_LINE);
    let lines = [
        jsonrpc::initialize(1).to_string(),
        jsonrpc::notification("notifications/initialized").to_string(),
        jsonrpc::request(2, &long, &json!({})).to_string(),
        "this is not JSON".to_owned(),
        jsonrpc::request(3, "tools/list", &json!({})).to_string(),
    ];
    // On a thread of its own: a process that does not read blocks it until `finish` kills it.
    let sending = std::thread::spawn(move || writeln!(stdin, "{}", lines.join("\n")).unwrap());
    let ended = finish(child);
    sending.join().unwrap();
    let log = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success(), "{log}");
    assert!(log.contains("served by process") && log.contains("is skipped"), "{log}");
    let answers = String::from_utf8(ended.stdout).unwrap();
    let answers: Vec<Value> =
        answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].as_u64()).collect();
    assert_eq!(ids, [Some(1), None, Some(3)]);
    assert_eq!(answers[1]["error"]["code"], -32700, "{:?}", answers[1]);
    assert!(answers[2]["result"]["tools"].is_array());
}

#[tokio::test]
async fn a_signal_ends_an_attached_process_gracefully() {
    let fixture = Fixture::with_files(&[("a.md", "# A\n")]);
    let _server = fixture.server(&[]);
    let mut child = fixture.raw(&[]);
    fixture.wait_for_connections(1).await;
    let mut log = BufReader::new(DeadlineReader::new(child.stderr.take().unwrap())).lines();
    assert!(log.next().unwrap().unwrap().contains("served by process"));
    signal(child.id(), "-TERM");
    assert!(wait(&mut child).success());
    fixture.wait_for_connections(0).await;
}
