//! Skills of many agents: each agent has a hundred skills, and each skill belongs to ten agents.

use std::io::Write;

use kenning_registry::Registry;
use kenning_registry::agents::AddAgentRequest;
use kenning_registry::get::GetRequest;
use kenning_registry::list::ListRequest;
use kenning_registry::register::{CapabilityInput, RegisterRequest};
use kenning_store::Store;
use serde_json::json;

use crate::fixture::Fixture;
use crate::{Figures, Random, median_ms, memory_mb, milliseconds, time};

/// Of one agent.
const HELD: usize = 100;
/// Agents that have the same skill.
const SHARED: usize = 10;
/// Rows per import.
const CHUNK: usize = 10_000;
const READS: usize = 101;
const SEARCHES: usize = 5;
const WRITES: usize = 5;

pub(crate) fn measure(fixture: &Fixture, size: usize) -> Figures {
    let different = (size / SHARED).max(HELD);
    let filled = milliseconds(time(|| fill(&fixture.store, size, different)));
    fixture.settle();
    let disk_mb = fixture.disk_mb();
    let registry = Registry::new(fixture.store.clone());
    let agent_id = agent_of(size / 2);
    let agent_ms = median_ms(READS, || {
        let held = registry.get(&GetRequest::of(agent_id)).expect("an answer");
        assert_eq!(held.capabilities.len(), HELD);
    });
    let list = |request: &ListRequest| {
        assert!(!registry.list(request).expect("an answer").capabilities.is_empty());
    };
    let named = ListRequest { skill_name: Some(skill(different / 2)), ..ListRequest::default() };
    let name_ms = median_ms(READS, || list(&named));
    let page = ListRequest { max_results: Some(HELD), ..ListRequest::default() };
    let page_ms = median_ms(SEARCHES, || list(&page));
    let query = Some("who can restore a backup of the billing table?".to_owned());
    let asked = ListRequest { query, ..ListRequest::default() };
    let find_ms = median_ms(SEARCHES, || list(&asked));
    let memory = memory_mb("VmRSS:");

    let register = |agent_id: i64| {
        let capabilities = (0..1_000).map(|n| capability(&format!("new-{n}"))).collect();
        let request = RegisterRequest { agent_id, capabilities, upsert: true };
        drop(registry.register(&request).expect("an answer"));
    };
    let mut next = 0;
    let new_ms = median_ms(WRITES, || {
        next += 1;
        let agent = AddAgentRequest { name: format!("new agent {next}"), id: None };
        register(registry.add_agent(&agent).expect("an agent").agent.id);
    });
    json!({
        "fill_per_s": (size as f64 / filled * 1e3).round(),
        "register_ms": new_ms,
        "agent_ms": agent_ms,
        "name_ms": name_ms,
        "page_ms": page_ms,
        "find_ms": find_ms,
        "memory_mb": memory,
        "disk_mb": disk_mb,
    })
}

fn capability(name: &str) -> CapabilityInput {
    let metadata = json!({"category": "bench", "description": "Does what it says"});
    CapabilityInput {
        skill_name: name.to_owned(),
        version: "1.2.3".to_owned(),
        active: true,
        metadata: metadata.as_object().cloned(),
    }
}

fn agent_of(row: usize) -> i64 {
    i64::try_from(1 + row / HELD).expect("a small number")
}

fn skill(number: usize) -> String {
    let words = Random(number as u64 * 7_919 + 1).words(2).replace(' ', "-");
    format!("{words}-{number}")
}

/// Adds rows by an import, which is faster than registration.
fn fill(store: &Store, size: usize, different: usize) {
    for first in (0..size).step_by(CHUNK) {
        let mut file = Vec::new();
        writeln!(file, r#"{{"format":"kenning-registry","version":1}}"#).expect("memory");
        for row in first..size.min(first + CHUNK) {
            write_row(&mut file, row, different);
        }
        store.import_registry(&mut file.as_slice()).expect("an import");
    }
}

fn write_row(file: &mut Vec<u8>, row: usize, different: usize) {
    let agent_id = agent_of(row);
    if row.is_multiple_of(HELD) {
        let agent = json!({
            "table": "agent", "id": agent_id, "name": format!("agent {agent_id}"),
            "revision": 1, "created_at": 0,
        });
        writeln!(file, "{agent}").expect("memory");
    }
    let number = row % different;
    let about = Random(number as u64 * 104_729 + 1).words(12);
    let capability = json!({
        "table": "capability", "id": row + 1, "agent_id": agent_id, "skill_name": skill(number),
        "version": "1.0.0", "active": true, "metadata": {"description": about},
        "registered_at": 0, "updated_at": 0,
    });
    writeln!(file, "{capability}").expect("memory");
}
