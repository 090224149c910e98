//! Recorded calls, gaps and proposals: the storage of `kenning-gaps`.

mod events;
mod extraction;
mod forget;
mod gap;
mod pages;
mod proposals;

use std::borrow::Cow;

use kenning_gaps::ports::{
    Appended, AssignGaps, EventStore, Extraction, GapPage, GapQuery, GapStore, PendingCall,
    PortError, ProposalStore, RemoveWords, Removed, StoredAsk, Window,
};
use kenning_gaps::session::Recorded;
use kenning_gaps::{Batch, Error, Gap, Proposal};

use crate::Store;

impl EventStore for Store {
    fn append(&self, batch: &Batch) -> Result<Appended, PortError> {
        self.runtime().block_on(events::append(&self.pool, batch)).map_err(PortError::new)
    }

    fn events(&self, window: &Window) -> Result<Vec<Recorded>, PortError> {
        self.runtime().block_on(events::select(&self.pool, window)).map_err(PortError::new)
    }

    fn note_tools(&self, project_id: &str, tools: &[String], at: u64) -> Result<(), PortError> {
        let noted = events::note_tools(&self.pool, project_id, tools, at);
        self.runtime().block_on(noted).map_err(PortError::new)
    }

    fn tools(&self, window: &Window) -> Result<Vec<String>, PortError> {
        self.runtime().block_on(events::tools(&self.pool, window)).map_err(PortError::new)
    }

    fn forget_user(&self, user: &str, remove_words: RemoveWords<'_>) -> Result<Removed, PortError> {
        let forgotten = forget::user(&self.pool, user, remove_words);
        self.runtime().block_on(forgotten).map_err(PortError::new)
    }

    fn forget_before(
        &self,
        timestamp: u64,
        remove_words: RemoveWords<'_>,
    ) -> Result<Removed, PortError> {
        let forgotten = forget::before(&self.pool, timestamp, remove_words);
        self.runtime().block_on(forgotten).map_err(PortError::new)
    }
}

impl GapStore for Store {
    fn gaps(&self, project_id: Option<&str>) -> Result<Vec<Gap>, PortError> {
        self.runtime().block_on(gap::all(&self.pool, project_id)).map_err(PortError::new)
    }

    fn gap_page(&self, query: &GapQuery<'_>) -> Result<GapPage, PortError> {
        self.runtime().block_on(pages::page(&self.pool, query)).map_err(PortError::new)
    }

    fn projects(&self) -> Result<Vec<String>, PortError> {
        self.runtime().block_on(pages::projects(&self.pool)).map_err(PortError::new)
    }

    fn merged_into(&self, id: &str) -> Result<Vec<Gap>, PortError> {
        self.runtime().block_on(pages::merged_into(&self.pool, id)).map_err(PortError::new)
    }

    fn gap(&self, id: &str) -> Result<Option<Gap>, PortError> {
        self.runtime().block_on(gap::one(&self.pool, id)).map_err(PortError::new)
    }

    fn asks(&self, gap_ids: &[String], limit: usize) -> Result<Vec<StoredAsk>, PortError> {
        self.runtime().block_on(gap::asks(&self.pool, gap_ids, limit)).map_err(PortError::new)
    }

    fn change_gaps(
        &self,
        project_id: &str,
        change: &mut dyn FnMut(&mut Vec<Gap>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        Ok(self.runtime().block_on(gap::change(&self.pool, project_id, change))?)
    }

    fn pending_calls(&self, now: u64, limit: usize) -> Result<Vec<PendingCall>, PortError> {
        self.runtime().block_on(extraction::pending(&self.pool, now, limit)).map_err(PortError::new)
    }

    fn commit_extraction(
        &self,
        project_id: &str,
        extraction: &Extraction,
        assign: AssignGaps<'_>,
    ) -> Result<usize, PortError> {
        let committed = extraction::commit(&self.pool, project_id, extraction, assign);
        self.runtime().block_on(committed).map_err(PortError::new)
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

/// `PostgreSQL` refuses NUL characters in texts.
fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

/// Database integers are signed; none of our numbers comes near the limit.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// For JSON that another version wrote and this one cannot read.
fn unreadable(error: serde_json::Error) -> sqlx::Error {
    sqlx::Error::Decode(Box::new(error))
}
