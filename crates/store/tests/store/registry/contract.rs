//! The registry's contract, line by line.

use kenning_registry::agents::RemoveAgentRequest;
use kenning_registry::deactivate::DeactivateRequest;
use kenning_registry::get::GetRequest;
use kenning_registry::list::ListRequest;
use kenning_registry::{Error, Registry};
use serde_json::{Value, json};

use super::fixture::{add, all_of, bulk, names, parse, register, register_one, value};
use crate::fixture::Fixture;

pub(crate) fn register_single_capability(fixture: &Fixture) {
    let registry = fixture.registry();
    let answer = value(register_one(&registry, "payload-cms-setup", "1.2.0"));
    let at = answer["capabilities"][0]["registered_at"].clone();
    assert!(at.as_str().unwrap().ends_with('Z'));
    assert_eq!(
        answer,
        json!({
            "success": true,
            "agent_id": 11,
            "capabilities_registered": 1,
            "capabilities_updated": 0,
            "capabilities": [{
                "id": answer["capabilities"][0]["id"],
                "skill_name": "payload-cms-setup",
                "version": "1.2.0",
                "active": true,
                "registered_at": at,
            }],
            "message": "Registered 1 capability for agent 11",
        })
    );
}

pub(crate) fn register_multiple_capabilities(fixture: &Fixture) {
    let registry = fixture.registry();
    let answer = register(&registry, example()).unwrap();
    assert_eq!((answer.capabilities_registered, answer.capabilities_updated), (2, 0));
    assert_eq!(answer.message, "Registered 2 capabilities for agent 11");
    let order: Vec<&str> = answer.capabilities.iter().map(|one| one.skill_name.as_str()).collect();
    assert_eq!(order, ["tdd-workflow", "payload-cms-setup"], "in the order of the request");
    let got = value(registry.get(&GetRequest::of(11)).unwrap());
    assert_eq!(got["capabilities"][0]["metadata"], json!({"language": "Node.js", "category": "b"}));
    assert_eq!(got["capabilities"][1].get("metadata"), None);
}

fn example() -> Value {
    json!({
        "agent_id": 11,
        "capabilities": [
            {"skill_name": "tdd-workflow", "version": "2.0.1", "active": true},
            {
                "skill_name": "payload-cms-setup",
                "version": "1.2.0",
                "active": true,
                "metadata": {"language": "Node.js", "category": "b"},
            },
        ],
        "upsert": true,
    })
}

pub(crate) fn update_existing_capability(fixture: &Fixture) {
    let registry = fixture.registry();
    let first = register(&registry, example()).unwrap();
    let bumped = register_one(&registry, "payload-cms-setup", "1.3.0-rc.1");
    assert_eq!((bumped.capabilities_registered, bumped.capabilities_updated), (0, 1));
    assert_eq!(bumped.message, "Updated 1 capability for agent 11");
    assert_eq!(bumped.capabilities[0].id, first.capabilities[1].id);
    assert_eq!(bumped.capabilities[0].registered_at, first.capabilities[1].registered_at);
    let got = all_of(&registry, 11);
    assert_eq!(names(&got), [("payload-cms-setup", "1.3.0-rc.1"), ("tdd-workflow", "2.0.1")]);
    let kept = got.capabilities[0].metadata.clone().unwrap();
    assert_eq!(kept["language"], "Node.js", "without metadata it is kept");

    let other = json!({"skill_name": "tdd-workflow", "version": "2.0.2", "metadata": {}});
    let new = json!({"skill_name": "docker", "version": "1.0.0"});
    let mixed = json!({"agent_id": 11, "capabilities": [other, new]});
    let answer = register(&registry, mixed).unwrap();
    assert_eq!((answer.capabilities_registered, answer.capabilities_updated), (1, 1));
    assert_eq!(answer.message, "Registered 1 and updated 1 capabilities for agent 11");
    assert_eq!(all_of(&registry, 11).capabilities[2].metadata, Some(serde_json::Map::new()));
}

