//! `compare_capability`: one capability across agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::data::{Agent, ImplementationNotes, Maturity, Tier};
use crate::error::Error;
use crate::lookup::{Available, PossibleMatch, alternatives, by_other_name, possible};
use crate::meaning::Embed;
use crate::resolve::{MAX_CHARS, Resolved};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompareRequest {
    /// Capability name (fuzzy-matched)
    #[schemars(length(min = 1, max = MAX_CHARS), regex(pattern = r"\S"))]
    pub capability: String,
    /// Filter to specific agents (default: all)
    #[serde(default)]
    #[schemars(inner(length(min = 1, max = MAX_CHARS), regex(pattern = r"\S")))]
    pub agents: Vec<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompareResponse {
    /// The capability that was meant, if that is clear
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_confidence: Option<f64>,
    pub comparison: Vec<Compared>,
    /// What may be meant otherwise, best first
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<PossibleMatch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether nothing like it is known: a gap.
    #[serde(skip)]
    pub missed: bool,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compared {
    pub agent: String,
    pub available: Available,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maturity_level: Option<Maturity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implementation_notes: Option<ImplementationNotes>,
}

impl Catalog {
    pub fn compare(
        &self,
        request: &CompareRequest,
        embed: Embed<'_>,
    ) -> Result<CompareResponse, Error> {
        let mut agents: Vec<&Agent> = Vec::new();
        for name in &request.agents {
            let agent = self.resolve_agent(name)?;
            if agents.iter().all(|known| known.agent != agent.agent) {
                agents.push(agent);
            }
        }
        if agents.is_empty() {
            agents.extend(&self.agents);
        }
        Ok(match self.resolve(&request.capability, embed)? {
            Resolved::One(found, others) => CompareResponse {
                comparison: agents.iter().map(|agent| compared(agent, &found.name)).collect(),
                match_confidence: by_other_name(&found),
                capability: Some(found.name),
                matches: possible(others),
                message: None,
                missed: false,
            },
            other => {
                let missed = matches!(other, Resolved::Nothing(_));
                let (matches, message) = alternatives(other, &request.capability);
                CompareResponse {
                    capability: None,
                    match_confidence: None,
                    comparison: Vec::new(),
                    matches,
                    message,
                    missed,
                }
            }
        })
    }
}

/// Agents without the capability, or for which nothing is known, carry only `available`.
fn compared(agent: &Agent, capability: &str) -> Compared {
    let claim = agent.claim(capability);
    let has = claim.filter(|claim| claim.available);
    // A comparison is an overview; `lookup_capability` has the gotchas.
    let notes = has.and_then(|claim| claim.implementation_notes.clone());
    Compared {
        agent: agent.agent.clone(),
        available: Available(claim.map(|claim| claim.available)),
        tier: has.and_then(|claim| claim.tier),
        maturity_level: has.and_then(|claim| claim.maturity_level),
        implementation_notes: notes
            .map(|notes| ImplementationNotes { gotchas: Vec::new(), ..notes }),
    }
}
