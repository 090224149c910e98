//! The form of the catalog's files. `data/agents/capabilities.schema.json` describes the same form
//! for editors and for a team's own files.

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `capabilities.json` at the root: the names that all agents share.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definitions {
    pub capabilities: Vec<Definition>,
}

/// One capability, independent of any agent.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    pub name: String,
    pub category: String,
    pub description: String,
    /// Other names. A query that equals one resolves with certainty.
    #[serde(default)]
    pub aliases: Vec<String>,
}

/// `agents/<agent>/capabilities.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// Its id, such as `claude-code`.
    pub agent: String,
    pub name: String,
    pub vendor: String,
    pub homepage: String,
    pub aliases: Vec<String>,
    /// A capability that is not listed is unknown, not absent.
    pub capabilities: Vec<Claim>,
}

/// A sourced statement about one capability of one agent.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Claim {
    pub name: String,
    pub available: bool,
    pub tier: Option<Tier>,
    pub maturity_level: Option<Maturity>,
    pub status: Option<Status>,
    /// The agent's own word for it.
    pub terminology: Option<String>,
    pub description: Option<String>,
    pub introduced_in: Option<String>,
    pub deprecated_date: Option<NaiveDate>,
    pub superseded_by: Option<String>,
    #[serde(default)]
    pub limitations: Vec<String>,
    #[serde(default)]
    pub requirements: Vec<String>,
    pub implementation_notes: Option<ImplementationNotes>,
    pub sources: Vec<Source>,
}

/// How to get it going.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImplementationNotes {
    /// The command or step that sets it up
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_file: Option<String>,
    /// The one page to read for more
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_url: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gotchas: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Source {
    pub url: String,
    pub description: String,
    pub granularity: Granularity,
    pub verified_date: NaiveDate,
    #[serde(default)]
    pub status: Status,
    pub evidence: Option<String>,
}

/// The cheapest plan that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    Free,
    Pro,
    Business,
    Enterprise,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Maturity {
    Experimental,
    Beta,
    Stable,
    Deprecated,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Active,
    Deprecated,
    Modified,
    #[default]
    Unknown,
}

/// How closely a source is about the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Granularity {
    /// The page is about this.
    Dedicated,
    /// One section of it is; the URL names it.
    Section,
    /// It says so in passing; the evidence is the passage.
    Excerpt,
}

impl Tier {
    pub fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Pro => "pro",
            Self::Business => "business",
            Self::Enterprise => "enterprise",
        }
    }
}

impl Maturity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Experimental => "experimental",
            Self::Beta => "beta",
            Self::Stable => "stable",
            Self::Deprecated => "deprecated",
        }
    }
}
