//! Changes by other processes.

use std::sync::mpsc::{self, Receiver};

use kenning_registry::deactivate::DeactivateRequest;
use kenning_registry::{Registry, Timestamp};
use kenning_testkit::{DEADLINE, eventually};

use super::fixture::{add, all_of, register_one};
use crate::fixture::Fixture;

pub(crate) fn notifies_of_changes_by_other_processes(fixture: &Fixture) {
    let writer = fixture.registry();
    let (store, own) = (fixture.store(), fixture.store());
    let (sender, receiver) = mpsc::channel();
    let reader = Registry::new(store.clone());
    // A callback may use the store.
    let subscription = store
        .on_registry_change({
            let reader = reader.clone();
            move || sender.send(all_of(&reader, 11).total_count).unwrap_or_default()
        })
        .unwrap();
    register_one(&writer, "a", "1.0.0");
    assert_eq!(all_of(&reader, 11).total_count, 1, "visible before the notification");
    wait_for(&receiver, 1);
    register_one(&Registry::new(own), "b", "1.0.0");
    wait_for(&receiver, 2);
    drop(subscription);
    drop(store);
}

/// Skips notifications until one of them finds so many skills.
#[track_caller]
fn wait_for(found: &Receiver<usize>, wanted: usize) {
    eventually(DEADLINE, || (found.recv_timeout(DEADLINE).unwrap() == wanted).then_some(()));
}

pub(crate) fn lists_skills_that_changed_since_a_time(fixture: &Fixture) {
    let at = |clock: fn() -> Timestamp| Registry::new(fixture.store()).with_clock(clock);
    add(&at(|| Timestamp(1)), 11, "Lambda");
    register_one(&at(|| Timestamp(10)), "old", "1.0.0");
    register_one(&at(|| Timestamp(20)), "changed", "1.0.0");
    register_one(&at(|| Timestamp(30)), "changed", "1.1.0");
    register_one(&at(|| Timestamp(31)), "newest", "1.0.0");
    let since = |at: i64, limit: usize| {
        let found = fixture.store().skills_since(Timestamp(at), limit).unwrap();
        let mut found: Vec<String> =
            found.iter().map(|skill| format!("{} {}", skill.skill_name, skill.version)).collect();
        found.sort();
        found
    };
    assert_eq!(since(30, 10), ["changed 1.1.0", "newest 1.0.0"]);
    assert_eq!(since(0, 1), ["newest 1.0.0"], "the newest, if there are too many");
    assert_eq!(since(32, 10), [""; 0]);
    let off = DeactivateRequest { agent_id: 11, skill_name: "newest".to_owned() };
    at(|| Timestamp(40)).deactivate(&off).unwrap();
    assert_eq!(since(30, 10), ["changed 1.1.0"], "inactive skills are left out");
}
