//! Where agents and their capabilities are kept.

use crate::error::Error;
use crate::model::{Agent, Capability, Metadata, Revision, Timestamp};

/// What the registry needs of a store.
///
/// It is synchronous like every port of the rooms: whoever serves many callers already runs the
/// rooms off its async threads, and the rooms stay free of a runtime. What it costs is one thread
/// per call under way, which the adapters bound; a database bounds the same calls by its
/// connections long before threads run out.
///
/// Everything handed in has been checked against the rules. Each call is atomic: it is seen whole
/// by others, or not at all.
pub trait RegistryStore: Send + Sync {
    /// Adds an agent under a name, and if need be an id, that no other has.
    fn add_agent(&self, name: &str, id: Option<i64>, at: Timestamp) -> Result<Agent, Error>;

    /// Up to `limit` agents with larger ids than `after`, by id, and how many agents there are.
    fn agents(&self, after: i64, limit: usize) -> Result<(Vec<AgentCounts>, usize), Error>;

    fn agent_named(&self, name: &str) -> Result<Option<Agent>, Error>;

    fn agent(&self, id: i64) -> Result<Agent, Error>;

    /// Gives an agent a name that no other has.
    fn rename_agent(&self, id: i64, name: &str, expected: Seen) -> Result<Agent, Error>;

    /// Removes an agent with all of its capabilities, and says how many those were.
    fn remove_agent(&self, id: i64, expected: Seen) -> Result<usize, Error>;

    /// All that an agent has, as of one moment.
    fn held(&self, agent_id: i64) -> Result<Held, Error>;

    /// Makes a change to one agent's capabilities: all of it, or none.
    fn apply(&self, agent_id: i64, change: &Change, at: Timestamp) -> Result<Applied, Error>;

    /// The holdings of one page, by skill and agent, and how many skills the filter lets through
    /// on all pages.
    fn holdings(&self, filter: &Filter, page: &Page) -> Result<(Vec<Holding>, usize), Error>;

    /// What is known of each skill: every distinct name, version and metadata once.
    fn skills(&self, filter: &Filter) -> Result<Vec<Skill>, Error>;
}

/// The revision that a change was decided on, if that matters.
pub type Seen = Option<Revision>;

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
    /// `None` keeps what there is.
    pub metadata: Option<Metadata>,
}

/// A change to one agent's capabilities.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// To be added or updated; no name twice.
    pub put: Vec<NewCapability>,
    /// What to do with those that are there.
    pub existing: Existing,
    /// To be made inactive; each must be there.
    pub deactivate: Vec<String>,
    pub expected: Seen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Existing {
    #[default]
    Update,
    Refuse,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// What was put, as it is now, in the order of the change.
    pub put: Vec<Capability>,
    /// How many of those were there before.
    pub updated: usize,
    pub revision: Revision,
}

/// Which capabilities of all agents.
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

/// Which part of what the filter lets through.
#[derive(Debug, Clone)]
pub enum Page {
    /// The first so many skills after this one.
    Skills { after: Option<String>, limit: usize },
    /// All skills of the first so many agents after this one.
    Agents { after: i64, limit: usize },
    /// These skills.
    Named(Vec<String>),
}

/// That an agent has a skill.
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
