//! The storage that this crate needs, as traits that a store implements.
//!
//! Recording and ask extraction are separate steps, because extraction needs a model and time.
//! [`EventStore::append`] marks each call that may hold an ask as pending, in the transaction that
//! adds it. [`GapStore::commit_extraction`] removes the mark and changes the gaps in one
//! transaction, so that of several processes that extract at once exactly one counts each ask.

use crate::ask::AskKind;
use crate::error::Error;
use crate::event::Batch;
use crate::gap::Gap;
use crate::list::Standing;
use crate::proposal::Proposal;
use crate::session::Recorded;

/// The store failed.
#[derive(Debug, thiserror::Error)]
#[error("the gap store failed: {0}")]
pub struct PortError(Box<dyn std::error::Error + Send + Sync>);

impl PortError {
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

/// Everything that [`crate::Gaps`] needs of a store.
pub trait Storage: EventStore + GapStore + ProposalStore {}

impl<S: EventStore + GapStore + ProposalStore> Storage for S {}

/// Selects recorded calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    /// All projects if none.
    pub project_id: Option<String>,
    /// Milliseconds since 1970, inclusive.
    pub from: Option<u64>,
    /// Exclusive.
    pub until: Option<u64>,
    pub user: UserFilter,
    pub detail: Detail,
    /// Only the last so many calls.
    pub last: Option<usize>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum UserFilter {
    #[default]
    Any,
    /// One user, by [`Recorded::user`]; `None` selects calls without a user.
    Is(Option<String>),
}

/// How much of a call is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detail {
    #[default]
    Full,
    /// Without arguments, except those of the reserved tool, and without results: a result becomes
    /// `null`. Sessions and asks come out the same, and a million calls fit in memory.
    Outline,
}

/// What [`EventStore::append`] did with a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Appended {
    pub new: usize,
    /// Events whose `callId` was already stored for the project.
    pub known: usize,
}

/// How many rows were removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    pub events: u64,
    /// Asks that were extracted from those events.
    pub asks: u64,
    /// Gaps that had no other ask.
    pub gaps: u64,
}

/// Removes words from a project's gaps. Arguments: the gaps, the asks that are removed, and the
/// wordings of the asks that stay.
pub type RemoveWords<'a> = &'a mut dyn FnMut(&mut Vec<Gap>, &[StoredAsk], &[Wording]);

/// One way in which a gap was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wording {
    pub gap_id: String,
    pub text: String,
}

/// Recorded calls of all tools. Project and `callId` identify a call.
pub trait EventStore: Send + Sync {
    /// When this returns, all of the batch is on disk, or none of it. Events that may hold an ask
    /// ([`crate::ask::due`]) are pending from then on.
    fn append(&self, batch: &Batch) -> Result<Appended, PortError>;

    /// In order of time.
    fn events(&self, window: &Window) -> Result<Vec<Recorded>, PortError>;

    /// Records which tools a server offered.
    fn note_tools(&self, project_id: &str, tools: &[String], at: u64) -> Result<(), PortError>;

    /// Tools that were offered within the window.
    fn tools(&self, window: &Window) -> Result<Vec<String>, PortError>;

    /// Removes a user's events by user id or e-mail address (in any letter case), the asks
    /// extracted from them, and the user's name from batches that carried events of others. Gaps
    /// that `remove_words` drops are deleted. Each project is one transaction.
    fn forget_user(&self, user: &str, remove_words: RemoveWords<'_>) -> Result<Removed, PortError>;

    /// Removes older events, the asks extracted from them, and tools not offered since.
    /// `remove_words` drops the wordings that no stored ask uses any more. It works in small
    /// steps, so that writers wait only briefly.
    fn forget_before(
        &self,
        timestamp: u64,
        remove_words: RemoveWords<'_>,
    ) -> Result<Removed, PortError>;
}

/// A recorded call that may hold an ask which was not extracted yet.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingCall {
    pub id: PendingId,
    pub call: Recorded,
}

/// Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PendingId(pub i64);

