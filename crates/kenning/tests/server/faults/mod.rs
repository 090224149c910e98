//! What the program does when something around it fails: it recovers by itself, or stops with one
//! clear error. docs/reliability.md lists every fault with its test.

mod clock_skew;
mod corruption;
mod crash;
mod disk_full;
mod invalid_settings;
mod postgres_outage;
mod read_only_store;
mod unreadable_files;
mod watch_limits;
mod wrapped_server;

use std::process::{Command, Stdio};

use reqwest::StatusCode;
use rmcp::ClientHandler;
use serde_json::{Value, json};

use crate::server::monitoring::readiness_becomes;
use crate::server::support::{Client, Project, Server, call};

/// Whether this system can run a command of this kind, which may be missing or forbidden.
fn is_possible(probe: &mut Command) -> bool {
    probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    probe.spawn().is_ok_and(|child| kenning_testkit::finish(child).status.success())
}

/// A project with one file of knowledge.
fn pelicans() -> Project {
    Project::with(&[("pelican.md", "# Pelicans\nA pelican keeps fish in its pouch.\n")])
}

fn pelican_search() -> Value {
    json!({"query": "pelican pouch", "search_type": "keyword"})
}

/// Knowledge is answered, whatever else has failed.
async fn check_knowledge<H: ClientHandler>(client: &Client<H>) {
    let found = call(client, "search_knowledge", pelican_search()).await;
    assert_eq!(found["results"][0]["id"], "pelican", "{found}");
}

/// The store is not ready for this reason, and nobody learns where it is.
async fn check_store_is_not_ready(server: &Server, reason: &str) {
    let answer = readiness_becomes(server, StatusCode::SERVICE_UNAVAILABLE).await;
    // The model may still be loading.
    let waiting_for = answer["waiting_for"].as_array().unwrap();
    assert!(waiting_for.contains(&json!("store")), "{answer}");
    let store = json!({"ready": false, "reason": reason});
    assert_eq!(answer["parts"]["store"], store, "{answer}");
    assert!(!answer.to_string().contains('/'), "{answer}");
}

/// The registry needs the store: without one it refuses.
async fn check_registry_refuses<H: ClientHandler>(client: &Client<H>) {
    let refused = call(client, "get_agent_capabilities", json!({"agent_id": 11})).await;
    assert_eq!(refused["error"], "DATABASE_ERROR", "{refused}");
}
