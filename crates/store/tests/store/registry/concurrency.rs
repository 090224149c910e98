//! Several threads and processes at once.

use std::sync::Barrier;

use kenning_registry::Registry;
use kenning_testkit::Postgres;
use serde_json::json;

use super::fixture::{add, all_of, bulk, parse, register};
use crate::fixture::{Fixture, open};

const CALLERS: usize = 50;
const SKILLS: usize = 20;

/// Half of the callers share one open store, as in a server; the others use five more, as processes
/// do.
pub(crate) fn concurrent_registration_of_the_same_skills(fixture: &Fixture) {
    let shared = fixture.registry();
    let stores: Vec<Registry> = (0..5).map(|_| Registry::new(fixture.store())).collect();
    // Opens the connections before the race begins.
    for registry in stores.iter().chain([&shared]) {
        all_of(registry, 11);
    }
    let start = Barrier::new(CALLERS);
    let answers: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|n| {
                let registry = if n % 2 == 0 { &shared } else { &stores[n % stores.len()] };
                let start = &start;
                scope.spawn(move || {
                    let request = parse(bulk(SKILLS, &format!("1.0.{n}")));
                    start.wait();
                    let answer = registry.register(&request).unwrap();
                    (answer.capabilities_registered, answer.capabilities_updated)
                })
            })
            .collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    let new = answers.iter().filter(|answer| **answer == (SKILLS, 0)).count();
    let updated = answers.iter().filter(|answer| **answer == (0, SKILLS)).count();
    assert_eq!((new, updated), (1, CALLERS - 1), "one was first, all others updated");
    let got = all_of(&shared, 11);
    assert_eq!(got.total_count, SKILLS, "exactly one row each");
    let version = &got.capabilities[0].version;
    assert!(got.capabilities.iter().all(|one| one.version == *version), "the last one's, whole");
    assert_eq!(got.revision.0, i64::try_from(CALLERS).unwrap(), "no update is lost");
}

pub(crate) fn concurrent_changes_to_different_agents(fixture: &Fixture) {
    let registry = fixture.registry();
    std::thread::scope(|scope| {
        for n in 0..20_i64 {
            let registry = &registry;
            scope.spawn(move || {
                add(registry, 100 + n, &format!("agent {n}"));
                for round in 0..5 {
                    let names = (0..10).map(|k| {
                        json!({"skill_name": format!("s{k}"), "version": format!("1.0.{round}")})
                    });
                    let capabilities: Vec<_> = names.collect();
                    let request = json!({"agent_id": 100 + n, "capabilities": capabilities});
                    register(registry, request).unwrap();
                }
            });
        }
    });
    for n in 0..20 {
        assert_eq!(all_of(&registry, 100 + n).total_count, 10);
    }
}

/// Ten stores that are opened at once stand for ten processes: a lock on a file or in the server
/// serializes both.
pub(crate) fn ten_processes_migrate_once(fixture: &Fixture) {
    let start = Barrier::new(10);
    std::thread::scope(|scope| {
        for n in 0..10_i64 {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                let registry = Registry::new(open(&fixture.location));
                add(&registry, 100 + n, &format!("agent {n}"));
            });
        }
    });
    let registry = fixture.registry();
    assert_eq!(registry.agents(&parse(json!({}))).unwrap().total_count, 11);
    if fixture.is_postgres() {
        let applied = "SELECT count(*) = count(DISTINCT version) FROM _sqlx_migrations";
        assert_eq!(Postgres::shared().query(&fixture.location, applied), "t");
    }
}
