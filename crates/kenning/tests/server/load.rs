//! MCP, REST and pages share one limiter, and none of them starves another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;

use crate::server::support::{Project, call, finished, read_json, within};

const CONNECTIONS: usize = 200;
const CALLS: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_rest_connections_do_not_starve_mcp_clients() {
    let project = Project::handbook();
    let server = project.http(&[], &[]);
    let client = server.client().await;
    let finished = Arc::new(AtomicBool::new(false));
    let answered = Arc::new(AtomicUsize::new(0));
    let url = "/api/v1/search_knowledge?query=token&search_type=keyword";
    let load: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let request = server.request(reqwest::Method::GET, url);
            let (finished, answered) = (finished.clone(), answered.clone());
            tokio::spawn(async move {
                while !finished.load(Ordering::Relaxed) {
                    let response = request.try_clone().unwrap().send().await.unwrap();
                    assert_eq!(response.status(), 200);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let mut calls = 0;
    let calling = async {
        // Until every connection was answered more than once, so that there was load all the time.
        while calls < CALLS || answered.load(Ordering::Relaxed) < 2 * CONNECTIONS {
            let asked = json!({"agent": "zed", "capability": "Hooks"});
            let found = call(&client, "lookup_capability", asked).await;
            assert_eq!(found["agent"], "zed", "{found}");
            calls += 1;
        }
    };
    within(Box::pin(calling)).await;
    finished.store(true, Ordering::Relaxed);
    for connection in load {
        within(connection).await.unwrap();
    }
}

#[tokio::test]
async fn the_capacity_of_a_server_is_a_setting() {
    let project = Project::with(&[("a.md", "# A\n")]);
    let server = project.http(&[], &[("KENNING_SERVER_MAX_CONCURRENT_REQUESTS", "3")]);
    let client = server.client().await;
    let described = read_json(&client, "capabilities://server").await;
    assert_eq!(described["limits"]["max_concurrent_requests"], 3);
    let mut command = project.kenning(&["serve", "--http", "127.0.0.1:0"]);
    command.env("KENNING_SERVER_MAX_CONCURRENT_REQUESTS", "100000");
    let refused = finished(&mut command);
    refused.fails_with(&["server.max_concurrent_requests", "at most 256"]);
}
