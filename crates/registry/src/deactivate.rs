//! `deactivate_capability`: the agent still has the skill but does not use it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Registry;
use crate::error::Error;
use crate::model::Revision;
use crate::rules::{MAX_ID, MAX_NAME, NAME_PATTERN, check_agent_id, check_name};
use crate::store::Change;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeactivateRequest {
    /// Agent ID
    #[schemars(range(min = 1, max = MAX_ID))]
    pub agent_id: i64,
    /// Name of the skill
    #[schemars(length(min = 1, max = MAX_NAME), regex(pattern = NAME_PATTERN))]
    pub skill_name: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DeactivateResponse {
    pub success: bool,
    pub agent_id: i64,
    pub skill_name: String,
    pub message: String,
    #[serde(skip)]
    pub revision: Revision,
}

impl Registry {
    /// Idempotent: deactivating an inactive capability succeeds.
    pub fn deactivate(&self, request: &DeactivateRequest) -> Result<DeactivateResponse, Error> {
        self.deactivate_if(request, None)
    }

    /// Fails if the agent no longer has the expected revision.
    pub fn deactivate_if(
        &self,
        request: &DeactivateRequest,
        expected: Option<Revision>,
    ) -> Result<DeactivateResponse, Error> {
        let agent_id = check_agent_id(request.agent_id)?;
        let skill_name = check_name("skill_name", &request.skill_name)?.to_owned();
        let change = Change { deactivate: vec![skill_name.clone()], expected, ..Change::default() };
        let applied = self.store.apply(agent_id, &change, (self.clock)())?;
        Ok(DeactivateResponse {
            success: true,
            agent_id,
            message: format!("Deactivated '{skill_name}' for agent {agent_id}"),
            skill_name,
            revision: applied.revision,
        })
    }
}
