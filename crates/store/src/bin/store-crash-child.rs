//! Writes to a store until it is killed, which the tests do to check what is left. It prints
//! `begun N` before each write and `done N` once the write is acknowledged.
//!
//! `store-crash-child registry|gaps LOCATION SIZE`, with the number of skills or calls per write.
//! It is a program of its own because an integration test can start only binaries of its crate.

#![expect(clippy::unwrap_used, reason = "only the tests run this")]

use std::sync::Arc;

use kenning_gaps::Gaps;
use kenning_gaps::ports::{EventStore, Window};
use kenning_registry::Registry;
use kenning_registry::get::GetRequest;
use kenning_store::{Location, Store};
use serde_json::json;

/// Milliseconds since 1970.
const NOW: u64 = 1_800_000_000_000;
const HOUR: u64 = 60 * 60 * 1_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, location, size] = &arguments[..] else { panic!("not {arguments:?}") };
    let store = Arc::new(Store::connect(&location.parse::<Location>().unwrap()).unwrap());
    let size = size.parse().unwrap();
    match kind.as_str() {
        "registry" => register(store, size),
        "gaps" => ingest(&store, size),
        other => panic!("there is no `{other}`"),
    }
}

/// Registers the same skills of agent 11 in one version after the other.
fn register(store: Arc<Store>, skills: u64) {
    let registry = Registry::new(store);
    let all = GetRequest { active_only: false, ..GetRequest::of(11) };
    let first = registry.get(&all).unwrap().revision.0 + 1;
    for version in first.. {
        let skill =
            |n| json!({"skill_name": format!("skill-{n:05}"), "version": format!("{version}.0.0")});
        let request =
            json!({"agent_id": 11, "capabilities": (0..skills).map(skill).collect::<Vec<_>>()});
        println!("begun {version}");
        registry.register(&serde_json::from_value(request).unwrap()).unwrap();
        println!("done {version}");
    }
}

/// Ingests one batch of capability requests after the other, and extracts asks in between.
fn ingest(store: &Arc<Store>, size: u64) {
    let gaps = Gaps::new(store.clone());
    let stored = store.events(&Window::default()).unwrap().len() as u64;
    for number in stored / size.. {
        let event = |n| {
            json!({
                "callId": format!("00000000-0000-4000-8000-{n:012}"),
                "toolName": "mcpeye_request_capability",
                "arguments": {"capability": "export as PDF"},
                "isError": false, "timestamp": NOW + n, "durationMs": 1,
            })
        };
        let events: Vec<_> = (number * size..(number + 1) * size).map(event).collect();
        let batch = json!({"projectId": "shop", "identity": {"userId": "ann"}, "events": events});
        println!("begun {number}");
        let answer = gaps.ingest(&serde_json::to_vec(&batch).unwrap(), NOW + HOUR).unwrap();
        assert_eq!(answer.refused, []);
        println!("done {number}");
        if number % 3 == 0 {
            gaps.extract_asks(NOW + HOUR).unwrap();
        }
    }
}
