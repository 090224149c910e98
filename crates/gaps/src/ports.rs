//! What has to be remembered between runs, as those who remember must offer it.

use crate::event::Batch;
use crate::gap::Gap;
use crate::proposal::Proposal;
use crate::session::Recorded;

/// Something could not be remembered or recalled.
#[derive(Debug, thiserror::Error)]
#[error("gaps cannot be remembered: {0}")]
pub struct PortError(Box<dyn std::error::Error + Send + Sync>);

impl PortError {
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

/// Which events are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    /// All projects if none.
    pub project_id: Option<String>,
    /// Milliseconds since 1970, inclusive.
    pub from: Option<u64>,
    /// Exclusive.
    pub until: Option<u64>,
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Appended {
    /// Events that were not there before.
    pub new: usize,
    /// Events whose `callId` was known in the project.
    pub known: usize,
}

/// Every call of every tool. An event is told from others by project and `callId`.
pub trait EventLog: Send + Sync {
    /// All of the batch is on disk when this returns, or none of it.
    fn append(&self, batch: &Batch) -> Result<Appended, PortError>;

    /// In order of time.
    fn events(&self, window: &Window) -> Result<Vec<Recorded>, PortError>;

    /// Remembers which tools a server offered.
    fn note_tools(&self, project_id: &str, tools: &[String], at: u64) -> Result<(), PortError>;

    /// Tools that were offered within the window.
    fn tools(&self, window: &Window) -> Result<Vec<String>, PortError>;

    /// Removes what a user did, by id or e-mail; returns how many events that were.
    fn forget_user(&self, user: &str) -> Result<u64, PortError>;

    /// Removes what is older.
    fn forget_before(&self, timestamp: u64) -> Result<u64, PortError>;
}

/// Gaps and where they are in their lives.
pub trait GapBook: Send + Sync {
    /// Of one project, or all.
    fn gaps(&self, project_id: Option<&str>) -> Result<Vec<Gap>, PortError>;

    fn gap(&self, id: &str) -> Result<Option<Gap>, PortError>;

    /// Adds gaps or replaces those with the same ids, all or none.
    fn save_gaps(&self, gaps: &[Gap]) -> Result<(), PortError>;
}

/// Knowledge that waits for a person.
pub trait ProposalBox: Send + Sync {
    /// The newest first.
    fn proposals(&self) -> Result<Vec<Proposal>, PortError>;

    fn proposal(&self, id: &str) -> Result<Option<Proposal>, PortError>;

    /// Adds a proposal or replaces the one with its id.
    fn save_proposal(&self, proposal: &Proposal) -> Result<(), PortError>;
}
