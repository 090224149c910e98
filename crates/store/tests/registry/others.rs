//! What other processes do, and the tables of other rooms.

use std::sync::mpsc;

use kenning_knowledge::discover::Miss;
use kenning_knowledge::semantic::{Embedded, TextKey, VectorCache};
use kenning_registry::deactivate::DeactivateRequest;
use kenning_registry::{Registry, Timestamp};

use crate::fixture::{Fixture, add, all_of, register_one};

pub(crate) fn a_change_by_another_process_is_told_of(fixture: &Fixture) {
    let writer = fixture.registry();
    let (store, own) = (fixture.store(), fixture.store());
    let (tell, told) = mpsc::channel();
    let reader = Registry::new(store.clone());
    // A callback may ask the store itself.
    let subscription = store
        .on_registry_change({
            let reader = reader.clone();
            move || tell.send(all_of(&reader, 11).total_count).unwrap_or_default()
        })
        .unwrap();
    register_one(&writer, "a", "1.0.0");
    assert_eq!(all_of(&reader, 11).total_count, 1, "seen at once, before anything is told");
    while told.recv().unwrap() != 1 {}
    register_one(&Registry::new(own), "b", "1.0.0");
    while told.recv().unwrap() != 2 {}
    drop(subscription);
    drop(store);
}

pub(crate) fn what_is_new_is_told_from_what_was_there(fixture: &Fixture) {
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
    assert_eq!(since(30, 10), ["changed 1.1.0"], "what nobody uses answers nothing");
}

pub(crate) fn the_other_tables_work_too(fixture: &Fixture) {
    let store = fixture.store();
    let key = |n: u8| TextKey::from_bytes(&[n; 16]).unwrap();
    let embedded = |value: f32| Embedded {
        windows: std::iter::once(0..3).collect(),
        vectors: vec![value; 384],
    };
    store.save("m", &[(key(1), &embedded(0.5)), (key(2), &embedded(0.25))]).unwrap();
    store.save("m", &[(key(2), &embedded(0.75))]).unwrap();
    let loaded = store.load("m", &[key(1), key(2), key(3)]).unwrap();
    assert_eq!((loaded.len(), &loaded[&key(2)]), (2, &embedded(0.75)));
    assert_eq!(store.embedding_count("m").unwrap(), 2);
    store.record_now(&Miss { tool: "t", query: "what is \u{0} this?" }).unwrap();
    assert_eq!(store.miss_count().unwrap(), 1);

    let files = tempfile::TempDir::new().unwrap();
    let file = files.path().join("export.db");
    assert_eq!(store.export_embeddings(&file).unwrap().entries, 2);
    let other_bed = fixture.other();
    let other = other_bed.store();
    assert_eq!(other.import_embeddings(&file).unwrap().entries, 2);
    assert_eq!(other.import_embeddings(&file).unwrap().entries, 0);
    assert_eq!(other.load("m", &[key(1), key(2)]).unwrap(), loaded);
}
