//! A thousand capabilities in one call, and one agent read among a thousand and a million rows,
//! on both databases.
//!
//! Medians of plain measurements, because filling a million rows takes longer than any of them and
//! is done once. A number as argument replaces the million.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kenning_registry::Registry;
use kenning_registry::agents::{AddAgentRequest, RemoveAgentRequest};
use kenning_registry::get::GetRequest;
use kenning_registry::register::{CapabilityInput, RegisterRequest};
use kenning_store::{Location, Store};
use kenning_testkit::Postgres;
use tempfile::TempDir;

const FEW: usize = 1_000;
const MANY: usize = 1_000_000;
/// Skills of the agent that is read.
const HELD: usize = 100;
const WRITES: usize = 31;
const READS: usize = 301;

fn main() {
    let many = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(MANY);
    let folder = TempDir::new().expect("a folder");
    measure("SQLite", folder.path().to_str().expect("a path"), many);
    // With the server's default settings, by which commits reach the disk.
    let server = Postgres::start(&[]);
    measure("PostgreSQL", &server.database(), many);
}

fn measure(name: &str, location: &str, many: usize) {
    let location: Location = location.parse().expect("a location");
    let store = Arc::new(Store::connect(&location).expect("a store"));
    let registry = Registry::new(store.clone());
    let request = thousand(&registry);
    let agent_id = request.agent_id;
    let first = Instant::now();
    registry.register(&request).expect("an answer");
    let first = first.elapsed();
    let again = median(WRITES, || drop(registry.register(&request).expect("an answer")));
    println!("{name}: 1,000 capabilities in one call: {first:.1?} new, {again:.1?} updated");

    registry.remove_agent(&RemoveAgentRequest { agent_id }).expect("an answer");

    fill(&store, 0, FEW - HELD);
    let agent = add(&registry, "the agent that is read", HELD);
    let read = || drop(registry.get(&GetRequest::of(agent)).expect("an answer"));
    let few = median(READS, read);
    fill(&store, FEW, many - FEW);
    let lots = median(READS, read);
    let ratio = lots.as_secs_f64() / few.as_secs_f64();
    println!(
        "{name}: one agent's {HELD} skills: {few:.1?} among {FEW} rows, {lots:.1?} among {many} \
         ({ratio:.2} times)"
    );
}

fn thousand(registry: &Registry) -> RegisterRequest {
    let agent = add(registry, "the agent with a thousand", 1);
    let capabilities = (0..1_000).map(|n| capability(&format!("skill-{n}"))).collect();
    RegisterRequest { agent_id: agent, capabilities, upsert: true }
}

fn add(registry: &Registry, name: &str, skills: usize) -> i64 {
    let agent = registry.add_agent(&AddAgentRequest { name: name.to_owned(), id: None });
    let agent_id = agent.expect("an agent").agent.id;
    let capabilities = (0..skills).map(|n| capability(&format!("held-{n}"))).collect();
    let request = RegisterRequest { agent_id, capabilities, upsert: true };
    registry.register(&request).expect("an answer");
    agent_id
}

fn capability(name: &str) -> CapabilityInput {
    let metadata = serde_json::json!({"category": "bench", "description": "Does what it says"});
    CapabilityInput {
        skill_name: name.to_owned(),
        version: "1.2.3".to_owned(),
        active: true,
        metadata: metadata.as_object().cloned(),
    }
}

/// Adds agents of a hundred skills each by an import, which is faster than registration.
fn fill(store: &Store, from: usize, rows: usize) {
    let mut file = Vec::new();
    writeln!(file, r#"{{"format":"kenning-registry","version":1}}"#).expect("memory");
    for agent in 0..rows.div_ceil(HELD) {
        let agent_id = 1_000 + from + agent;
        writeln!(
            file,
            r#"{{"table":"agent","id":{agent_id},"name":"agent {agent_id}","revision":1,"created_at":0}}"#
        )
        .expect("memory");
        for skill in 0..HELD.min(rows - agent * HELD) {
            writeln!(
                file,
                r#"{{"table":"capability","id":{id},"agent_id":{agent_id},"skill_name":"skill-{skill}","version":"1.0.0","active":true,"metadata":{{"category":"bench"}},"registered_at":0,"updated_at":0}}"#,
                id = 10_000 + from * 2 + agent * HELD + skill,
            )
            .expect("memory");
        }
    }
    store.import_registry(&mut file.as_slice()).expect("an import");
}

fn median(rounds: usize, mut run: impl FnMut()) -> Duration {
    run();
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[rounds / 2]
}
