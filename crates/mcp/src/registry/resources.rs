//! `registry://agents` and `registry://agents/{agent_id}`: what the team's agents have, to be told
//! of when it changes.

use std::collections::HashMap;

use kenning_registry::agents::{ListAgentsRequest, ListedAgent};
use kenning_registry::get::GetRequest;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde::Serialize;

use crate::house::House;
use crate::inventory::Toolset;
use crate::resource::{Parameter, ReadError, ResourceFamily};
use crate::rooms::Rooms;

/// The part of the URI before `://`.
pub const SCHEME: &str = "registry";
const AGENTS: &str = "registry://agents";
const AGENT: &str = "registry://agents/{agent_id}";
const JSON: &str = "application/json";
const MOST: usize = 1_000;

#[derive(Debug, Clone, Copy)]
pub struct RegistryResources;

impl ResourceFamily for RegistryResources {
    fn scheme(&self) -> &'static str {
        SCHEME
    }

    fn toolset(&self) -> Option<Toolset> {
        Some(Toolset::Registry)
    }

    fn description(&self) -> &'static str {
        "The team's agents, or the skills of one of them"
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        let template = ResourceTemplate::new(AGENT, "agent_skills")
            .with_title("Skills of an agent")
            .with_description("All skills of one of the team's agents, active or not")
            .with_mime_type(JSON);
        vec![template]
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("agent_id", "The id of one of the team's agents")]
    }

    fn list(&self, rooms: &Rooms, after: Option<&str>, limit: usize) -> Vec<Resource> {
        let mut listed = Vec::new();
        if after.is_none() {
            let agents = Resource::new(AGENTS, "agents").with_title("The team's agents");
            listed.push(agents.with_mime_type(JSON));
        }
        let after = after.and_then(id).unwrap_or_default();
        let rest = limit.saturating_sub(listed.len()).min(MOST);
        listed.extend(page(rooms, after, rest).iter().map(describe));
        listed
    }

    fn read(&self, house: &House, uri: &str) -> Result<ResourceContents, ReadError> {
        let registry = house.rooms.registry()?;
        let text = if uri == AGENTS {
            json(&registry.agents(&ListAgentsRequest::default())?)
        } else {
            let agent_id = id(uri).ok_or_else(|| ReadError {
                message: format!("`{uri}` names no agent"),
                hint: format!("URIs look like `{AGENTS}` or `{AGENTS}/11`"),
            })?;
            json(&registry.get(&GetRequest { active_only: false, ..GetRequest::of(agent_id) })?)
        };
        Ok(ResourceContents::text(text, uri).with_mime_type(JSON))
    }

    fn complete(&self, rooms: &Rooms, _: &str, _: &HashMap<String, String>) -> Vec<String> {
        page(rooms, 0, MOST).iter().map(|agent| agent.id.to_string()).collect()
    }
}

fn id(uri: &str) -> Option<i64> {
    uri.strip_prefix(AGENTS)?.strip_prefix('/')?.parse().ok()
}

/// Without a store there are none.
fn page(rooms: &Rooms, after: i64, limit: usize) -> Vec<ListedAgent> {
    if limit == 0 {
        return Vec::new();
    }
    let request = ListAgentsRequest { max_results: Some(limit), cursor: Some(after) };
    let found = rooms.registry().and_then(|registry| registry.agents(&request));
    found.map(|found| found.agents).unwrap_or_default()
}

fn describe(agent: &ListedAgent) -> Resource {
    Resource::new(format!("{AGENTS}/{}", agent.id), agent.name.clone())
        .with_title(format!("Skills of {}", agent.name))
        .with_mime_type(JSON)
}

fn json<T: Serialize>(answer: &T) -> String {
    serde_json::to_string(answer).expect("answers are plain JSON")
}

impl From<kenning_registry::Error> for ReadError {
    fn from(error: kenning_registry::Error) -> Self {
        let hint = error.hint().unwrap_or("`registry://agents` lists the agents there are");
        Self { message: error.to_string(), hint: hint.to_owned() }
    }
}
