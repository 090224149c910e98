//! Extracts asks from recorded calls. Runs in the background, so that recording a call stays fast.

use std::collections::BTreeMap;

use crate::ask::{asks, clipped, core, stated};
use crate::error::Error;
use crate::gap::{Gap, IncomingAsk, assign};
use crate::ports::{Detail, Extraction, NewAsk, PendingCall, PendingId, UserFilter, Window};
use crate::session::{PAUSE_MS, Session, sessions};
use crate::{Gaps, Vectors};

/// Calls per transaction. Other writers may have to wait while one is committed.
const BATCH: usize = 100;
/// How far around a call its session is read, in milliseconds.
pub(crate) const REACH: u64 = 6 * 60 * 60 * 1_000;

/// What one run of [`Gaps::extract_asks`] did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Pending calls that were examined.
    pub calls: usize,
    /// Asks that were assigned to gaps.
    pub asks: usize,
}

/// A failed call; a later success of the same tool may have resolved it.
struct Failure {
    pending: PendingId,
    call_id: String,
    at: u64,
}

impl Gaps {
    /// Examines all pending calls that are due. Call it repeatedly from a background thread. Any
    /// number of processes may do so at once, and each ask is counted once. Calls that an
    /// interrupted run did not reach stay pending.
    pub fn extract_asks(&self, now: u64) -> Result<Extracted, Error> {
        let mut extracted = Extracted::default();
        loop {
            let pending = self.storage.pending_calls(now, BATCH)?;
            let Some(project_id) = pending.first().map(|first| first.call.project_id.clone())
            else {
                return Ok(extracted);
            };
            extracted.calls += pending.len();
            let extraction = self.extract(&project_id, pending, now)?;
            extracted.asks += self.commit(&project_id, &extraction)?;
        }
    }

    fn extract(
        &self,
        project_id: &str,
        pending: Vec<PendingCall>,
        now: u64,
    ) -> Result<Extraction, Error> {
        let mut extraction = Extraction::default();
        let mut failures: BTreeMap<Option<String>, Vec<Failure>> = BTreeMap::new();
        for PendingCall { id, call } in pending {
            let user = call.user().map(str::to_owned);
            let event = call.event;
            let at = event.timestamp;
            if let Some((kind, text)) = stated(&event) {
                let (tool, text) = (event.tool_name, clipped(&text));
                extraction.asks.push(NewAsk { pending: id, kind, tool, text, at });
            } else {
                let failure = Failure { pending: id, call_id: event.call_id, at };
                failures.entry(user).or_default().push(failure);
            }
        }
        for (user, failures) in failures {
            self.settle(project_id, user, &failures, now, &mut extraction)?;
        }
        Ok(extraction)
    }

    /// Decides which failures of one user are asks, from the sessions that they are part of.
    fn settle(
        &self,
        project_id: &str,
        user: Option<String>,
        failures: &[Failure],
        now: u64,
        extraction: &mut Extraction,
    ) -> Result<(), Error> {
        let times = || failures.iter().map(|failure| failure.at);
        let window = Window {
            project_id: Some(project_id.to_owned()),
            from: times().min(),
            until: times().max().map(|last| last.saturating_add(REACH)),
            user: UserFilter::Is(user),
            detail: Detail::Outline,
            last: None,
        };
        let sessions = sessions(&self.storage.events(&window)?);
        for failure in failures {
            failure.settle(session_of(&sessions, &failure.call_id), now, extraction);
        }
        Ok(())
    }

    fn commit(&self, project_id: &str, extraction: &Extraction) -> Result<usize, Error> {
        let vectors = self.vectors(usize::MAX);
        // Computed before the transaction, which must not hold up other writers for that long.
        for ask in &extraction.asks {
            vectors.of(core(&ask.text));
        }
        let mut assign =
            |gaps: &mut Vec<Gap>, asks: &[&NewAsk]| assign_new(gaps, project_id, asks, &vectors);
        Ok(self.storage.commit_extraction(project_id, extraction, &mut assign)?)
    }
}

fn assign_new(
    gaps: &mut Vec<Gap>,
    project_id: &str,
    asks: &[&NewAsk],
    vectors: &Vectors<'_>,
) -> Vec<String> {
    let asks = asks.iter();
    let asks =
        asks.map(|ask| IncomingAsk { project_id, kind: ask.kind, text: &ask.text, at: ask.at });
    assign(gaps, &asks.collect::<Vec<_>>(), &|text| vectors.of(text))
}

pub(crate) fn session_of<'a>(sessions: &'a [Session], call_id: &str) -> Option<&'a Session> {
    sessions.iter().find(|session| session.events.iter().any(|event| event.call_id == call_id))
}

impl Failure {
    /// Postponed while the session goes on: the tool may still succeed.
    fn settle(&self, session: Option<&Session>, now: u64, extraction: &mut Extraction) {
        let Some(session) = session else {
            extraction.without_ask.push(self.pending);
            return;
        };
        let over = session.ended_at.saturating_add(PAUSE_MS);
        if over > now {
            extraction.postponed.push((self.pending, over));
            return;
        }
        match asks(session).into_iter().find(|ask| ask.call_id == self.call_id) {
            Some(ask) => extraction.asks.push(NewAsk {
                pending: self.pending,
                kind: ask.kind,
                tool: ask.tool,
                text: ask.text,
                at: ask.at,
            }),
            None => extraction.without_ask.push(self.pending),
        }
    }
}
