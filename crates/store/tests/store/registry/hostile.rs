//! Hostile input.

use kenning_registry::deactivate::DeactivateRequest;
use kenning_registry::list::ListRequest;
use kenning_registry::register::RegisterRequest;
use kenning_registry::{Registry, agents};
use kenning_store::{Location, Store};
use kenning_testkit::Postgres;
use serde_json::{Value, json};

use super::fixture::{all_of, names, parse, register, register_one};
use crate::fixture::Fixture;

const NAMES: [&str; 9] = [
    "'; DROP TABLE agents; --",
    "\" OR 1=1 --",
    "a' UNION SELECT name FROM agents --",
    "$1",
    "?1",
    "%",
    "\\'; SELECT pg_sleep(10); --",
    "naïve 技能 🦀",
    "../../etc/passwd",
];

pub(crate) fn names_that_look_like_sql_are_names(fixture: &Fixture) {
    let registry = fixture.registry();
    for name in NAMES {
        let metadata = json!({name: name, "nul": "\u{0}"});
        let one = json!({"skill_name": name, "version": "1.0.0", "metadata": metadata});
        register(&registry, json!({"agent_id": 11, "capabilities": [one]})).unwrap();
        let agent = registry
            .add_agent(&agents::AddAgentRequest { name: name.to_owned(), id: None })
            .unwrap();
        assert_eq!(registry.resolve_agent(name).unwrap(), agent.agent.id);
        let request = ListRequest { skill_name: Some(name.to_owned()), ..ListRequest::default() };
        assert_eq!(registry.list(&request).unwrap().total_skills, 1, "{name}");
    }
    let got = all_of(&registry, 11);
    let mut expected: Vec<(&str, &str)> = NAMES.iter().map(|name| (*name, "1.0.0")).collect();
    expected.sort_unstable();
    assert_eq!(names(&got), expected, "byte by byte, in the same order on both databases");
    for one in &got.capabilities {
        let metadata = one.metadata.as_ref().unwrap();
        assert_eq!(metadata[&one.skill_name], one.skill_name);
        assert_eq!(metadata["nul"], "\u{0}");
    }
    let off = DeactivateRequest { agent_id: 11, skill_name: NAMES[0].to_owned() };
    registry.deactivate(&off).unwrap();
    assert_eq!(all_of(&registry, 11).active_count, NAMES.len() - 1, "that one and no other");
}

pub(crate) fn refuses_what_cannot_be_stored(fixture: &Fixture) {
    let registry = fixture.registry();
    let long = "x".repeat(256);
    let big = "x".repeat(70_000);
    let many: Vec<Value> =
        (0..10_001).map(|n| json!({"skill_name": n.to_string(), "version": "1.0.0"})).collect();
    let one = |name: &str| json!([{"skill_name": name, "version": "1.0.0"}]);
    let requests = [
        json!({"agent_id": 11, "capabilities": one("")}),
        json!({"agent_id": 11, "capabilities": one("  ")}),
        json!({"agent_id": 11, "capabilities": one(&long)}),
        json!({"agent_id": 11, "capabilities": one("nul \u{0}")}),
        json!({"agent_id": 11, "capabilities": one("escape \u{1b}[2J")}),
        json!({"agent_id": 11, "capabilities": many}),
        json!({"agent_id": 0, "capabilities": one("a")}),
        json!({"agent_id": -1, "capabilities": one("a")}),
        json!({"agent_id": i64::MAX, "capabilities": one("a")}),
        json!({"agent_id": 11, "capabilities": [
            {"skill_name": "a", "version": "1.0.0", "metadata": {"big": big}}
        ]}),
    ];
    for request in requests {
        let error = register(&registry, request).unwrap_err();
        assert_eq!(error.code().as_str(), "INVALID_ARGUMENT");
        assert!(error.to_string().len() < 300);
    }
    let misspelt = [
        json!({"agent_id": 11, "capabilities": [], "unknown": 1}),
        json!({"agent_id": 11.5, "capabilities": []}),
        json!({"agent_id": "11", "capabilities": []}),
        json!({"agent_id": 11, "capabilities": [{"skill_name": "a", "version": 1}]}),
        json!({"agent_id": 11, "capabilities": [{"skill_name": "a", "version": "1.0.0", "metadata": []}]}),
    ];
    for request in misspelt {
        assert!(serde_json::from_value::<RegisterRequest>(request.clone()).is_err(), "{request}");
    }
    let listing = [
        json!({"skill_name": "nul \u{0}"}),
        json!({"cursor": "nul \u{0}"}),
        json!({"cursor": "x", "group_by": "agent"}),
        json!({"max_results": 0}),
        json!({"max_results": 1_000_000}),
        json!({"query": " "}),
        json!({"query": "x", "cursor": "y"}),
    ];
    for request in listing {
        let error = registry.list(&parse(request)).unwrap_err();
        assert_eq!(error.code().as_str(), "INVALID_ARGUMENT", "{error}");
    }
    let version = registry.list(&parse(json!({"version": "1"}))).unwrap_err();
    assert_eq!(version.code().as_str(), "INVALID_SEMVER");
    // The limit is in characters, not in bytes.
    register_one(&registry, &"技".repeat(255), "1.0.0");
    assert_eq!(all_of(&registry, 11).total_count, 1, "nothing else was stored");
}

pub(crate) fn passwords_are_never_shown(fixture: &Fixture) {
    let store = fixture.store();
    let location: Location = fixture.location.parse().unwrap();
    let mut shown = format!("{store:?} {} {location:?} {location}", store.place());
    if fixture.is_postgres() {
        let secret = Postgres::shared().password();
        let wrong = fixture.location.replace(secret, &format!("{secret}-wrong"));
        let error = Store::connect(&wrong.parse().unwrap()).unwrap_err();
        shown.push_str(&format!("{error} {error:?}"));
        let nowhere = format!("postgres://kenning:{secret}@127.0.0.1:1/none");
        let error = Store::connect(&nowhere.parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains("refused"), "it says what is wrong: {error}");
        shown.push_str(&format!("{error} {error:?}"));
        let registry = Registry::new(store);
        Postgres::shared().query(&fixture.location, "DROP TABLE agent_capabilities, agents");
        let error = registry.agents(&parse(json!({}))).unwrap_err();
        assert_eq!(error.to_string(), "Database operation failed");
        shown.push_str(&format!("{error:?} {registry:?}"));
        assert!(shown.contains("postgres://kenning@"));
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(!shown.is_empty());
}
