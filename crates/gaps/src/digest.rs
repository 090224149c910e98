//! What was asked is heard, after the calls came in and off their way.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::ask::{AskKind, asks, clipped, core, spoken};
use crate::error::Error;
use crate::gap::{self, Heard};
use crate::ports::{Detail, Looked, NewAsk, Ticket, Unheard, Waiting, Whose, Window};
use crate::session::{PAUSE, Recorded, Session, sessions};
use crate::{Gaps, Vectors};

/// What is looked at in one go. While it is heard, others who write may have to wait.
const BATCH: usize = 100;
/// How far around a call its session is looked for, in milliseconds.
pub(crate) const REACH: u64 = 6 * 60 * 60 * 1_000;
const PAUSE_MS: u64 = PAUSE.as_secs() * 1_000;

/// What came of a digest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Digested {
    /// Calls and misses that were looked at
    pub looked_at: usize,
    /// Asks that were heard into gaps
    pub heard: usize,
}

/// A project, and one of its users or nobody in particular.
type Whom = (String, Option<String>);

/// A failed call that may have been made good.
struct Failure {
    ticket: Ticket,
    call_id: String,
    at: u64,
}

impl Gaps {
    /// Looks at all that waits and is due. To be called again and again by a thread of its own;
    /// any number of processes may do so at once, and each ask is heard once. If it is
    /// interrupted, what was not heard goes on waiting.
    pub fn digest(&self, now: u64) -> Result<Digested, Error> {
        let mut digested = Digested::default();
        loop {
            let waiting = self.memory.waiting(now, BATCH)?;
            let Some(project_id) = waiting.first().map(|first| first.project_id.clone()) else {
                return Ok(digested);
            };
            digested.looked_at += waiting.len();
            let looked = self.look(waiting, now)?;
            digested.heard += self.hear(&project_id, &looked)?;
        }
    }

    fn look(&self, waiting: Vec<Waiting>, now: u64) -> Result<Looked, Error> {
        let mut looked = Looked::default();
        let mut failures: BTreeMap<Whom, Vec<Failure>> = BTreeMap::new();
        for Waiting { ticket, project_id, what } in waiting {
            let call = match what {
                Unheard::Call(call) => call,
                Unheard::Miss { tool, text, at } => {
                    let text = clipped(&self.redactor.text(&text));
                    looked.asks.push(NewAsk { ticket, kind: AskKind::Miss, tool, text, at });
                    continue;
                }
            };
            if let Some((kind, text)) = spoken(&call.event) {
                looked.asks.push(ask(ticket, kind, &text, *call));
            } else {
                let whom = (project_id, call.user().map(str::to_owned));
                failures.entry(whom).or_default().push(Failure::of(ticket, *call));
            }
        }
        for (whom, failures) in failures {
            self.settle(whom, &failures, now, &mut looked)?;
        }
        Ok(looked)
    }

    /// Whether failures of one user were made good; those whose sessions go on have to wait.
    fn settle(
        &self,
        (project_id, user): Whom,
        failures: &[Failure],
        now: u64,
        looked: &mut Looked,
    ) -> Result<(), Error> {
        let times = || failures.iter().map(|failure| failure.at);
        let window = Window {
            project_id: Some(project_id),
            from: times().min(),
            until: times().max().map(|last| last.saturating_add(REACH)),
            whose: Whose::Of(user),
            detail: Detail::Outline,
            last: None,
        };
        let sessions = sessions(&self.memory.events(&window)?, PAUSE);
        for failure in failures {
            failure.settle(session_of(&sessions, &failure.call_id), now, looked);
        }
        Ok(())
    }

    fn hear(&self, project_id: &str, looked: &Looked) -> Result<usize, Error> {
        let vectors = self.vectors(usize::MAX);
        // Before the gaps are taken hold of: computing takes longer than others should wait.
        for ask in &looked.asks {
            vectors.of(core(&ask.text));
        }
        let mut place =
            |gaps: &mut Vec<gap::Gap>, asks: &[&NewAsk]| put(gaps, project_id, asks, &vectors);
        Ok(self.memory.hear(project_id, looked, &mut place)?)
    }
}

fn put(
    gaps: &mut Vec<gap::Gap>,
    project_id: &str,
    asks: &[&NewAsk],
    vectors: &Vectors<'_>,
) -> Vec<String> {
    let heard: Vec<Heard<'_>> = asks
        .iter()
        .map(|ask| Heard { project_id, kind: ask.kind, text: &ask.text, at: ask.at })
        .collect();
    gap::hear(gaps, &heard, &|text| vectors.of(text))
}

fn ask(ticket: Ticket, kind: AskKind, text: &str, call: Recorded) -> NewAsk {
    let at = call.event.timestamp;
    NewAsk { ticket, kind, tool: call.event.tool_name, text: clipped(text), at }
}

pub(crate) fn session_of<'a>(sessions: &'a [Session], call_id: &str) -> Option<&'a Session> {
    sessions.iter().find(|session| session.events.iter().any(|event| event.call_id == call_id))
}

impl Failure {
    fn of(ticket: Ticket, call: Recorded) -> Self {
        Self { ticket, call_id: call.event.call_id, at: call.event.timestamp }
    }

    fn settle(&self, session: Option<&Session>, now: u64, looked: &mut Looked) {
        let Some(session) = session else {
            looked.nothing.push(self.ticket);
            return;
        };
        let over = session.ended_at.saturating_add(PAUSE_MS);
        if over > now {
            looked.later.push((self.ticket, over));
            return;
        }
        let found = asks(session).into_iter().find(|ask| ask.call_id == self.call_id);
        match found {
            Some(ask) => looked.asks.push(NewAsk {
                ticket: self.ticket,
                kind: ask.kind,
                tool: ask.tool,
                text: ask.text,
                at: ask.at,
            }),
            None => looked.nothing.push(self.ticket),
        }
    }
}
