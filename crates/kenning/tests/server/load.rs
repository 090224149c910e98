//! MCP, REST and pages share one limiter, and none of them starves another.

use std::time::Instant;

use serde_json::json;

use crate::support::{DEADLINE, Project, call, within};

const CONNECTIONS: usize = 200;
const CALLS: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_rest_connections_do_not_starve_mcp_clients() {
    let project = Project::handbook();
    let server = project.http(&[], &[]);
    let client = server.client().await;
    let (done, finished) = tokio::sync::watch::channel(false);
    let began = Instant::now();
    let url = "/api/v1/search_knowledge?query=token&search_type=keyword";
    let load: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let (request, finished) = (server.request(reqwest::Method::GET, url), finished.clone());
            tokio::spawn(async move {
                let mut answered = 0;
                while !*finished.borrow() && began.elapsed() < DEADLINE {
                    let response = request.try_clone().unwrap().send().await.unwrap();
                    assert_eq!(response.status(), 200);
                    answered += 1;
                }
                answered
            })
        })
        .collect();
    for _ in 0..CALLS {
        let found =
            call(&client, "lookup_capability", json!({"agent": "zed", "capability": "Hooks"}));
        let found = within(found).await;
        assert_eq!(found["agent"], "zed", "{found}");
    }
    done.send(true).unwrap();
    let mut answered = 0;
    for connection in load {
        answered += within(connection).await.unwrap();
    }
    assert!(answered > CONNECTIONS, "there was load: {answered}");
}

#[tokio::test]
async fn the_capacity_of_a_server_is_a_setting() {
    let project = Project::with(&[("a.md", "# A\n")]);
    let server = project.http(&[], &[("KENNING_SERVER_MAX_CONCURRENT_REQUESTS", "3")]);
    let client = server.client().await;
    let described = crate::support::read_json(&client, "capabilities://server").await;
    assert_eq!(described["limits"]["max_concurrent_requests"], 3);
    let mut command = project.kenning(&["serve", "--http", "127.0.0.1:0"]);
    command.env("KENNING_SERVER_MAX_CONCURRENT_REQUESTS", "100000");
    let refused = crate::support::finished(&mut command);
    refused.fails_with(&["server.max_concurrent_requests", "at most 256"]);
}
