//! Export and import.

use kenning_registry::Registry;
use kenning_registry::agents::AddAgentRequest;
use kenning_store::{ImportError, RegistryTransferred, Store};
use serde_json::json;

use super::fixture::{add, all_of, bulk, names, register, register_one};
use crate::fixture::Fixture;

fn export(store: &Store) -> (String, RegistryTransferred) {
    let mut file = Vec::new();
    let moved = store.export_registry(&mut file).unwrap();
    (String::from_utf8(file).unwrap(), moved)
}

fn import(store: &Store, text: &str) -> Result<RegistryTransferred, ImportError> {
    store.import_registry(&mut text.as_bytes())
}

pub(crate) fn export_and_import_between_the_databases(fixture: &Fixture) {
    let registry = fixture.registry();
    register(&registry, bulk(2_500, "1.0.0")).unwrap();
    add(&registry, 7, "'; DROP TABLE agents; --");
    let odd = json!({"skill_name": "技能 🦀", "version": "1.0.0-rc.1+x", "active": false,
                     "metadata": {"z": 1, "a": [null, 1.5, "\u{0}\"\\\n"]}});
    register(&registry, json!({"agent_id": 7, "capabilities": [odd]})).unwrap();
    let (text, moved) = export(&fixture.store());
    assert_eq!(moved, RegistryTransferred { agents: 2, capabilities: 2_501 });
    let other = fixture.other();
    let store = other.store();
    assert_eq!(import(&store, &text).unwrap(), moved);
    assert_eq!(export(&store).0, text, "every row is the same, ids and times included");
    assert_eq!(import(&store, &text).unwrap(), RegistryTransferred::default(), "it is there");
    let third = fixture.another();
    let back = third.store();
    import(&back, &export(&store).0).unwrap();
    assert_eq!(export(&back).0, text, "and back again");

    // Ids go on after those that came along.
    let registry = Registry::new(store);
    let new = registry.add_agent(&AddAgentRequest { name: "new".to_owned(), id: None }).unwrap();
    assert_eq!(new.agent.id, 12);
    let last = all_of(&registry, 11).capabilities.iter().map(|one| one.id).max().unwrap();
    assert!(register_one(&registry, "one more", "1.0.0").capabilities[0].id > last);
}

pub(crate) fn an_import_is_all_or_nothing(fixture: &Fixture) {
    let header = r#"{"format":"kenning-registry","version":1}"#;
    let agent = r#"{"table":"agent","id":1,"name":"one","revision":0,"created_at":0}"#;
    let skill = |agent: i64, version: &str| {
        format!(
            r#"{{"table":"capability","id":1,"agent_id":{agent},"skill_name":"s","version":"{version}","active":true,"metadata":null,"registered_at":0,"updated_at":0}}"#
        )
    };
    let broken = [
        String::new(),
        "rubbish".to_owned(),
        r#"{"format":"something","version":1}"#.to_owned(),
        r#"{"format":"kenning-registry","version":2}"#.to_owned(),
        format!("{header}\n{agent}\nrubbish\n"),
        format!("{header}\n{agent}\n{}\n", skill(2, "1.0.0")),
        format!("{header}\n{agent}\n{}\n", skill(1, "1")),
        format!("{header}\n{agent}\n{}", &skill(1, "1.0.0")[..40]),
        format!("{header}\n{agent}\n{}\n", agent.replace("one", "other")),
    ];
    let store = fixture.store();
    for text in broken {
        assert!(import(&store, &text).is_err(), "{text}");
        assert_eq!(export(&store).1, RegistryTransferred::default(), "{text}");
    }
    let good = format!("{header}\n{agent}\n{}\n", skill(1, "1.0.0"));
    assert_eq!(import(&store, &good).unwrap().capabilities, 1);
}

pub(crate) fn an_import_keeps_existing_rows(fixture: &Fixture) {
    let (here, there) = (fixture.registry(), fixture.other());
    let elsewhere = there.registry();
    register_one(&here, "both", "2.0.0");
    register_one(&here, "here", "1.0.0");
    register_one(&elsewhere, "there", "1.0.0");
    register_one(&elsewhere, "both", "1.0.0");
    let (text, _) = export(&there.store());
    assert_eq!(import(&fixture.store(), &text).unwrap().capabilities, 1);
    let got = all_of(&here, 11);
    assert_eq!(names(&got), [("both", "2.0.0"), ("here", "1.0.0"), ("there", "1.0.0")]);
    register_one(&here, "after", "1.0.0");

    let conflicting = text.replace("Lambda", "Somebody else");
    let refused = import(&fixture.store(), &conflicting).unwrap_err();
    assert!(refused.to_string().contains("agent 11 'Somebody else'"), "{refused}");
}
