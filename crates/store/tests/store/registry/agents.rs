//! Agents, and changes on condition of a revision.

use kenning_registry::Error;
use kenning_registry::agents::{
    AddAgentRequest, GetAgentRequest, ListAgentsRequest, RemoveAgentRequest, RenameAgentRequest,
};
use kenning_registry::deactivate::DeactivateRequest;
use kenning_registry::get::GetRequest;
use kenning_registry::register::RegisterRequest;

use super::fixture::{add, all_of, bulk, parse, register_one};
use crate::fixture::Fixture;

pub(crate) fn agents_are_added_listed_renamed_and_removed(fixture: &Fixture) {
    let registry = fixture.registry();
    let next = |name: &str| {
        let request = AddAgentRequest { name: name.to_owned(), id: None };
        registry.add_agent(&request).map(|answer| answer.agent.id)
    };
    assert_eq!(next("Mu").unwrap(), 12, "after the id that was chosen");
    add(&registry, 5, "Nu");
    assert_eq!(next("Xi").unwrap(), 13);
    registry.remove_agent(&RemoveAgentRequest { agent_id: 13 }).unwrap();
    assert_eq!(next("Omikron").unwrap(), 14, "an id is not given twice");
    for (name, id) in [("Mu", None), ("Mu", Some(77)), ("Rho", Some(11))] {
        let request = AddAgentRequest { name: name.to_owned(), id };
        let error = registry.add_agent(&request).unwrap_err();
        assert_eq!(error.code().as_str(), "AGENT_EXISTS", "{error}");
    }
    let rename = |agent_id: i64, name: &str| {
        registry.rename_agent(&RenameAgentRequest { agent_id, name: name.to_owned() })
    };
    assert_eq!(rename(5, "Ny").unwrap().agent.name, "Ny");
    assert!(rename(5, "Ny").is_ok(), "its own name is free for it");
    assert!(matches!(rename(5, "Mu"), Err(Error::AgentExists { id: 12, .. })));
    assert!(matches!(rename(99, "Tau"), Err(Error::AgentNotFound { id: 99 })));
    register_one(&registry, "a", "1.0.0");
    let listed = registry.agents(&ListAgentsRequest::default()).unwrap();
    let brief: Vec<(i64, &str, usize)> =
        listed.agents.iter().map(|one| (one.id, one.name.as_str(), one.total_count)).collect();
    assert_eq!(brief, [(5, "Ny", 0), (11, "Lambda", 1), (12, "Mu", 0), (14, "Omikron", 0)]);
    let page = ListAgentsRequest { max_results: Some(2), cursor: Some(5) };
    let page = registry.agents(&page).unwrap();
    assert_eq!((page.agents.len(), page.total_count, page.next_cursor), (2, 4, Some(12)));
    assert_eq!(
        (registry.resolve_agent("Mu").unwrap(), registry.resolve_agent("14").unwrap()),
        (12, 14)
    );
    assert!(matches!(registry.resolve_agent("Psi"), Err(Error::AgentNotNamed { .. })));
}

pub(crate) fn conditional_changes_need_the_current_revision(fixture: &Fixture) {
    let registry = fixture.registry();
    let seen = registry.get(&GetRequest::of(11)).unwrap().revision;
    let request: RegisterRequest = parse(bulk(3, "1.0.0"));
    let now = registry.register_if(&request, Some(seen)).unwrap().revision;
    assert_ne!(seen, now);
    let late = registry.register_if(&parse(bulk(3, "2.0.0")), Some(seen)).unwrap_err();
    assert_eq!(late.code().as_str(), "PRECONDITION_FAILED");
    assert!(all_of(&registry, 11).capabilities.iter().all(|one| one.version == "1.0.0"));
    assert_eq!(all_of(&registry, 11).revision, now);
    let off = DeactivateRequest { agent_id: 11, skill_name: "skill-00000".to_owned() };
    assert!(registry.deactivate_if(&off, Some(seen)).is_err());
    let now = registry.deactivate_if(&off, Some(now)).unwrap().revision;
    let rename = RenameAgentRequest { agent_id: 11, name: "Lambda 2".to_owned() };
    assert!(matches!(registry.rename_agent_if(&rename, Some(seen)), Err(Error::Changed { .. })));
    let renamed = registry.rename_agent_if(&rename, Some(now)).unwrap().agent;
    assert_eq!(registry.agent(&GetAgentRequest { agent_id: 11 }).unwrap().agent, renamed);
    let remove = RemoveAgentRequest { agent_id: 11 };
    assert!(matches!(registry.remove_agent_if(&remove, Some(now)), Err(Error::Changed { .. })));
    registry.remove_agent_if(&remove, Some(renamed.revision)).unwrap();
    let gone = registry.agent(&GetAgentRequest { agent_id: 11 });
    assert!(matches!(gone, Err(Error::AgentNotFound { id: 11 })));
}
