//! Notifications of changes, in both eras and between servers that share a database.

use kenning_testkit::Postgres;
use rmcp::model::{
    ServerNotification, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::server::support::{Client, Project, ResourceUpdates, call, connect_as, within};

#[tokio::test]
#[expect(deprecated, reason = "this is how clients before 2026-07-28 subscribe")]
async fn stdio_notifies_subscribers_of_changes() {
    let project = Project::with(&[("a.md", "# A\n## B\n")]);
    let (sender, mut updates) = unbounded_channel();
    let client = connect_as(ResourceUpdates(sender), project.serve(&[])).await;
    let uri = within(client.list_all_resources()).await.unwrap()[0].uri.clone();
    let section = format!("{uri}#b");
    within(client.subscribe(SubscribeRequestParams::new(&section))).await.unwrap();
    let missing = client.subscribe(SubscribeRequestParams::new("knowledge://x/y.md"));
    assert!(within(missing).await.is_err(), "what does not exist cannot be subscribed to");
    project.write("a.md", "# A\n## B\nnew\n");
    assert_eq!(within(updates.recv()).await.unwrap(), section);
    project.write("c.md", "# C\n");
    assert_eq!(within(updates.recv()).await.unwrap(), "list");
    within(client.unsubscribe(UnsubscribeRequestParams::new(&section))).await.unwrap();
    project.write("a.md", "# A\n## B\nnewer\n");
    std::fs::remove_file(project.root().join("c.md")).unwrap();
    assert_eq!(within(updates.recv()).await.unwrap(), "list", "and nothing of a.md before");
    within(client.cancel()).await.unwrap();
}

#[tokio::test]
async fn http_notifies_subscribers_of_changes() {
    let project = Project::with(&[("a.md", "# A\n")]);
    let server = project.http(&[], &[]);
    let client = server.modern_client().await;
    let uri = within(client.list_all_resources()).await.unwrap()[0].uri.clone();
    let filter = SubscriptionFilter::builder().resource_subscription(&uri).resources_list_changed();
    let mut subscription = within(client.listen(filter.build())).await.unwrap();
    project.write("a.md", "# A\nnew\n");
    let updated = within(subscription.next()).await.unwrap().unwrap();
    assert!(
        matches!(updated, ServerNotification::ResourceUpdatedNotification(n) if n.params.uri == uri)
    );
    project.write("b.md", "# B\n");
    let listed = within(subscription.next()).await.unwrap().unwrap();
    assert!(matches!(listed, ServerNotification::ResourceListChangedNotification(_)));
    within(client.cancel()).await.unwrap();
}

const AGENT: &str = "registry://agents/11";

/// A client of one replica, subscribed to an agent.
struct Subscriber {
    client: Client<ResourceUpdates>,
    updates: UnboundedReceiver<String>,
}

impl Subscriber {
    #[expect(deprecated, reason = "this is how clients before 2026-07-28 subscribe")]
    async fn new(store: &str) -> Self {
        let (sender, updates) = unbounded_channel();
        let mut command = Project::handbook().serve(&[]);
        command.env("KENNING_STORE_URL", store);
        let client = connect_as(ResourceUpdates(sender), command).await;
        within(client.subscribe(SubscribeRequestParams::new(AGENT))).await.unwrap();
        Self { client, updates }
    }

    async fn wait_for_update(&mut self) {
        while within(self.updates.recv()).await.unwrap() != AGENT {}
    }

    async fn register(&self, skill: &str) -> Value {
        let arguments = json!({"agent_id": 11,
            "capabilities": [{"skill_name": skill, "version": "1.0.0"}]});
        call(&self.client, "register_agent_capabilities", arguments).await
    }
}

#[tokio::test]
async fn replicas_share_writes_at_once_and_notify_subscribers() {
    let store = Postgres::shared().database();
    let server = Project::handbook().http(&[], &[("KENNING_STORE_URL", &store)]);
    server.add_agent("Lambda", 11).await;

    let (mut one, mut other) = (Subscriber::new(&store).await, Subscriber::new(&store).await);
    for round in 0..5 {
        let skill = format!("skill-{round}");
        assert_eq!(one.register(&skill).await["capabilities_registered"], 1);
        let read = call(&other.client, "get_agent_capabilities", json!({"agent_id": 11})).await;
        assert_eq!(read["capabilities"][round]["skill_name"], skill, "at once");
        let read = server.get("/api/v1/get_agent_capabilities?agent_id=11").await;
        assert!(read.text.contains(&skill), "at once");
        one.wait_for_update().await;
        other.wait_for_update().await;
    }
    within(one.client.cancel()).await.unwrap();
    within(other.client.cancel()).await.unwrap();
}
