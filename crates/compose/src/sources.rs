//! Data that generations read: from the other domain crates, through a trait, and from files.
//!
//! An implementation of [`Sources`] returns, for each name, the JSON of the digest type below.
//! Templates and the built-in configs rely on these fields. A digest must depend on its data alone,
//! not on the time: otherwise every generation looks changed, and none is skipped.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Compose;
use crate::error::{Error, Result};

/// The sources that a config may name.
pub const NAMES: [&str; 6] = ["knowledge", "catalog", "clients", "gaps", "registry", "file"];

/// Reads data from the other domain crates.
pub trait Sources: Send + Sync {
    /// `params` is the JSON of [`KnowledgeParams`], [`CatalogParams`], [`ClientsParams`],
    /// [`GapsParams`] or [`RegistryParams`]; the result is the JSON of the digest of that name.
    fn read(&self, name: &str, params: &Value) -> Result<Value, SourceError>;
}

#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

/// No source is available.
#[derive(Debug, Clone, Copy)]
pub struct NoSources;

impl Sources for NoSources {
    fn read(&self, name: &str, _: &Value) -> Result<Value, SourceError> {
        Err(SourceError(format!("there is no source `{name}` here")))
    }
}

/// Parameters of `knowledge`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KnowledgeParams {
    /// Only this base; all if absent.
    pub base: Option<String>,
    /// The nodes that help with this task, best first; all in file order if absent.
    pub task: Option<String>,
    /// Only nodes of these types, such as `guideline`; all if empty.
    pub types: Vec<String>,
    /// Token budget for nodes with their titles, and for the names of omitted nodes.
    pub max_tokens: usize,
}

impl Default for KnowledgeParams {
    fn default() -> Self {
        Self { base: None, task: None, types: Vec::new(), max_tokens: 8_000 }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KnowledgeDigest {
    pub bases: Vec<KnowledgeBase>,
    /// As many as fit in the budget.
    pub nodes: Vec<KnowledgeNode>,
    pub total_tokens: usize,
    /// Omitted nodes that are not below another omitted one; as many as fit in the budget.
    pub omitted: Vec<OmittedNode>,
    /// How many nodes were omitted, named or not.
    pub omitted_count: usize,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KnowledgeBase {
    pub name: String,
    pub files: usize,
    pub nodes: usize,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KnowledgeNode {
    pub id: String,
    pub base: String,
    /// Such as `guides/SETUP.md#linux`.
    pub path: String,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    /// The node's own text, without heading and metadata.
    pub text: String,
    pub tokens: usize,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OmittedNode {
    pub id: String,
    pub path: String,
    pub title: String,
    pub tokens: usize,
}

/// Parameters of `catalog`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CatalogParams {
    /// Ids of agents; all if empty.
    pub agents: Vec<String>,
    /// Only this category; all if absent.
    pub category: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CatalogDigest {
    pub agents: Vec<CatalogAgent>,
    pub categories: Vec<CatalogCategory>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CatalogAgent {
    pub id: String,
    pub name: String,
    pub vendor: String,
    pub homepage: String,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CatalogCategory {
    pub name: String,
    pub capabilities: Vec<CatalogCapability>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CatalogCapability {
    pub name: String,
    pub description: String,
    /// One for each agent of the digest, in the same order.
    pub claims: Vec<CatalogClaim>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CatalogClaim {
    /// The agent's id.
    pub agent: String,
    /// `null` if unknown, which is not the same as `false`.
    pub available: Option<bool>,
    pub tier: Option<String>,
    pub maturity: Option<String>,
    /// The agent's own term.
    pub terminology: Option<String>,
    /// The first source of the claim.
    pub source_url: Option<String>,
}

/// Parameters of `clients`: the entry of an MCP server in the configuration of clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClientsParams {
    /// The id or name of one client; all if absent.
    pub client: Option<String>,
    /// The name of the server in the configuration.
    pub name: String,
    pub command: String,
    pub args: Vec<String>,
}

impl Default for ClientsParams {
    fn default() -> Self {
        let (name, command) = ("kenning".to_owned(), "kenning".to_owned());
        Self { client: None, name, command, args: vec!["serve".to_owned()] }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClientsDigest {
    pub clients: Vec<ClientSetup>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClientSetup {
    pub id: String,
    pub name: String,
    /// Configuration files: the project's if the client has one, otherwise the user's.
    pub files: Vec<ClientFile>,
    /// `json`, `jsonc`, `toml` or `yaml`.
    pub format: String,
    /// A complete file with this server only.
    pub snippet: String,
    /// What the user does next.
    pub next: String,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClientFile {
    pub path: String,
    /// `null` if the path is the same on every system.
    pub system: Option<String>,
}

/// Parameters of `gaps`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GapsParams {
    pub project: Option<String>,
    /// Days to look back from the end of today.
    pub days: u32,
    /// Maximum number of entries of each list.
    pub top: usize,
}

impl Default for GapsParams {
    fn default() -> Self {
        Self { project: None, days: 7, top: 10 }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GapsDigest {
    /// A day, such as `2026-05-01`.
    pub from: String,
    pub until: String,
    pub sessions: usize,
    pub calls: usize,
    /// Unanswered gaps, the most requested first.
    pub open: Vec<OpenGap>,
    /// Gaps that were closed between `from` and `until`.
    pub closed: Vec<ClosedGap>,
    pub failed_asks: Vec<CountedAsk>,
    pub tools_never_called: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct OpenGap {
    pub id: String,
    /// In the users' own words.
    pub label: String,
    pub asks: u64,
    /// Explicit requests among the asks.
    pub requests: u64,
    pub last_asked: String,
    /// Other wordings of the same ask.
    pub wordings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClosedGap {
    pub id: String,
    pub label: String,
    /// The title of the answer, or the person with their note.
    pub closed_by: String,
    pub closed_at: String,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CountedAsk {
    pub ask: String,
    pub count: usize,
    pub tools: Vec<String>,
}

/// Parameters of `registry`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RegistryParams {
    /// Without it, only active skills.
    pub include_inactive: bool,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RegistryDigest {
    pub agents: Vec<RegistryAgent>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RegistryAgent {
    pub id: i64,
    pub name: String,
    pub skills: Vec<RegistrySkill>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RegistrySkill {
    pub name: String,
    pub version: String,
    pub active: bool,
}

/// Parameters of `file`: a file in the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileParams {
    pub path: String,
    /// `json` and `yaml` files are parsed.
    #[serde(default)]
    pub format: FileFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileFormat {
    #[default]
    Text,
    Json,
    Yaml,
}

impl Compose {
    /// `{path, text}`, or `{path, data}` if the file is parsed.
    pub(crate) fn read_file_source(&self, params: &Value) -> Result<Value> {
        let FileParams { path, format } = FileParams::deserialize(params)
            .map_err(|error| Error::invalid("params", error.to_string()))?;
        let text = self.required_file(&path)?;
        let data: Result<Value, String> = match format {
            FileFormat::Text => return Ok(json!({"path": path, "text": text})),
            FileFormat::Json => serde_json::from_str(&text).map_err(|error| error.to_string()),
            FileFormat::Yaml => crate::merge::yaml(&text),
        };
        let data = data.map_err(|problem| Error::invalid(path.clone(), problem))?;
        Ok(json!({"path": path, "data": data}))
    }
}
