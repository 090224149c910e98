//! Adds, lists, renames and removes agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Registry;
use crate::error::Error;
use crate::model::{Agent, Revision, Timestamp};
use crate::rules::{MAX_ID, MAX_NAME, NAME_PATTERN, check_agent_id, check_name};
use crate::store::AgentCounts;

pub const DEFAULT_AGENTS: usize = 1_000;
pub const MAX_AGENTS: usize = 10_000;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddAgentRequest {
    /// A name that no other agent has
    #[schemars(length(min = 1, max = MAX_NAME), regex(pattern = NAME_PATTERN))]
    pub name: String,
    /// An id that no other agent has; the next free one unless given
    #[schemars(range(min = 1, max = MAX_ID))]
    pub id: Option<i64>,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListAgentsRequest {
    /// Maximum number of agents; 1,000 unless said otherwise
    #[schemars(range(min = 1, max = MAX_AGENTS))]
    pub max_results: Option<usize>,
    /// For the next page, the `next_cursor` of this one
    pub cursor: Option<i64>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetAgentRequest {
    /// Agent ID
    #[schemars(range(min = 1, max = MAX_ID))]
    pub agent_id: i64,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenameAgentRequest {
    /// Agent ID
    #[schemars(range(min = 1, max = MAX_ID))]
    pub agent_id: i64,
    /// A name that no other agent has
    #[schemars(length(min = 1, max = MAX_NAME), regex(pattern = NAME_PATTERN))]
    pub name: String,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveAgentRequest {
    /// Agent ID
    #[schemars(range(min = 1, max = MAX_ID))]
    pub agent_id: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentResponse {
    pub success: bool,
    pub agent: Agent,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentsResponse {
    pub success: bool,
    /// By id
    pub agents: Vec<ListedAgent>,
    /// How many agents there are, on all pages
    pub total_count: usize,
    /// There is more: ask again with this `cursor`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ListedAgent {
    pub id: i64,
    pub name: String,
    pub total_count: usize,
    pub active_count: usize,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemoveAgentResponse {
    pub success: bool,
    pub agent_id: i64,
    /// How many capabilities went with it
    pub capabilities_removed: usize,
    pub message: String,
}

impl Registry {
    pub fn add_agent(&self, request: &AddAgentRequest) -> Result<AgentResponse, Error> {
        let name = check_name("name", &request.name)?;
        let id = request.id.map(check_agent_id).transpose()?;
        let agent = self.store.add_agent(name, id, (self.clock)())?;
        let message = format!("Added agent {} '{}'", agent.id, agent.name);
        Ok(AgentResponse { success: true, agent, message })
    }

    pub fn agents(&self, request: &ListAgentsRequest) -> Result<AgentsResponse, Error> {
        let limit = request.max_results.unwrap_or(DEFAULT_AGENTS);
        if !(1..=MAX_AGENTS).contains(&limit) {
            let problem = format!("is {limit}; it can be 1 to {MAX_AGENTS}");
            return Err(Error::invalid("max_results", problem));
        }
        let after = request.cursor.unwrap_or(0).clamp(0, MAX_ID);
        let (mut found, total_count) = self.store.agents(after, limit + 1)?;
        let more = found.len() > limit;
        found.truncate(limit);
        let next_cursor = found.last().filter(|_| more).map(|last| last.agent.id);
        let agents = found.into_iter().map(ListedAgent::from).collect();
        Ok(AgentsResponse { success: true, agents, total_count, next_cursor })
    }

    pub fn agent(&self, request: &GetAgentRequest) -> Result<AgentResponse, Error> {
        let agent = self.store.agent(check_agent_id(request.agent_id)?)?;
        let message = format!("Agent {} is '{}'", agent.id, agent.name);
        Ok(AgentResponse { success: true, agent, message })
    }

    pub fn rename_agent(&self, request: &RenameAgentRequest) -> Result<AgentResponse, Error> {
        self.rename_agent_if(request, None)
    }

    /// Fails if the agent no longer has the expected revision.
    pub fn rename_agent_if(
        &self,
        request: &RenameAgentRequest,
        expected: Option<Revision>,
    ) -> Result<AgentResponse, Error> {
        let agent_id = check_agent_id(request.agent_id)?;
        let name = check_name("name", &request.name)?;
        let agent = self.store.rename_agent(agent_id, name, expected)?;
        let message = format!("Agent {agent_id} is now '{}'", agent.name);
        Ok(AgentResponse { success: true, agent, message })
    }

    pub fn remove_agent(&self, request: &RemoveAgentRequest) -> Result<RemoveAgentResponse, Error> {
        self.remove_agent_if(request, None)
    }

    /// Fails if the agent no longer has the expected revision.
    pub fn remove_agent_if(
        &self,
        request: &RemoveAgentRequest,
        expected: Option<Revision>,
    ) -> Result<RemoveAgentResponse, Error> {
        let agent_id = check_agent_id(request.agent_id)?;
        let capabilities_removed = self.store.remove_agent(agent_id, expected)?;
        let message = format!("Removed agent {agent_id} and {capabilities_removed} capabilities");
        Ok(RemoveAgentResponse { success: true, agent_id, capabilities_removed, message })
    }

    /// The id of an agent given by id or by name, as on the command line.
    pub fn resolve_agent(&self, id_or_name: &str) -> Result<i64, Error> {
        if let Ok(id) = id_or_name.parse() {
            return check_agent_id(id);
        }
        let name = check_name("agent", id_or_name)?;
        let agent = self.store.agent_named(name)?;
        agent
            .map(|agent| agent.id)
            .ok_or_else(|| Error::AgentNotNamed { name: id_or_name.to_owned() })
    }
}

impl From<AgentCounts> for ListedAgent {
    fn from(counts: AgentCounts) -> Self {
        let AgentCounts { agent: Agent { id, name, created_at, .. }, capabilities, active } =
            counts;
        Self { id, name, total_count: capabilities, active_count: active, created_at }
    }
}