pub(crate) fn activate_and_deactivate_capability(fixture: &Fixture) {
    let registry = fixture.registry();
    register(&registry, example()).unwrap();
    let request = DeactivateRequest { agent_id: 11, skill_name: "tdd-workflow".to_owned() };
    let answer = value(registry.deactivate(&request).unwrap());
    assert_eq!(
        answer,
        json!({
            "success": true,
            "agent_id": 11,
            "skill_name": "tdd-workflow",
            "message": "Deactivated 'tdd-workflow' for agent 11",
        })
    );
    registry.deactivate(&request).unwrap();
    let got = registry.get(&GetRequest::of(11)).unwrap();
    assert_eq!(names(&got), [("payload-cms-setup", "1.2.0")]);
    assert_eq!((got.total_count, got.active_count), (2, 1));
    register_one(&registry, "tdd-workflow", "2.0.1");
    assert_eq!(registry.get(&GetRequest::of(11)).unwrap().active_count, 2);

    let unknown = DeactivateRequest { agent_id: 11, skill_name: "nope".to_owned() };
    assert_eq!(
        value(registry.deactivate(&unknown).unwrap_err().body()),
        json!({
            "success": false,
            "error": "CAPABILITY_NOT_FOUND",
            "message": "Agent 11 has no capability 'nope'",
            "details": {"agent_id": 11, "skill_name": "nope"},
        })
    );
    let unknown_agent = DeactivateRequest { agent_id: 12, skill_name: "tdd-workflow".to_owned() };
    assert!(matches!(registry.deactivate(&unknown_agent), Err(Error::AgentNotFound { id: 12 })));
}

pub(crate) fn query_capabilities_with_all_filters(fixture: &Fixture) {
    let registry = fixture.registry();
    let off = json!({"skill_name": "b-off", "version": "9.0.0", "active": false});
    let on = json!({"skill_name": "a-on", "version": "10.0.0"});
    register(&registry, json!({"agent_id": 11, "capabilities": [off, on]})).unwrap();
    let check = |request: Value, expected: &[&str]| {
        let got = registry.get(&parse(request.clone())).unwrap();
        let names: Vec<&str> = got.capabilities.iter().map(|c| c.skill_name.as_str()).collect();
        assert_eq!(names, expected, "{request}");
        assert_eq!((got.total_count, got.active_count), (2, 1), "whatever the filter: {request}");
    };
    check(json!({"agent_id": 11}), &["a-on"]);
    check(json!({"agent_id": 11, "active_only": false}), &["a-on", "b-off"]);
    check(json!({"agent_id": 11, "skill_name": "b-off"}), &[]);
    check(json!({"agent_id": 11, "skill_name": "b-off", "active_only": false}), &["b-off"]);
    check(json!({"agent_id": 11, "skill_name": "unknown", "active_only": false}), &[]);
    assert_eq!(
        all_of(&registry, 11).human(),
        "Agent 11 Capabilities:\nTotal: 2 | Active: 1\n\n  ✓ a-on v10.0.0\n  ✗ b-off v9.0.0"
    );
}

/// Three agents with two skills in several versions.
fn team(fixture: &Fixture) -> Registry {
    let registry = fixture.registry();
    add(&registry, 12, "Mu");
    add(&registry, 13, "Nu");
    let put = |agent: i64, name: &str, version: &str, active: bool| {
        let one = json!({"skill_name": name, "version": version, "active": active});
        register(&registry, json!({"agent_id": agent, "capabilities": [one]})).unwrap();
    };
    put(11, "docker", "9.0.0", true);
    put(12, "docker", "10.0.0", true);
    put(13, "docker", "9.0.0", false);
    put(13, "ansible", "1.0.0", true);
    registry
}

fn list(registry: &Registry, request: Value) -> Value {
    value(registry.list(&parse::<ListRequest>(request)).unwrap())
}

