//! What has to be remembered between runs, as those who remember must offer it.
//!
//! Calls are appended to a log, and those that may hold an ask wait to be looked at. Looking is
//! not appending: it takes time and a model. Whoever looks [takes](GapStore::hear) what waits and
//! changes the gaps in one go, so that of many who look at once each ask is heard by one.

use crate::ask::{Ask, AskKind};
use crate::error::Error;
use crate::event::Batch;
use crate::gap::Gap;
use crate::list::Standing;
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

/// Everything that the room remembers.
pub trait Memory: EventStore + GapStore + ProposalStore {}

impl<M: EventStore + GapStore + ProposalStore> Memory for M {}

/// Which events are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Window {
    /// All projects if none.
    pub project_id: Option<String>,
    /// Milliseconds since 1970, inclusive.
    pub from: Option<u64>,
    /// Exclusive.
    pub until: Option<u64>,
    pub whose: Whose,
    pub detail: Detail,
    /// Only the last so many events.
    pub last: Option<usize>,
}

/// Whose events are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Whose {
    #[default]
    Anyones,
    /// Those of one user, by [`Recorded::user`], or those of nobody in particular.
    Of(Option<String>),
}

/// How much of an event is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Detail {
    #[default]
    Full,
    /// Without what was passed to tools, except to the reserved one, and without what they
    /// returned: a result there is becomes `null`. Sessions and asks are the same, and a million
    /// calls fit in memory.
    Outline,
}

/// What became of a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Appended {
    /// Events that were not there before.
    pub new: usize,
    /// Events whose `callId` was known in the project.
    pub known: usize,
}

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    pub events: u64,
    /// Asks that were heard from those events, or from misses.
    pub asks: u64,
    /// Gaps of which nothing was left.
    pub gaps: u64,
}

/// Lets a project's gaps forget words: handed the gaps, the asks that go, and the words of those
/// that stay.
pub type Mend<'a> = &'a mut dyn FnMut(&mut Vec<Gap>, &[KeptAsk], &[Wording]);

/// How a gap was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wording {
    pub gap_id: String,
    pub text: String,
}

/// Every call of every tool. An event is told from others by project and `callId`.
pub trait EventStore: Send + Sync {
    /// All of the batch is on disk when this returns, or none of it. Events that may hold an ask
    /// ([`crate::ask::due`]) wait from then on.
    fn append(&self, batch: &Batch) -> Result<Appended, PortError>;

    /// In order of time.
    fn events(&self, window: &Window) -> Result<Vec<Recorded>, PortError>;

    /// Questions to our own tools that found nothing, in order of time; they belong to
    /// [`crate::OWN_PROJECT`]. Each is a session of its own.
    fn misses(&self, window: &Window) -> Result<Vec<Ask>, PortError>;

    /// Remembers which tools a server offered.
    fn note_tools(&self, project_id: &str, tools: &[String], at: u64) -> Result<(), PortError>;

    /// Tools that were offered within the window.
    fn tools(&self, window: &Window) -> Result<Vec<String>, PortError>;

    /// Removes what a user did, by id or by e-mail (in any case of letters): the events that are
    /// the user's own, the asks heard from them, and the user's names in batches that carried
    /// others' events. `mend` takes the user's words out of the gaps; gaps that it removes are
    /// removed. A project is done as a whole or not at all.
    fn forget_user(&self, user: &str, mend: Mend<'_>) -> Result<Removed, PortError>;

    /// Removes events, asks and misses that are older, and tools not offered since. `mend` takes
    /// the words out of the gaps that no ask stands for any longer. It goes in small steps, so
    /// that nobody who appends has to wait for long.
    fn forget_before(&self, timestamp: u64, mend: Mend<'_>) -> Result<Removed, PortError>;
}

/// Something that may hold an ask and was not looked at yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    pub ticket: Ticket,
    pub project_id: String,
    pub what: Unheard,
}

/// Tells what waits from everything else that ever waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub i64);

#[derive(Debug, Clone, PartialEq)]
pub enum Unheard {
    Call(Box<Recorded>),
    /// A question that one of our own tools found nothing for.
    Miss {
        tool: String,
        text: String,
        at: u64,
    },
}

/// What came of looking at what waited.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Looked {
    pub asks: Vec<NewAsk>,
    /// Held no ask after all.
    pub nothing: Vec<Ticket>,
    /// To be looked at again, not before this time.
    pub later: Vec<(Ticket, u64)>,
}

