//! `get_agent_capabilities`: the skills of one agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Registry;
use crate::error::Error;
use crate::model::{Capability, Revision};
use crate::register::yes;
use crate::rules::{MAX_ID, MAX_NAME, NAME_PATTERN, check_agent_id, check_name};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRequest {
    /// Agent ID
    #[schemars(range(min = 1, max = MAX_ID))]
    pub agent_id: i64,
    /// Only what is active
    #[serde(default = "yes")]
    pub active_only: bool,
    /// Only this skill
    #[schemars(length(min = 1, max = MAX_NAME), regex(pattern = NAME_PATTERN))]
    pub skill_name: Option<String>,
    /// `human` answers with text to read
    #[serde(default)]
    pub format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    #[default]
    Json,
    Human,
}

/// The skills as data, or as text to read.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Formatted {
    #[serde(flatten)]
    found: GetResponse,
    /// With `format: human`
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GetResponse {
    pub success: bool,
    pub agent_id: i64,
    /// Those that fit the filters, by name
    pub capabilities: Vec<Capability>,
    /// How many the agent has, whatever the filters
    pub total_count: usize,
    /// How many of all are active, whatever the filters
    pub active_count: usize,
    #[serde(skip)]
    pub revision: Revision,
}

impl GetRequest {
    pub fn of(agent_id: i64) -> Self {
        Self { agent_id, active_only: true, skill_name: None, format: Format::Json }
    }
}

impl Registry {
    pub fn get(&self, request: &GetRequest) -> Result<GetResponse, Error> {
        let agent_id = check_agent_id(request.agent_id)?;
        if let Some(name) = &request.skill_name {
            check_name("skill_name", name)?;
        }
        // The counts cover the whole agent, so everything is read and filtered here.
        let held = self.store.held(agent_id)?;
        let total_count = held.capabilities.len();
        let active_count = held.capabilities.iter().filter(|one| one.active).count();
        let fits = |one: &Capability| {
            (one.active || !request.active_only)
                && request.skill_name.as_deref().is_none_or(|name| one.skill_name == name)
        };
        Ok(GetResponse {
            success: true,
            agent_id,
            capabilities: held.capabilities.into_iter().filter(fits).collect(),
            total_count,
            active_count,
            revision: held.revision,
        })
    }
}

impl GetResponse {
    pub fn formatted(self, format: Format) -> Formatted {
        let text = (format == Format::Human).then(|| self.human());
        Formatted { found: self, text }
    }

    /// The text of `format: human`.
    pub fn human(&self) -> String {
        let mut text = format!(
            "Agent {} Capabilities:\nTotal: {} | Active: {}\n",
            self.agent_id, self.total_count, self.active_count
        );
        for Capability { skill_name, version, active, .. } in &self.capabilities {
            let mark = if *active { '✓' } else { '✗' };
            text.push_str(&format!("\n  {mark} {skill_name} v{version}"));
        }
        text
    }
}