pub(crate) fn list_all_capabilities_grouped_by_skill(fixture: &Fixture) {
    let registry = team(fixture);
    let holder = |id: i64, name: &str, active: bool| json!({"agent_id": id, "agent_name": name, "active": active});
    let group = |name: &str, version: &str, agents: Vec<Value>| {
        json!({
            "skill_name": name,
            "version": version,
            "agent_count": agents.len(),
            "agents": agents,
        })
    };
    let (lambda, mu) = (holder(11, "Lambda", true), holder(12, "Mu", true));
    let (nu, nu_off) = (holder(13, "Nu", true), holder(13, "Nu", false));
    let ansible = group("ansible", "1.0.0", vec![nu]);
    let new = group("docker", "10.0.0", vec![mu]);
    let old = group("docker", "9.0.0", vec![lambda.clone()]);
    let old_with_inactive = group("docker", "9.0.0", vec![lambda, nu_off]);
    let check = |request: Value, expected: &[&Value], skills: usize| {
        let answer = json!({"success": true, "capabilities": expected, "total_skills": skills});
        assert_eq!(list(&registry, request.clone()), answer, "{request}");
    };
    check(json!({"group_by": "skill"}), &[&ansible, &new, &old], 2);
    check(json!({}), &[&ansible, &new, &old], 2);
    check(json!({"active_only": false}), &[&ansible, &new, &old_with_inactive], 2);
    check(json!({"skill_name": "docker"}), &[&new, &old], 1);
    check(json!({"version": "9.0.0"}), &[&old], 1);
    check(json!({"skill_name": "ansible", "version": "9.0.0"}), &[], 0);
}

pub(crate) fn list_all_capabilities_grouped_by_agent(fixture: &Fixture) {
    let registry = team(fixture);
    let skill = |name: &str, version: &str, active: bool| json!({"skill_name": name, "version": version, "active": active});
    let group = |id: i64, name: &str, skills: Vec<Value>| {
        json!({
            "agent_id": id,
            "agent_name": name,
            "skill_count": skills.len(),
            "skills": skills,
        })
    };
    assert_eq!(
        list(&registry, json!({"group_by": "agent", "active_only": false})),
        json!({
            "success": true,
            "capabilities": [
                group(11, "Lambda", vec![skill("docker", "9.0.0", true)]),
                group(12, "Mu", vec![skill("docker", "10.0.0", true)]),
                group(13, "Nu", vec![
                    skill("ansible", "1.0.0", true),
                    skill("docker", "9.0.0", false),
                ]),
            ],
            "total_skills": 2,
        })
    );
}

pub(crate) fn errors_have_the_flat_form(fixture: &Fixture) {
    let registry = fixture.registry();
    let fail = |request: Value| value(register(&registry, request).unwrap_err().body());
    let one = |version: &str| json!([{"skill_name": "a", "version": version}]);
    assert_eq!(
        fail(json!({"agent_id": 11, "capabilities": one("1.2")})),
        json!({
            "success": false,
            "error": "INVALID_SEMVER",
            "message": "Invalid semantic version format: '1.2'. \
                        Expected format: 'MAJOR.MINOR.PATCH'",
            "details": {"provided": "1.2", "expected": "1.2.0"},
        })
    );
    assert_eq!(
        fail(json!({"agent_id": 99, "capabilities": one("1.2.0")})),
        json!({
            "success": false,
            "error": "AGENT_NOT_FOUND",
            "message": "Agent with ID 99 not found",
            "details": {"agent_id": 99},
        })
    );
    register_one(&registry, "a", "1.0.0");
    assert_eq!(
        fail(json!({"agent_id": 11, "capabilities": one("1.2.0"), "upsert": false})),
        json!({
            "success": false,
            "error": "DUPLICATE_CAPABILITY",
            "message": "Capability already exists (use upsert): 'a'",
            "details": {"agent_id": 11, "skill_names": ["a"]},
        })
    );
    assert_eq!(names(&all_of(&registry, 11)), [("a", "1.0.0")], "nothing was stored");
    let unknown = registry.get(&GetRequest::of(99)).unwrap_err();
    assert_eq!(unknown.code().as_str(), "AGENT_NOT_FOUND");
}

pub(crate) fn a_request_is_all_or_nothing(fixture: &Fixture) {
    let registry = fixture.registry();
    register_one(&registry, "there", "1.0.0");
    let good = json!({"skill_name": "new", "version": "1.0.0"});
    let bad = json!({"skill_name": "bad", "version": "one"});
    let there = json!({"skill_name": "there", "version": "2.0.0"});
    let twice = json!({"skill_name": "new", "version": "1.0.1"});
    let requests = [
        json!({"agent_id": 11, "capabilities": [good, bad]}),
        json!({"agent_id": 11, "capabilities": [good, there], "upsert": false}),
        json!({"agent_id": 11, "capabilities": [good, twice]}),
        json!({"agent_id": 11, "capabilities": []}),
    ];
    for request in requests {
        assert!(register(&registry, request.clone()).is_err(), "{request}");
        assert_eq!(names(&all_of(&registry, 11)), [("there", "1.0.0")], "{request}");
    }
}

