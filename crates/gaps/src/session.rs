//! Sessions: the calls of one user without a longer pause, and how they ended.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::ask;
use crate::event::{Event, Identity};
use crate::words;

/// A longer pause, in milliseconds, ends a session.
pub const PAUSE_MS: u64 = 30 * 60 * 1_000;
const MAX_SUMMARY_CHARS: usize = 240;

/// A stored event with its project and caller.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    pub project_id: String,
    /// Of the batch it came in.
    pub identity: Identity,
    pub event: Event,
}

impl Recorded {
    /// The user: the event's own id or e-mail address, or else the batch's.
    pub fn user(&self) -> Option<&str> {
        let own = self.event.user_id.as_deref().or(self.event.user_email.as_deref());
        own.or(self.identity.user_id.as_deref()).or(self.identity.user_email.as_deref())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub id: String,
    pub project_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    pub started_at: u64,
    pub ended_at: u64,
    pub outcome: Outcome,
    /// What was wanted, in the words of those who wanted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent_summary: Option<String>,
    /// In the order they were made.
    pub events: Vec<Event>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Something was done and nothing was left wanting.
    Success,
    /// Something was done, and something was left wanting.
    Partial,
    /// Nothing was done that was wanted.
    Failed,
    /// No call says how it ended.
    Unknown,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// Project, user and client.
type Caller<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

/// Groups events into sessions by caller and by pauses, the oldest session first.
pub fn sessions(records: &[Recorded]) -> Vec<Session> {
    let mut by_caller: BTreeMap<Caller<'_>, Vec<&Recorded>> = BTreeMap::new();
    for record in records {
        let caller = (record.project_id.as_str(), record.user(), record.identity.client.as_deref());
        by_caller.entry(caller).or_default().push(record);
    }
    let mut sessions = Vec::new();
    for (caller, mut records) in by_caller {
        records.sort_by_key(|record| (record.event.timestamp, record.event.call_id.as_str()));
        // A batch that is sent twice must not count its calls twice.
        let mut seen = BTreeSet::new();
        records.retain(|record| seen.insert(record.event.call_id.as_str()));
        let continues = |a: &&Recorded, b: &&Recorded| {
            b.event.timestamp.saturating_sub(ended(&a.event)) <= PAUSE_MS
        };
        sessions.extend(records.chunk_by(continues).map(|records| session(&caller, records)));
    }
    sessions.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
    sessions
}

pub(crate) fn ended(event: &Event) -> u64 {
    event.timestamp.saturating_add(event.duration_ms)
}

fn session(caller: &Caller<'_>, records: &[&Recorded]) -> Session {
    let (project, user, client) = *caller;
    let events: Vec<Event> = records.iter().map(|record| record.event.clone()).collect();
    Session {
        id: id(project, &events[0]),
        project_id: project.to_owned(),
        user: user.map(str::to_owned),
        client: client.map(str::to_owned),
        started_at: events[0].timestamp,
        ended_at: events.iter().map(ended).max().unwrap_or_default(),
        outcome: outcome(&events),
        intent_summary: summary(&events),
        events,
    }
}

/// Derived from the first call, so that a report and a replay give a session the same id.
fn id(project: &str, first: &Event) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(project.as_bytes()).update(&[0]).update(first.call_id.as_bytes());
    format!("s-{}", &hash.finalize().to_hex()[..12])
}

/// A failure counts unless the same tool succeeded afterwards. An ask that a call states (an
/// explicit request, a miss, an intent that names something missing) always leaves something
/// wanting, and a miss answers nothing.
pub fn outcome(events: &[Event]) -> Outcome {
    let mut calls = events.iter().filter(|event| !event.is_request() && event.missed.is_none());
    let answered = calls.any(|event| !event.is_error && event.result.is_some());
    let failed = !failures(events).is_empty();
    let wanting = failed || events.iter().any(|event| ask::stated(event).is_some());
    match (answered, wanting) {
        (true, false) => Outcome::Success,
        (true, true) => Outcome::Partial,
        (false, true) => Outcome::Failed,
        (false, false) => Outcome::Unknown,
    }
}

/// The last failure of every tool that did not succeed after it.
pub fn failures(events: &[Event]) -> Vec<&Event> {
    let mut last: BTreeMap<&str, &Event> = BTreeMap::new();
    for event in events.iter().filter(|event| !event.is_request()) {
        if event.is_error {
            last.insert(&event.tool_name, event);
        } else {
            last.remove(event.tool_name.as_str());
        }
    }
    let mut failures: Vec<&Event> = last.into_values().collect();
    failures.sort_by_key(|event| (event.timestamp, event.call_id.as_str()));
    failures
}

/// The first intent and the first explicit request; or else a request's context, or a miss.
fn summary(events: &[Event]) -> Option<String> {
    let mut requests = events.iter().filter(|event| event.is_request());
    let asked = requests.find_map(|event| event.argument("capability"));
    let intent = events.iter().find_map(|event| event.intent.as_deref());
    let context = || events.iter().find_map(|event| event.argument("context"));
    let missed = || events.iter().find_map(|event| event.missed.as_deref());
    let text = match (asked, intent) {
        (Some(asked), Some(intent)) if !intent.contains(asked) => format!("{intent} — {asked}"),
        (asked, intent) => intent.or(asked).or_else(context).or_else(missed)?.to_owned(),
    };
    Some(words::clip(&text, MAX_SUMMARY_CHARS))
}
