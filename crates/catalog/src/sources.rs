//! `get_sources`: the sources of claims and how fresh they are.

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::data::{Agent, Claim, Granularity, Source, Status};
use crate::error::Error;
use crate::lookup::{PossibleMatch, alternatives};
use crate::meaning::Embed;
use crate::resolve::{MAX_CHARS, Resolved};

/// A source that is older than this should be read again.
pub const AGING_DAYS: i64 = 30;
/// A source that is older than this should not be relied on.
pub const STALE_DAYS: i64 = 90;
/// How many claims one response has at most.
pub const MAX_CLAIMS: usize = 100;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourcesRequest {
    /// Filter by agent
    #[schemars(length(min = 1, max = MAX_CHARS), regex(pattern = r"\S"))]
    pub agent: Option<String>,
    /// Filter by capability
    #[schemars(length(min = 1, max = MAX_CHARS), regex(pattern = r"\S"))]
    pub capability: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SourcesResponse {
    pub claims: Vec<Sourced>,
    /// How many claims there are in all
    pub total_available: usize,
    /// What may be meant otherwise, best first
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<PossibleMatch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Sourced {
    pub agent: String,
    pub capability: String,
    pub sources: Vec<Citation>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Citation {
    pub url: String,
    pub description: String,
    pub verified_date: NaiveDate,
    pub status: Status,
    /// Whether it is time to read it again
    pub freshness: Freshness,
    /// With a capability asked for: how closely the source is about it, and what it says
    #[serde(skip_serializing_if = "Option::is_none")]
    pub granularity: Option<Granularity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

/// How long ago a source was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Freshness {
    Fresh,
    Aging,
    Stale,
}

impl Freshness {
    pub fn of(verified: NaiveDate, today: NaiveDate) -> Self {
        match (today - verified).num_days() {
            days if days > STALE_DAYS => Self::Stale,
            days if days > AGING_DAYS => Self::Aging,
            _ => Self::Fresh,
        }
    }
}

impl Catalog {
    pub fn sources(
        &self,
        request: &SourcesRequest,
        today: NaiveDate,
        embed: Embed<'_>,
    ) -> Result<SourcesResponse, Error> {
        let agent = request.agent.as_deref().map(|name| self.resolve_agent(name)).transpose()?;
        let capability = match &request.capability {
            None => None,
            Some(asked) => match self.resolve(asked, embed)? {
                Resolved::One(found, _) => Some(found.name),
                other => {
                    let (matches, message) = alternatives(other, asked);
                    let claims = Vec::new();
                    return Ok(SourcesResponse { claims, total_available: 0, matches, message });
                }
            },
        };
        let all = self.agents.iter().flat_map(|of| of.capabilities.iter().map(move |c| (of, c)));
        let asked = all.filter(|(of, claim)| {
            agent.is_none_or(|agent| agent.agent == of.agent)
                && capability.as_ref().is_none_or(|name| claim.name == *name)
        });
        let asked: Vec<(&Agent, &Claim)> = asked.collect();
        let detailed = capability.is_some();
        let shown = asked.iter().take(MAX_CLAIMS).map(|(of, claim)| Sourced {
            agent: of.agent.clone(),
            capability: claim.name.clone(),
            sources: claim.sources.iter().map(|source| cite(source, today, detailed)).collect(),
        });
        let message = match asked.len() {
            0 => Some("nothing is known of this, so there is no source".to_owned()),
            n if n > MAX_CLAIMS => {
                Some(format!("the first {MAX_CLAIMS} of {n} claims; filter by agent or capability"))
            }
            _ => None,
        };
        let claims = shown.collect();
        Ok(SourcesResponse { claims, total_available: asked.len(), matches: Vec::new(), message })
    }
}

fn cite(source: &Source, today: NaiveDate, detailed: bool) -> Citation {
    Citation {
        url: source.url.clone(),
        description: source.description.clone(),
        verified_date: source.verified_date,
        status: source.status,
        freshness: Freshness::of(source.verified_date, today),
        granularity: detailed.then_some(source.granularity),
        evidence: source.evidence.clone().filter(|_| detailed),
    }
}
