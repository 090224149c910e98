//! A server that goes away while it is shared.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use rmcp::model::{
    CallToolRequestParams, ServerNotification, SubscribeRequestParams, SubscriptionFilter, object,
};
use serde_json::{Value, json};

use super::fixture::{Attached, Fixture, legacy, signal};
use crate::support::ResourceUpdates;
use crate::support::call;

#[tokio::test]
async fn ten_clients_continue_when_the_server_is_killed() {
    let fixture = Fixture::with_files(&[("a.md", "# Deploying\n\nPush the button.\n")]);
    let mut server = fixture.server(&[]);
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
    raw.call(1, "search_knowledge", &json!({"query": "button", "search_type": "keyword"}));
    raw.call(2, "register_agent_capabilities", &json!({"agent_id": 1, "capabilities": []}));
    raw.wait_until_read();
    server.child.kill().unwrap();
    server.child.wait().unwrap();

    let unknown = raw.answer();
    assert_eq!(unknown["id"], 2, "its outcome is not known");
    let message = unknown["error"]["message"].as_str().unwrap();
    assert!(message.contains("`register_agent_capabilities`"), "{message}");
    let found = raw.answer();
    assert_eq!(found["id"], 1, "it changes nothing and is repeated");
    assert_eq!(found["result"]["structuredContent"]["results"][0]["id"], "a");
    raw.call(3, "register_agent_capabilities", &json!({"agent_id": 1, "capabilities": []}));
    assert!(raw.answer()["result"].is_object());
    raw.close();
    while let Some(answer) = under_way.join_next().await {
        let answer = answer.unwrap().unwrap().structured_content.unwrap();
        assert_eq!(answer["results"][0]["title"], "Deploying");
    }
    for Attached { client, .. } in &clients {
        let got = call(client, "retrieve_knowledge", json!({"ids": ["a"]})).await;
        assert_eq!(got["nodes"][0]["id"], "a");
    }
    for Attached { client, .. } in clients {
        client.cancel().await.unwrap();
    }
    assert_eq!(fixture.processes(), Vec::<u32>::new());
}

/// A client that knows when its lines have been read.
struct RawClient {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl RawClient {
    fn open(fixture: &Fixture) -> Self {
        let mut child = fixture.raw(&[]);
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut client = Self { child, stdin, stdout: BufReader::new(stdout) };
        let about = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"}
        });
        client.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about}));
        assert_eq!(client.answer()["id"], 0);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    fn call(&mut self, id: u64, tool: &str, arguments: &Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    /// Waits until the pipe is empty and the process is idle: then the journal has the lines.
    fn wait_until_read(&self) {
        let mut quiet = 0;
        while quiet < 3 {
            std::thread::sleep(std::time::Duration::from_millis(20));
            let is_empty = rustix::io::ioctl_fionread(&self.stdin).unwrap() == 0;
            quiet = if is_empty && self.sleeps() { quiet + 1 } else { 0 };
        }
    }

    /// Whether all threads of the process wait for something.
    fn sleeps(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let states = threads.filter_map(|thread| {
            let stat = std::fs::read_to_string(thread.ok()?.path().join("stat")).ok()?;
            stat.rsplit_once(") ")?.1.chars().next()
        });
        states.into_iter().all(|state| state == 'S')
    }

    /// The next answer; skips notifications.
    fn answer(&mut self) -> Value {
        loop {
            let mut line = String::new();
            self.stdout.read_line(&mut line).unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message.get("method").is_none() {
                return message;
            }
        }
    }

    fn close(self) {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
}

#[tokio::test]
#[expect(deprecated, reason = "this is how clients before 2026-07-28 subscribe")]
async fn subscriptions_outlive_the_server() {
    let fixture = Fixture::with_files(&[("a.md", "# A\n")]);
    let mut server = fixture.server(&[]);
    let (sender, mut changed) = tokio::sync::mpsc::unbounded_channel();
    let old = fixture.client_of(ResourceUpdates(sender), &[], legacy()).await.client;
    let new = fixture.modern_client().await.client;
    let uri = new.list_all_resources().await.unwrap()[0].uri.clone();
    old.subscribe(SubscribeRequestParams::new(&uri)).await.unwrap();
    let filter = SubscriptionFilter::builder().resource_subscription(&uri);
    let mut changes = new.listen(filter.build()).await.unwrap();
    assert_eq!(fixture.connections(), 2);

    // A server that is asked to stop ends its subscriptions.
    signal(server.child.id(), "-TERM");
    assert!(server.child.wait().unwrap().success());
    assert_eq!(fixture.socket(), None);
    // Each is served by its own process once it gets an answer.
    old.list_all_tools().await.unwrap();
    new.list_all_tools().await.unwrap();
    fixture.write("a.md", "# A\nnew\n");
    assert_eq!(changed.recv().await.unwrap(), uri);
    let updated = changes.next().await.unwrap().unwrap();
    assert!(
        matches!(updated, ServerNotification::ResourceUpdatedNotification(n) if n.params.uri == uri)
    );
    old.cancel().await.unwrap();
    drop(changes);
    new.cancel().await.unwrap();
    assert_eq!(fixture.processes(), Vec::<u32>::new());
}
