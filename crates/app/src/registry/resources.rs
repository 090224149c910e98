//! `registry://agents` and `registry://agents/{agent_id}`: the team's agents and their skills, as
//! resources that clients can subscribe to.

use std::collections::HashMap;

use kenning_registry::agents::{ListAgentsRequest, ListedAgent};
use kenning_registry::get::GetRequest;

use crate::limiter::Workload;
use crate::resource::{
    Contents, Family, JSON, Parameter, ReadError, Resource, ResourceFamily, Template,
};
use crate::services::Services;
use crate::state::AppState;
use crate::toolset::Toolset;

/// The part of the URI before `://`.
pub const SCHEME: &str = "registry";
const AGENTS: &str = "registry://agents";
const AGENT: &str = "registry://agents/{agent_id}";
const MAX_PAGE: usize = 1_000;

static FAMILY: Family = Family {
    scheme: SCHEME,
    toolset: Some(Toolset::Registry),
    description: "The team's agents, or the skills of one of them",
    templates: &[Template {
        uri: AGENT,
        name: "agent_skills",
        title: "Skills of an agent",
        description: "All skills of one of the team's agents, active or not",
        mime_type: JSON,
    }],
    parameters: &[Parameter::new("agent_id", "The id of one of the team's agents")],
    is_live: false,
    workload: Workload::External,
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct RegistryResources;

impl ResourceFamily for RegistryResources {
    fn family(&self) -> &'static Family {
        &FAMILY
    }

    fn list(&self, services: &Services, after: Option<&str>, limit: usize) -> Vec<Resource> {
        let mut listed = Vec::new();
        if after.is_none() {
            let title = Some("The team's agents".to_owned());
            listed.push(Resource { title, ..Resource::new(AGENTS, "agents", JSON) });
        }
        let after = after.and_then(id).unwrap_or_default();
        let rest = limit.saturating_sub(listed.len()).min(MAX_PAGE);
        listed.extend(page(services, after, rest).iter().map(describe));
        listed
    }

    fn read(&self, state: &AppState, uri: &str) -> Result<Contents, ReadError> {
        let registry = state.services.registry()?;
        if uri == AGENTS {
            return Ok(Contents::json(uri, &registry.agents(&ListAgentsRequest::default())?));
        }
        let agent_id = id(uri).ok_or_else(|| ReadError {
            message: format!("`{uri}` names no agent"),
            hint: format!("URIs look like `{AGENTS}` or `{AGENTS}/11`"),
        })?;
        let request = GetRequest { active_only: false, ..GetRequest::of(agent_id) };
        Ok(Contents::json(uri, &registry.get(&request)?))
    }

    fn complete(&self, services: &Services, _: &str, _: &HashMap<String, String>) -> Vec<String> {
        page(services, 0, MAX_PAGE).iter().map(|agent| agent.id.to_string()).collect()
    }
}

fn id(uri: &str) -> Option<i64> {
    uri.strip_prefix(AGENTS)?.strip_prefix('/')?.parse().ok()
}

/// No agents without a store.
fn page(services: &Services, after: i64, limit: usize) -> Vec<ListedAgent> {
    if limit == 0 {
        return Vec::new();
    }
    let request = ListAgentsRequest { max_results: Some(limit), cursor: Some(after) };
    let found = services.registry().and_then(|registry| registry.agents(&request));
    found.map(|found| found.agents).unwrap_or_default()
}

fn describe(agent: &ListedAgent) -> Resource {
    let uri = format!("{AGENTS}/{}", agent.id);
    let title = Some(format!("Skills of {}", agent.name));
    Resource { title, ..Resource::new(uri, agent.name.clone(), JSON) }
}