/// An ask that is about to be heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAsk {
    pub ticket: Ticket,
    pub kind: AskKind,
    pub tool: String,
    pub text: String,
    pub at: u64,
}

/// An ask that was heard, as long as what it was heard from is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAsk {
    /// The gap it was heard into, which may have been merged since.
    pub gap_id: String,
    pub kind: AskKind,
    pub tool: String,
    pub text: String,
    pub at: u64,
    /// `None` for a miss.
    pub call: Option<Call>,
}

/// Which call it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub project_id: String,
    pub call_id: String,
    pub user: Option<String>,
}

/// Puts asks into gaps: changes the gaps, and returns the id of each ask's gap.
pub type Place<'a> = &'a mut dyn FnMut(&mut Vec<Gap>, &[&NewAsk]) -> Vec<String>;

/// Which gaps are wanted, and how many of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// All projects if none.
    pub project_id: Option<&'a str>,
    pub standing: Standing,
    pub kind: Option<AskKind>,
    pub order: Order,
    /// Passed over.
    pub offset: usize,
    pub limit: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// Those that were requested explicitly first; then by how often they were asked for, how
    /// often explicitly, and how lately; then by id.
    #[default]
    Rank,
    /// Those that were asked for last first.
    Newest,
}

/// Some gaps of many.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GapPage {
    /// Without their centroids.
    pub gaps: Vec<Gap>,
    /// How many fit, on all pages.
    pub total: usize,
}

/// Gaps and where they are in their lives. All changes are made to what is there at that moment,
/// by one at a time in each project: nobody's change is lost.
pub trait GapStore: Send + Sync {
    /// Of one project, or all.
    fn gaps(&self, project_id: Option<&str>) -> Result<Vec<Gap>, PortError>;

    /// A page of them: reading it must not cost what reading all would.
    fn some_gaps(&self, wanted: &Wanted<'_>) -> Result<GapPage, PortError>;

    /// The projects that have gaps, sorted.
    fn projects(&self) -> Result<Vec<String>, PortError>;

    fn gap(&self, id: &str) -> Result<Option<Gap>, PortError>;

    /// Those that were merged into this one, and not into one that was; by id, without their
    /// centroids.
    fn merged_into(&self, id: &str) -> Result<Vec<Gap>, PortError>;

    /// Asks that were heard into these gaps, the newest first.
    fn asks(&self, gap_ids: &[String], limit: usize) -> Result<Vec<KeptAsk>, PortError>;

    /// Lets `change` change a project's gaps, and keeps what it did: all of it, or nothing if it
    /// fails. It can add gaps and remove some. It must not come back to the store.
    fn change_gaps(
        &self,
        project_id: &str,
        change: &mut dyn FnMut(&mut Vec<Gap>) -> Result<(), Error>,
    ) -> Result<(), Error>;

    /// Up to so many that are due, the longest waiting first, all of one project. They go on
    /// waiting.
    fn waiting(&self, now: u64, limit: usize) -> Result<Vec<Waiting>, PortError>;

    /// Takes what was looked at off what waits, lets `place` put the asks into gaps, and keeps
    /// gaps and asks, all or nothing. What somebody else took in the meantime is left out; returns
    /// how many asks were heard.
    fn hear(&self, project_id: &str, looked: &Looked, place: Place<'_>)
    -> Result<usize, PortError>;
}

/// Knowledge that waits for a person.
pub trait ProposalStore: Send + Sync {
    /// The newest first.
    fn proposals(&self) -> Result<Vec<Proposal>, PortError>;

    fn proposal(&self, id: &str) -> Result<Option<Proposal>, PortError>;

    /// Adds a proposal, unless one with its id is there; returns the one that is there then.
    fn add_proposal(&self, proposal: &Proposal) -> Result<Proposal, PortError>;

    /// Lets `change` change a proposal as it is at that moment; keeps nothing if it fails.
    fn change_proposal(
        &self,
        id: &str,
        change: &mut dyn FnMut(&mut Proposal) -> Result<(), Error>,
    ) -> Result<(), Error>;
}