/// The result of extracting asks from pending calls of one project.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extraction {
    pub asks: Vec<NewAsk>,
    /// Calls that turned out to hold no ask.
    pub without_ask: Vec<PendingId>,
    /// Calls whose session still goes on, with the time to try again.
    pub postponed: Vec<(PendingId, u64)>,
}

/// An ask that is not stored yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAsk {
    pub pending: PendingId,
    pub kind: AskKind,
    pub tool: String,
    pub text: String,
    pub at: u64,
}

/// An ask, stored as long as the call that it was extracted from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAsk {
    /// The gap that it was assigned to, which may have been merged since.
    pub gap_id: String,
    pub kind: AskKind,
    pub tool: String,
    pub text: String,
    pub at: u64,
    pub call: Call,
}

/// Identifies a recorded call and its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub project_id: String,
    pub call_id: String,
    pub user: Option<String>,
}

/// Assigns asks to gaps: changes the gaps, and returns the gap id of each ask.
pub type AssignGaps<'a> = &'a mut dyn FnMut(&mut Vec<Gap>, &[&NewAsk]) -> Vec<String>;

/// Selects a page of gaps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GapQuery<'a> {
    /// All projects if none.
    pub project_id: Option<&'a str>,
    pub standing: Standing,
    pub kind: Option<AskKind>,
    pub order: Order,
    pub offset: usize,
    pub limit: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// Explicitly requested gaps first; then by number of asks, number of requests and time of
    /// the last ask, all descending; then by id.
    #[default]
    Rank,
    /// By time of the last ask, descending.
    Newest,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct GapPage {
    /// Without their centroids.
    pub gaps: Vec<Gap>,
    /// Matches on all pages.
    pub total: usize,
}

/// Gaps and their asks. Changes are serialized per project and see the current state, so that no
/// update is lost.
pub trait GapStore: Send + Sync {
    /// Of one project, or all.
    fn gaps(&self, project_id: Option<&str>) -> Result<Vec<Gap>, PortError>;

    /// Must not cost what reading all gaps would.
    fn gap_page(&self, query: &GapQuery<'_>) -> Result<GapPage, PortError>;

    /// The projects that have gaps, sorted.
    fn projects(&self) -> Result<Vec<String>, PortError>;

    fn gap(&self, id: &str) -> Result<Option<Gap>, PortError>;

    /// Gaps that were merged directly into this one; by id, without their centroids.
    fn merged_into(&self, id: &str) -> Result<Vec<Gap>, PortError>;

    /// Asks that were assigned to these gaps, the newest first.
    fn asks(&self, gap_ids: &[String], limit: usize) -> Result<Vec<StoredAsk>, PortError>;

    /// Runs `change` on a project's gaps and stores the result; stores nothing if it fails. It may
    /// add and remove gaps. It must not call the store.
    fn change_gaps(
        &self,
        project_id: &str,
        change: &mut dyn FnMut(&mut Vec<Gap>) -> Result<(), Error>,
    ) -> Result<(), Error>;

    /// Up to `limit` calls that are due, the oldest first, all of one project. They stay pending.
    fn pending_calls(&self, now: u64, limit: usize) -> Result<Vec<PendingCall>, PortError>;

    /// Removes the calls from the pending ones, runs `assign` on the asks, and stores gaps and
    /// asks, all or nothing. Calls that another process committed in the meantime are left out.
    /// Returns how many asks were stored.
    fn commit_extraction(
        &self,
        project_id: &str,
        extraction: &Extraction,
        assign: AssignGaps<'_>,
    ) -> Result<usize, PortError>;
}

/// Knowledge proposals that wait for a person's decision.
pub trait ProposalStore: Send + Sync {
    /// The newest first.
    fn proposals(&self) -> Result<Vec<Proposal>, PortError>;

    fn proposal(&self, id: &str) -> Result<Option<Proposal>, PortError>;

    /// Adds a proposal unless its id is taken; returns the stored one.
    fn add_proposal(&self, proposal: &Proposal) -> Result<Proposal, PortError>;

    /// Runs `change` on the current proposal; stores nothing if it fails.
    fn change_proposal(
        &self,
        id: &str,
        change: &mut dyn FnMut(&mut Proposal) -> Result<(), Error>,
    ) -> Result<(), Error>;
}
