//! `register_agent_capabilities`: applies a whole request or nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Registry;
use crate::error::Error;
use crate::model::{Capability, Metadata, Revision, Timestamp};
use crate::rules::{
    MAX_CAPABILITIES, MAX_ID, MAX_NAME, MAX_VERSION, NAME_PATTERN, VERSION_PATTERN, check_agent_id,
    check_capabilities,
};
use crate::store::{Change, Existing, NewCapability};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterRequest {
    /// Agent ID
    #[schemars(range(min = 1, max = MAX_ID))]
    pub agent_id: i64,
    /// The skills the agent has, each named once
    #[schemars(length(min = 1, max = MAX_CAPABILITIES))]
    pub capabilities: Vec<CapabilityInput>,
    /// Update what is registered already; if false, that is an error and nothing is registered
    #[serde(default = "yes")]
    pub upsert: bool,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapabilityInput {
    /// Name of the skill, such as `payload-cms-setup`
    #[schemars(length(min = 1, max = MAX_NAME), regex(pattern = NAME_PATTERN))]
    pub skill_name: String,
    /// Semantic version, such as `1.2.0`
    #[schemars(length(max = MAX_VERSION), regex(pattern = VERSION_PATTERN))]
    pub version: String,
    /// Whether the agent uses it now
    #[serde(default = "yes")]
    pub active: bool,
    /// Additional information; without it an update keeps what there is
    pub metadata: Option<Metadata>,
}

pub(crate) fn yes() -> bool {
    true
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RegisterResponse {
    pub success: bool,
    pub agent_id: i64,
    /// How many were not there before
    pub capabilities_registered: usize,
    /// How many were there before
    pub capabilities_updated: usize,
    /// Those of the request, in its order
    pub capabilities: Vec<RegisteredCapability>,
    pub message: String,
    #[serde(skip)]
    pub revision: Revision,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RegisteredCapability {
    pub id: i64,
    pub skill_name: String,
    pub version: String,
    pub active: bool,
    pub registered_at: Timestamp,
}

impl Registry {
    pub fn register(&self, request: &RegisterRequest) -> Result<RegisterResponse, Error> {
        self.register_if(request, None)
    }

    /// Fails if the agent no longer has the expected revision.
    pub fn register_if(
        &self,
        request: &RegisterRequest,
        expected: Option<Revision>,
    ) -> Result<RegisterResponse, Error> {
        let agent_id = check_agent_id(request.agent_id)?;
        check_capabilities(&request.capabilities)?;
        let change = Change {
            put: request.capabilities.iter().map(NewCapability::from).collect(),
            existing: if request.upsert { Existing::Update } else { Existing::Refuse },
            expected,
            ..Change::default()
        };
        let applied = self.store.apply(agent_id, &change, (self.clock)())?;
        let (new, updated) = (applied.put.len() - applied.updated, applied.updated);
        Ok(RegisterResponse {
            success: true,
            agent_id,
            capabilities_registered: new,
            capabilities_updated: updated,
            capabilities: applied.put.into_iter().map(RegisteredCapability::from).collect(),
            message: message(agent_id, new, updated),
            revision: applied.revision,
        })
    }
}

fn message(agent_id: i64, new: usize, updated: usize) -> String {
    let noun = if new + updated == 1 { "capability" } else { "capabilities" };
    match (new, updated) {
        (new, 0) => format!("Registered {new} {noun} for agent {agent_id}"),
        (0, updated) => format!("Updated {updated} {noun} for agent {agent_id}"),
        _ => format!("Registered {new} and updated {updated} {noun} for agent {agent_id}"),
    }
}

impl From<&CapabilityInput> for NewCapability {
    fn from(input: &CapabilityInput) -> Self {
        let CapabilityInput { skill_name, version, active, metadata } = input.clone();
        Self { skill_name, version, active, metadata }
    }
}

impl From<Capability> for RegisteredCapability {
    fn from(capability: Capability) -> Self {
        let Capability { id, skill_name, version, active, registered_at, .. } = capability;
        Self { id, skill_name, version, active, registered_at }
    }
}
