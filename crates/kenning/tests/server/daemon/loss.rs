//! A server that goes away while it is shared.

use std::process::Stdio;

use kenning_testkit::{LineProcess, jsonrpc};
use rmcp::model::{
    CallToolRequestParams, ServerNotification, SubscribeRequestParams, SubscriptionFilter, object,
};
use serde_json::{Value, json};

use super::fixture::{Attached, Fixture, legacy, signal};
use crate::server::support::{DEADLINE, ResourceUpdates, call, within};

#[tokio::test]
async fn ten_clients_continue_when_the_server_is_killed() {
    let fixture = Fixture::with_files(&[("a.md", "# Deploying\n\nPush the button.\n")]);
    let server = fixture.server(&[]);
    let mut clients = Vec::new();
    for n in 0..10 {
        clients.push(if n % 2 == 0 {
            fixture.client(&[]).await
        } else {
            fixture.modern_client().await
        });
    }
    let mut raw = RawClient::open(&fixture);
    assert_eq!(fixture.connections(), 11);
    // A stopped server does not answer, so that these calls are under way when it is killed.
    signal(server.child.id(), "-STOP");
    let mut under_way = tokio::task::JoinSet::new();
    for Attached { client, .. } in &clients {
        let peer = client.peer().clone();
        let arguments = json!({"query": "button", "search_type": "keyword"});
        let search =
            CallToolRequestParams::new("search_knowledge").with_arguments(object(arguments));
        under_way.spawn(async move { peer.call_tool(search).await });
    }
    let search = json!({"query": "button", "search_type": "keyword"});
    let register = json!({"agent_id": 1, "capabilities": []});
    raw.send(&jsonrpc::call_tool(1, "search_knowledge", &search));
    raw.send(&jsonrpc::call_tool(2, "register_agent_capabilities", &register));
    raw.wait_until_read();
    server.kill().await;

    let unknown = raw.answer();
    assert_eq!(unknown["id"], 2, "its outcome is not known");
    let message = unknown["error"]["message"].as_str().unwrap();
    assert!(message.contains("`register_agent_capabilities`"), "{message}");
    let found = raw.answer();
    assert_eq!(found["id"], 1, "it changes nothing and is repeated");
    assert_eq!(found["result"]["structuredContent"]["results"][0]["id"], "a");
    raw.send(&jsonrpc::call_tool(3, "register_agent_capabilities", &register));
    assert!(raw.answer()["result"].is_object());
    assert!(raw.0.close().success());
    while let Some(answer) = within(under_way.join_next()).await {
        let answer = answer.unwrap().unwrap().structured_content.unwrap();
        assert_eq!(answer["results"][0]["title"], "Deploying");
    }
    for Attached { client, .. } in &clients {
        let got = call(client, "retrieve_knowledge", json!({"ids": ["a"]})).await;
        assert_eq!(got["nodes"][0]["id"], "a");
    }
    for Attached { client, .. } in clients {
        within(client.cancel()).await.unwrap();
    }
    assert_eq!(fixture.processes(), Vec::<u32>::new());
}

/// A client that knows when its lines have been read.
struct RawClient(LineProcess);

impl RawClient {
    fn open(fixture: &Fixture) -> Self {
        let mut command = fixture.raw_command(&[]);
        let mut client = Self(LineProcess::start(command.stderr(Stdio::null())));
        client.send(&jsonrpc::initialize(0));
        assert_eq!(client.answer()["id"], 0);
        client.send(&jsonrpc::notification("notifications/initialized"));
        client
    }

    fn send(&mut self, message: &Value) {
        self.0.send(&message.to_string());
    }

    /// Waits until the pipe is empty and the process is idle: then the journal has the lines.
    fn wait_until_read(&self) {
        let mut quiet = 0;
        kenning_testkit::eventually(DEADLINE, || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            let unread = rustix::io::ioctl_fionread(self.0.input.as_ref().unwrap()).unwrap();
            quiet = if unread == 0 && self.sleeps() { quiet + 1 } else { 0 };
            (quiet == 3).then_some(())
        });
    }

    /// Whether all threads of the process wait for something.
    fn sleeps(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.0.child.id())).unwrap();
        let states = threads.filter_map(|thread| {
            let stat = std::fs::read_to_string(thread.ok()?.path().join("stat")).ok()?;
            stat.rsplit_once(") ")?.1.chars().next()
        });
        states.into_iter().all(|state| state == 'S')
    }

    /// The next answer; skips notifications.
    fn answer(&mut self) -> Value {
        loop {
            let message: Value = serde_json::from_str(&self.0.line()).unwrap();
            if message.get("method").is_none() {
                return message;
            }
        }
    }
}

#[tokio::test]
#[expect(deprecated, reason = "this is how clients before 2026-07-28 subscribe")]
async fn subscriptions_outlive_the_server() {
    let fixture = Fixture::with_files(&[("a.md", "# A\n")]);
    let server = fixture.server(&[]);
    let (sender, mut changed) = tokio::sync::mpsc::unbounded_channel();
    let old = fixture.client_of(ResourceUpdates(sender), &[], legacy()).await.client;
    let new = fixture.modern_client().await.client;
    let uri = within(new.list_all_resources()).await.unwrap()[0].uri.clone();
    within(old.subscribe(SubscribeRequestParams::new(&uri))).await.unwrap();
    let filter = SubscriptionFilter::builder().resource_subscription(&uri);
    let mut changes = within(new.listen(filter.build())).await.unwrap();
    assert_eq!(fixture.connections(), 2);

    // A server that is asked to stop ends its subscriptions.
    server.stop().await;
    assert_eq!(fixture.socket(), None);
    // Each is served by its own process once it gets an answer.
    within(old.list_all_tools()).await.unwrap();
    within(new.list_all_tools()).await.unwrap();
    fixture.write("a.md", "# A\nnew\n");
    assert_eq!(within(changed.recv()).await.unwrap(), uri);
    let updated = within(changes.next()).await.unwrap().unwrap();
    assert!(
        matches!(updated, ServerNotification::ResourceUpdatedNotification(n) if n.params.uri == uri)
    );
    within(old.cancel()).await.unwrap();
    drop(changes);
    within(new.cancel()).await.unwrap();
    assert_eq!(fixture.processes(), Vec::<u32>::new());
}
