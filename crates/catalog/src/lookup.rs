//! `lookup_capability`: one capability of one agent.

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::data::{ImplementationNotes, Maturity, Source, Tier};
use crate::error::Error;
use crate::meaning::Embed;
use crate::resolve::{MAX_CHARS, Match, Resolved};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LookupRequest {
    /// Agent ID: `claude-code`, `copilot-cli`, `gemini-cli`, `vscode-copilot`, `codex-cli`,
    /// `cursor`, `opencode`, `windsurf`, `zed`, `aider`, or what people call it
    #[schemars(length(min = 1, max = MAX_CHARS), regex(pattern = r"\S"))]
    pub agent: String,
    /// Capability name (fuzzy-matched)
    #[schemars(length(min = 1, max = MAX_CHARS), regex(pattern = r"\S"))]
    pub capability: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LookupResponse {
    pub agent: String,
    /// What is known, if it is clear what was asked for
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<KnownCapability>,
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
pub struct KnownCapability {
    pub name: String,
    pub category: String,
    pub available: Available,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maturity_level: Option<Maturity>,
    pub description: String,
    /// The agent's own word for it
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminology: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limitations: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub implementation_notes: Option<ImplementationNotes>,
    pub sources: Vec<Cited>,
    /// How sure it is that this was meant, if it was asked for by another name
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_confidence: Option<f64>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cited {
    pub url: String,
    pub verified_date: NaiveDate,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PossibleMatch {
    pub name: String,
    pub match_confidence: f64,
}

/// Yes, no, or `null`: not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Available(pub Option<bool>);

impl JsonSchema for Available {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Available".into()
    }

    fn inline_schema() -> bool {
        true
    }

    /// No `type`: strict clients take no union of types, and `null` must be allowed.
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "description": "true, false, or null when it is not known" })
    }
}

impl Catalog {
    pub fn lookup(
        &self,
        request: &LookupRequest,
        embed: Embed<'_>,
    ) -> Result<LookupResponse, Error> {
        let agent = self.resolve_agent(&request.agent)?;
        let id = agent.agent.clone();
        let (found, others) = match self.resolve(&request.capability, embed)? {
            Resolved::One(found, others) => (found, others),
            other => {
                let missed = matches!(other, Resolved::Nothing(_));
                let (matches, message) = alternatives(other, &request.capability);
                return Ok(LookupResponse {
                    agent: id,
                    capability: None,
                    matches,
                    message,
                    missed,
                });
            }
        };
        let definition = self.definition(&found.name).expect("a resolved capability is defined");
        let claim = agent.claim(&found.name);
        let own = claim.and_then(|claim| claim.description.clone());
        let capability = KnownCapability {
            name: found.name.clone(),
            category: definition.category.clone(),
            available: Available(claim.map(|claim| claim.available)),
            tier: claim.and_then(|claim| claim.tier),
            maturity_level: claim.and_then(|claim| claim.maturity_level),
            description: own.unwrap_or_else(|| definition.description.clone()),
            terminology: claim.and_then(|claim| claim.terminology.clone()),
            limitations: claim.map(|claim| claim.limitations.clone()).unwrap_or_default(),
            requirements: claim.map(|claim| claim.requirements.clone()).unwrap_or_default(),
            implementation_notes: claim.and_then(|claim| claim.implementation_notes.clone()),
            sources: claim.map(|claim| cited(&claim.sources)).unwrap_or_default(),
            match_confidence: by_other_name(&found),
        };
        let message = claim.is_none().then(|| {
            let name = &agent.name;
            format!("It is not known whether {name} has this: no source was found for or against.")
        });
        Ok(LookupResponse {
            agent: id,
            capability: Some(capability),
            matches: possible(others),
            message,
            missed: false,
        })
    }
}

fn cited(sources: &[Source]) -> Vec<Cited> {
    let cite =
        |source: &Source| Cited { url: source.url.clone(), verified_date: source.verified_date };
    sources.iter().map(cite).collect()
}

/// The confidence, unless the query was a name or an alias.
pub(crate) fn by_other_name(found: &Match) -> Option<f64> {
    (found.confidence < 1.0).then_some(found.confidence)
}

/// The candidates and a message, for a query without a clear answer.
pub(crate) fn alternatives(
    resolved: Resolved,
    asked: &str,
) -> (Vec<PossibleMatch>, Option<String>) {
    let (matches, message) = match resolved {
        Resolved::One(_, others) => (others, None),
        Resolved::Ambiguous(matches) => (
            matches,
            Some(format!("\"{asked}\" may mean several capabilities; ask for one by name.")),
        ),
        Resolved::Nothing(matches) => (
            matches,
            Some(format!(
                "No capability like \"{asked}\" is known. list_capabilities shows what there is."
            )),
        ),
    };
    (possible(matches), message)
}

pub(crate) fn possible(matches: Vec<Match>) -> Vec<PossibleMatch> {
    let possible =
        |found: Match| PossibleMatch { name: found.name, match_confidence: found.confidence };
    matches.into_iter().map(possible).collect()
}
