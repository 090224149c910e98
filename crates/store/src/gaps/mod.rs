//! Calls, what was missing in them, and what was proposed: the memory of the gaps room.

mod book;
mod forget;
mod hear;
mod log;
mod pages;
mod proposals;

use std::borrow::Cow;

use kenning_gaps::ask::Ask;
use kenning_gaps::ports::{
    Appended, EventStore, GapPage, GapStore, KeptAsk, Looked, Mend, Place, PortError,
    ProposalStore, Removed, Waiting, Wanted, Window,
};
use kenning_gaps::session::Recorded;
use kenning_gaps::{Batch, Error, Gap, Proposal};

use crate::Store;

impl EventStore for Store {
    fn append(&self, batch: &Batch) -> Result<Appended, PortError> {
        self.runtime().block_on(log::append(&self.pool, batch)).map_err(PortError::new)
    }

    fn events(&self, window: &Window) -> Result<Vec<Recorded>, PortError> {
        self.runtime().block_on(log::events(&self.pool, window)).map_err(PortError::new)
    }

    fn misses(&self, window: &Window) -> Result<Vec<Ask>, PortError> {
        self.runtime().block_on(log::misses(&self.pool, window)).map_err(PortError::new)
    }

    fn note_tools(&self, project_id: &str, tools: &[String], at: u64) -> Result<(), PortError> {
        let noted = log::note_tools(&self.pool, project_id, tools, at);
        self.runtime().block_on(noted).map_err(PortError::new)
    }

    fn tools(&self, window: &Window) -> Result<Vec<String>, PortError> {
        self.runtime().block_on(log::tools(&self.pool, window)).map_err(PortError::new)
    }

    fn forget_user(&self, user: &str, mend: Mend<'_>) -> Result<Removed, PortError> {
        self.runtime().block_on(forget::user(&self.pool, user, mend)).map_err(PortError::new)
    }

    fn forget_before(&self, timestamp: u64, mend: Mend<'_>) -> Result<Removed, PortError> {
        let forgotten = forget::before(&self.pool, timestamp, mend);
        self.runtime().block_on(forgotten).map_err(PortError::new)
    }
}

impl GapStore for Store {
    fn gaps(&self, project_id: Option<&str>) -> Result<Vec<Gap>, PortError> {
        self.runtime().block_on(book::gaps(&self.pool, project_id)).map_err(PortError::new)
    }

    fn some_gaps(&self, wanted: &Wanted<'_>) -> Result<GapPage, PortError> {
        self.runtime().block_on(pages::some(&self.pool, wanted)).map_err(PortError::new)
    }

    fn projects(&self) -> Result<Vec<String>, PortError> {
        self.runtime().block_on(pages::projects(&self.pool)).map_err(PortError::new)
    }

    fn merged_into(&self, id: &str) -> Result<Vec<Gap>, PortError> {
        self.runtime().block_on(pages::merged_into(&self.pool, id)).map_err(PortError::new)
    }

    fn gap(&self, id: &str) -> Result<Option<Gap>, PortError> {
        self.runtime().block_on(book::gap(&self.pool, id)).map_err(PortError::new)
    }

    fn asks(&self, gap_ids: &[String], limit: usize) -> Result<Vec<KeptAsk>, PortError> {
        self.runtime().block_on(book::asks(&self.pool, gap_ids, limit)).map_err(PortError::new)
    }

    fn change_gaps(
        &self,
        project_id: &str,
        change: &mut dyn FnMut(&mut Vec<Gap>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        Ok(self.runtime().block_on(book::change(&self.pool, project_id, change))?)
    }

    fn waiting(&self, now: u64, limit: usize) -> Result<Vec<Waiting>, PortError> {
        self.runtime().block_on(hear::waiting(&self.pool, now, limit)).map_err(PortError::new)
    }

    fn hear(
        &self,
        project_id: &str,
        looked: &Looked,
        place: Place<'_>,
    ) -> Result<usize, PortError> {
        let heard = hear::hear(&self.pool, project_id, looked, place);
        self.runtime().block_on(heard).map_err(PortError::new)
    }
}

impl ProposalStore for Store {
    fn proposals(&self) -> Result<Vec<Proposal>, PortError> {
        self.runtime().block_on(proposals::all(&self.pool)).map_err(PortError::new)
    }

    fn proposal(&self, id: &str) -> Result<Option<Proposal>, PortError> {
        self.runtime().block_on(proposals::one(&self.pool, id)).map_err(PortError::new)
    }

    fn add_proposal(&self, proposal: &Proposal) -> Result<Proposal, PortError> {
        self.runtime().block_on(proposals::add(&self.pool, proposal)).map_err(PortError::new)
    }

    fn change_proposal(
        &self,
        id: &str,
        change: &mut dyn FnMut(&mut Proposal) -> Result<(), Error>,
    ) -> Result<(), Error> {
        Ok(self.runtime().block_on(proposals::change(&self.pool, id, change))?)
    }
}

type Refusal = crate::Refusal<Error>;

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Rule(error)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Rule(error) => error,
            Refusal::Database(error) => PortError::new(error).into(),
        }
    }
}

/// A server refuses what no text should have.
fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

/// Numbers in databases have signs; none of ours is so large that it matters.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// What was written by another version, and cannot be read by this one.
fn unreadable(error: serde_json::Error) -> sqlx::Error {
    sqlx::Error::Decode(Box::new(error))
}
