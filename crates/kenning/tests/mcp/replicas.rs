//! Several servers on one `PostgreSQL`.

use kenning_testkit::Postgres;
use rmcp::ServiceExt;
use rmcp::model::SubscribeRequestParams;
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::client::{HttpServer, handbook, kenning};
use crate::protocol::Listener;

const AGENT: &str = "registry://agents/11";

struct Subscriber {
    client: RunningService<RoleClient, Listener>,
    heard: UnboundedReceiver<String>,
}

impl Subscriber {
    #[expect(deprecated, reason = "this is how clients before 2026-07-28 subscribe")]
    async fn new(store: &str) -> Self {
        let (tell, heard) = tokio::sync::mpsc::unbounded_channel();
        let mut command = kenning(&handbook(), &[]);
        command.env("KENNING_STORE_URL", store);
        let command = tokio::process::Command::from(command);
        let transport = TokioChildProcess::new(command).unwrap();
        let client = Listener(tell).serve(transport).await.unwrap();
        client.subscribe(SubscribeRequestParams::new(AGENT)).await.unwrap();
        Self { client, heard }
    }

    async fn hears(&mut self) {
        while self.heard.recv().await.unwrap() != AGENT {}
    }

    async fn register(&self, skill: &str) -> Value {
        let arguments = json!({"agent_id": 11,
            "capabilities": [{"skill_name": skill, "version": "1.0.0"}]});
        self.call("register_agent_capabilities", arguments).await
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> Value {
        let request = rmcp::model::CallToolRequestParams::new(tool);
        let request = request.with_arguments(rmcp::model::object(arguments));
        let result = self.client.call_tool(request).await.unwrap();
        result.structured_content.unwrap()
    }
}

#[tokio::test]
async fn what_one_server_writes_the_other_has_at_once_and_tells() {
    let store = Postgres::shared().database();
    let mut command = kenning(&handbook(), &["--http", "127.0.0.1:0"]);
    command.env("KENNING_STORE_URL", &store);
    let web = HttpServer::run(command);
    let http = reqwest::Client::new();
    let added = http.post(web.page("/api/v1/agents")).header("Content-Type", "application/json");
    let added = added.body(json!({"name": "Lambda", "id": 11}).to_string()).send().await.unwrap();
    assert_eq!(added.status(), 201);

    let (mut one, mut other) = (Subscriber::new(&store).await, Subscriber::new(&store).await);
    for round in 0..5 {
        let skill = format!("skill-{round}");
        assert_eq!(one.register(&skill).await["capabilities_registered"], 1);
        let seen = other.call("get_agent_capabilities", json!({"agent_id": 11})).await;
        assert_eq!(seen["capabilities"][round]["skill_name"], skill, "at once");
        let url = web.page("/api/v1/get_agent_capabilities?agent_id=11");
        let seen = http.get(url).send().await.unwrap().text().await.unwrap();
        assert!(seen.contains(&skill), "at once");
        one.hears().await;
        other.hears().await;
    }
    one.client.cancel().await.unwrap();
    other.client.cancel().await.unwrap();
}
