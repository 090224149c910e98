//! The port that a database implements.

use crate::error::Error;
use crate::model::{Agent, Capability, Metadata, Revision, Timestamp};

/// Stores agents and their capabilities.
///
/// The trait is synchronous, like every port of the domain crates, so that they need no async
/// runtime: the adapters already call them on blocking threads. That costs one thread per call in
/// progress, which the adapters limit; a database's connections limit the same calls long before
/// threads run out.
///
/// All arguments have been checked against the rules. Each call is atomic: other callers see all of
/// its effects or none.
pub trait RegistryStore: Send + Sync {
    /// Adds an agent. Fails if another agent has the name or the id; `None` assigns the next free id.
    fn add_agent(&self, name: &str, id: Option<i64>, at: Timestamp) -> Result<Agent, Error>;

    /// Up to `limit` agents with ids greater than `after`, by id, and the number of all agents.
    fn agents(&self, after: i64, limit: usize) -> Result<(Vec<AgentCounts>, usize), Error>;

    fn agent_named(&self, name: &str) -> Result<Option<Agent>, Error>;

    fn agent(&self, id: i64) -> Result<Agent, Error>;

    /// Renames an agent. Fails if another agent has the name.
    fn rename_agent(&self, id: i64, name: &str, expected: Option<Revision>)
    -> Result<Agent, Error>;

    /// Removes an agent with all of its capabilities and returns how many it had.
    fn remove_agent(&self, id: i64, expected: Option<Revision>) -> Result<usize, Error>;

    /// All capabilities of an agent, read in one transaction.
    fn held(&self, agent_id: i64) -> Result<Held, Error>;

    /// Applies a change to one agent's capabilities.
    fn apply(&self, agent_id: i64, change: &Change, at: Timestamp) -> Result<Applied, Error>;

    /// The holdings of one page, by skill and agent, and how many skills match the filter on all
    /// pages.
    fn holdings(&self, filter: &Filter, page: &Page) -> Result<(Vec<Holding>, usize), Error>;

    /// Every distinct combination of name, version and metadata that matches the filter.
    fn skills(&self, filter: &Filter) -> Result<Vec<Skill>, Error>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCounts {
    pub agent: Agent,
    pub capabilities: usize,
    pub active: usize,
}

/// An agent's capabilities, by name.
#[derive(Debug, Clone, PartialEq)]
pub struct Held {
    pub capabilities: Vec<Capability>,
    pub revision: Revision,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NewCapability {
    pub skill_name: String,
    pub version: String,
    pub active: bool,
    /// `None` keeps the stored metadata.
    pub metadata: Option<Metadata>,
}

/// A change to one agent's capabilities.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// To be added or updated; each name at most once.
    pub put: Vec<NewCapability>,
    /// What to do with those of `put` that exist.
    pub existing: Existing,
    /// To be made inactive; each must exist.
    pub deactivate: Vec<String>,
    /// If set, the change fails unless the agent still has this revision.
    pub expected: Option<Revision>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    #[default]
    Update,
    Refuse,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The stored capabilities, in the order of the change.
    pub put: Vec<Capability>,
    /// How many of those existed before.
    pub updated: usize,
    pub revision: Revision,
}

/// Selects capabilities of all agents.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub skill_name: Option<String>,
    pub version: Option<String>,
    pub activity: Activity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Activity {
    #[default]
    Active,
    Any,
}

/// A part of what matches the filter.
#[derive(Debug, Clone)]
pub enum Page {
    /// The first `limit` skills after this one.
    Skills { after: Option<String>, limit: usize },
    /// All skills of the first `limit` agents after this one.
    Agents { after: i64, limit: usize },
    /// These skills.
    Named(Vec<String>),
}

/// An agent has a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    pub skill_name: String,
    pub version: String,
    pub active: bool,
    pub agent_id: i64,
    pub agent_name: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    pub skill_name: String,
    pub version: String,
    pub metadata: Option<Metadata>,
}