pub(crate) fn versions_order_as_versions(fixture: &Fixture) {
    let registry = fixture.registry();
    let versions = ["9.0.0", "10.0.0", "10.0.0-rc.1", "10.0.0-rc.2", "2.0.0+build"];
    for (index, version) in versions.iter().enumerate() {
        let id = 100 + i64::try_from(index).unwrap();
        add(&registry, id, &format!("agent {id}"));
        let one = json!({"skill_name": "same", "version": version});
        register(&registry, json!({"agent_id": id, "capabilities": [one]})).unwrap();
    }
    let answer = list(&registry, json!({}));
    let order: Vec<&str> = answer["capabilities"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["version"].as_str().unwrap())
        .collect();
    assert_eq!(order, ["10.0.0", "10.0.0-rc.2", "10.0.0-rc.1", "9.0.0", "2.0.0+build"]);
}

pub(crate) fn a_thousand_capabilities_in_one_call_are_registered_and_updated_whole(
    fixture: &Fixture,
) {
    let registry = fixture.registry();
    let answer = register(&registry, bulk(1_000, "1.0.0")).unwrap();
    assert_eq!((answer.capabilities_registered, answer.capabilities_updated), (1_000, 0));
    let answer = register(&registry, bulk(1_001, "1.0.1")).unwrap();
    assert_eq!((answer.capabilities_registered, answer.capabilities_updated), (1, 1_000));
    let got = registry.get(&GetRequest::of(11)).unwrap();
    assert_eq!((got.total_count, got.active_count, got.capabilities.len()), (1_001, 1_001, 1_001));
    assert!(got.capabilities.iter().all(|one| one.version == "1.0.1"));
}

pub(crate) fn foreign_key_cascades_when_an_agent_is_removed(fixture: &Fixture) {
    let registry = team(fixture);
    let removed = registry.remove_agent(&RemoveAgentRequest { agent_id: 13 }).unwrap();
    assert_eq!(removed.capabilities_removed, 2);
    let left = list(&registry, json!({"active_only": false}));
    assert_eq!(left["total_skills"], 1);
    assert!(!left.to_string().contains("Nu"));
    assert!(matches!(registry.get(&GetRequest::of(13)), Err(Error::AgentNotFound { id: 13 })));
    let mut file = Vec::new();
    assert_eq!(
        fixture.store().export_registry(&mut file).unwrap().capabilities,
        2,
        "no row is left"
    );
}

pub(crate) fn pages_follow_each_other(fixture: &Fixture) {
    let registry = fixture.registry();
    register(&registry, bulk(25, "1.0.0")).unwrap();
    add(&registry, 12, "Mu");
    let one = json!({"skill_name": "skill-00003", "version": "2.0.0"});
    register(&registry, json!({"agent_id": 12, "capabilities": [one]})).unwrap();
    let (mut seen, mut cursor, mut pages) = (Vec::new(), None, 0);
    loop {
        let request = ListRequest { max_results: Some(10), cursor, ..ListRequest::default() };
        let answer = registry.list(&request).unwrap();
        assert_eq!(answer.total_skills, 25);
        let groups = value(&answer.capabilities);
        let groups = groups.as_array().unwrap().iter();
        seen.extend(groups.map(|group| format!("{} {}", group["skill_name"], group["version"])));
        (cursor, pages) = (answer.next_cursor, pages + 1);
        if cursor.is_none() {
            break;
        }
    }
    let distinct: std::collections::BTreeSet<&String> = seen.iter().collect();
    assert_eq!((pages, seen.len(), distinct.len()), (3, 26, 26));
    let by_agent = json!({"group_by": "agent", "max_results": 1});
    let first = list(&registry, by_agent);
    assert_eq!(
        (&first["next_cursor"], first["capabilities"][0]["skill_count"].as_u64()),
        (&json!("11"), Some(25))
    );
    let second = list(&registry, json!({"group_by": "agent", "max_results": 1, "cursor": "11"}));
    assert_eq!(second.get("next_cursor"), None);
    assert_eq!(second["capabilities"][0]["agent_name"], "Mu");
}
