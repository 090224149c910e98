//! Data that generations read: from the other rooms, through a trait, and from files.
//!
//! Whoever implements [`Sources`] delivers, for each name, the JSON of the type below. Templates
//! and the built-in configs rely on these fields. A digest should be the same as long as what it is
//! about is the same — no clock in it — or nothing is ever skipped as unchanged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::folder::Folder;

/// The names a config may use.
pub const NAMES: [&str; 6] = ["knowledge", "catalog", "clients", "gaps", "registry", "file"];

/// What the other rooms know.
pub trait Sources: Send + Sync {
    /// `params` is the JSON of [`KnowledgeParams`], [`CatalogParams`], [`ClientsParams`],
    /// [`GapsParams`] or [`RegistryParams`]; the answer that of the digest of the same name.
    fn read(&self, name: &str, params: &Value) -> Result<Value, SourceError>;
}

#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

/// Nothing is known.
#[derive(Debug, Clone, Copy)]
pub struct NoSources;

impl Sources for NoSources {
    fn read(&self, name: &str, _: &Value) -> Result<Value, SourceError> {
        Err(SourceError(format!("there is no source `{name}` here")))
    }
}

/// What `knowledge` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct KnowledgeParams {
    /// Only this base; all if none
    pub base: Option<String>,
    /// The nodes that help with this task, best first; all in the order of the files if none
    pub task: Option<String>,
    /// Only nodes of these types, such as `guideline`; all if empty
    pub types: Vec<String>,
    /// Tokens of a text that is made of it: nodes with their titles, and names of what does not fit
    pub max_tokens: usize,
}

impl Default for KnowledgeParams {
    fn default() -> Self {
        Self { base: None, task: None, types: Vec::new(), max_tokens: 8_000 }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct KnowledgeDigest {
    pub bases: Vec<KnowledgeBase>,
    /// As many as fit
    pub nodes: Vec<KnowledgeNode>,
    pub total_tokens: usize,
    /// What did not fit, and is not below another of these; as many as fit
    pub omitted: Vec<OmittedNode>,
    /// How many did not fit, named or not
    pub omitted_count: usize,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct KnowledgeBase {
    pub name: String,
    pub files: usize,
    pub nodes: usize,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct KnowledgeNode {
    pub id: String,
    pub base: String,
    /// Such as `guides/SETUP.md#linux`
    pub path: String,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    /// Its own text, without heading and metadata
    pub text: String,
    pub tokens: usize,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct OmittedNode {
    pub id: String,
    pub path: String,
    pub title: String,
    pub tokens: usize,
}

/// What `catalog` is asked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CatalogParams {
    /// Ids of agents; all if empty
    pub agents: Vec<String>,
    /// Only this category; all if none
    pub category: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CatalogDigest {
    pub agents: Vec<CatalogAgent>,
    pub categories: Vec<CatalogCategory>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CatalogAgent {
    pub id: String,
    pub name: String,
    pub vendor: String,
    pub homepage: String,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CatalogCategory {
    pub name: String,
    pub capabilities: Vec<CatalogCapability>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CatalogCapability {
    pub name: String,
    pub description: String,
    /// One for each of the digest's agents, in their order
    pub claims: Vec<CatalogClaim>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CatalogClaim {
    /// The agent's id
    pub agent: String,
    /// `null` if it is not known
    pub available: Option<bool>,
    pub tier: Option<String>,
    pub maturity: Option<String>,
    /// The agent's own word for it
    pub terminology: Option<String>,
    /// The best page about it
    pub source_url: Option<String>,
}

/// What `clients` is asked: how a program that is an MCP server is made known to clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClientsParams {
    /// The id or name of one client; all if none
    pub client: Option<String>,
    /// What the server is called
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

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ClientsDigest {
    pub clients: Vec<ClientSetup>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ClientSetup {
    pub id: String,
    pub name: String,
    /// Where it goes: the project's file if there is such, or else the user's
    pub files: Vec<ClientFile>,
    /// `json`, `jsonc`, `toml` or `yaml`
    pub format: String,
    /// A whole file with this server and no other
    pub snippet: String,
    /// What a person does then
    pub next: String,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ClientFile {
    pub path: String,
    /// `null` if it is the same on every system
    pub system: Option<String>,
}

/// What `gaps` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GapsParams {
    pub project: Option<String>,
    /// How far to look back, from the end of today
    pub days: u32,
    /// Entries in each list
    pub top: usize,
}

impl Default for GapsParams {
    fn default() -> Self {
        Self { project: None, days: 7, top: 10 }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct GapsDigest {
    /// Days, such as `2026-05-01`
    pub from: String,
    pub until: String,
    pub sessions: usize,
    pub calls: usize,
    /// Those that wait for an answer, the most asked for first
    pub open: Vec<OpenGap>,
    /// Those that were closed in this time
    pub closed: Vec<ClosedGap>,
    pub failed_asks: Vec<CountedAsk>,
    pub tools_never_called: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct OpenGap {
    pub id: String,
    /// In the users' own words
    pub label: String,
    pub asks: u64,
    /// Explicit requests among them
    pub requests: u64,
    pub last_asked: String,
    /// Other ways in which it was asked for
    pub wordings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ClosedGap {
    pub id: String,
    pub label: String,
    /// What or who closed it
    pub closed_by: String,
    pub closed_at: String,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CountedAsk {
    pub ask: String,
    pub count: usize,
    pub tools: Vec<String>,
}

/// What `registry` is asked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RegistryParams {
    /// Only skills that are active, unless true
    pub include_inactive: bool,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RegistryDigest {
    pub agents: Vec<RegistryAgent>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RegistryAgent {
    pub id: i64,
    pub name: String,
    pub skills: Vec<RegistrySkill>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RegistrySkill {
    pub name: String,
    pub version: String,
    pub active: bool,
}

/// What `file` is asked: a file in the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileParams {
    pub path: String,
    /// `text`, or `json` or `yaml` to have it parsed
    #[serde(default)]
    pub format: FileFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileFormat {
    #[default]
    Text,
    Json,
    Yaml,
}

/// `{path, text}`, or `{path, data}` if it is parsed.
pub(crate) fn read_file(
    root: &Folder,
    params: &Map<String, Value>,
    max: usize,
) -> Result<Value, Error> {
    let params: FileParams = serde_json::from_value(Value::Object(params.clone()))
        .map_err(|error| Error::invalid("params", error.to_string()))?;
    let Some(text) = root.read(&params.path, max)? else {
        return Err(Error::not_found(crate::error::Kind::File, &params.path, []));
    };
    let data: Result<Value, String> = match params.format {
        FileFormat::Text => return Ok(json!({"path": params.path, "text": text})),
        FileFormat::Json => serde_json::from_str(&text).map_err(|error| error.to_string()),
        FileFormat::Yaml => crate::merge::yaml(&text),
    };
    let data = data.map_err(|problem| Error::invalid(params.path.clone(), problem))?;
    Ok(json!({"path": params.path, "data": data}))
}
