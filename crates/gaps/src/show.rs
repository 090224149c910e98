//! One gap, with the sessions that asked for it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Gaps;
use crate::ask::AskKind;
use crate::error::Error;
use crate::extract::{REACH, session_of};
use crate::gap::Gap;
use crate::list::{ListedGap, within};
use crate::offers::ListedProposal;
use crate::ports::{Call, Detail, StoredAsk, UserFilter, Window};
use crate::session::{Recorded, Session, sessions};

const ASKS: usize = 100;
/// Calls that are shown of one session, around the one that asked.
const CALLS: usize = 200;
pub const DEFAULT_SESSIONS: usize = 5;
pub const MAX_SESSIONS: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowGapRequest {
    /// The gap's id
    pub id: String,
    /// Maximum number of sessions, the newest first; 5 unless said otherwise
    #[schemars(range(min = 1, max = MAX_SESSIONS))]
    pub max_sessions: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShowGapResponse {
    pub gap: ListedGap,
    /// The newest first, as long as the calls they come from are kept
    pub asks: Vec<ShownAsk>,
    /// What was done in the newest sessions that asked for it, call by call
    pub sessions: Vec<Replayed>,
    /// Gaps that were merged into this one
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<ListedGap>,
    /// What was proposed to close it
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proposals: Vec<ListedProposal>,
}

/// A recently recorded call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentCall {
    pub project_id: String,
    pub tool_name: String,
    pub client: Option<String>,
    pub is_error: bool,
    /// Milliseconds since 1970.
    pub at: u64,
}

/// A session as it went.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Replayed {
    #[serde(flatten)]
    pub session: Session,
    /// Calls that are not shown, because there are too many
    #[serde(skip_serializing_if = "is_zero")]
    pub calls_left_out: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in references")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShownAsk {
    pub kind: AskKind,
    pub text: String,
    pub tool: String,
    /// Milliseconds since 1970
    pub at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// One of `sessions`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

impl Gaps {
    /// The last calls of any project, the newest first.
    pub fn recent_calls(&self, limit: usize) -> Result<Vec<RecentCall>, Error> {
        let window = Window { detail: Detail::Outline, last: Some(limit), ..Window::default() };
        let calls = self.storage.events(&window)?.into_iter().rev();
        let recent = calls.map(|Recorded { project_id, identity, event }| RecentCall {
            project_id,
            tool_name: event.tool_name,
            client: identity.client,
            is_error: event.is_error,
            at: event.timestamp,
        });
        Ok(recent.collect())
    }

    pub fn show(&self, request: &ShowGapRequest) -> Result<ShowGapResponse, Error> {
        let limit =
            within("maxSessions", request.max_sessions.unwrap_or(DEFAULT_SESSIONS), MAX_SESSIONS)?;
        let gap = self.storage.gap(&request.id)?.ok_or_else(|| Error::no_gap(&request.id))?;
        let merged = self.merged_into(&gap.id)?;
        let ids = merged.iter().map(|gap| gap.id.clone()).chain([gap.id.clone()]);
        let asks = self.storage.asks(&ids.collect::<Vec<_>>(), ASKS)?;
        let replay = self.replay(&asks, limit)?;
        let proposals = self.storage.proposals()?;
        let proposals = proposals.iter().filter(|one| one.gap_id.as_ref() == Some(&gap.id));
        Ok(ShowGapResponse {
            gap: ListedGap::from(&gap),
            asks: asks.into_iter().map(|ask| replay.shown(ask)).collect(),
            merged: merged.iter().map(ListedGap::from).collect(),
            proposals: proposals.map(ListedProposal::from).collect(),
            sessions: replay.sessions,
        })
    }

    /// All gaps that were merged into this one, directly or through others.
    fn merged_into(&self, id: &str) -> Result<Vec<Gap>, Error> {
        let mut found: Vec<Gap> = Vec::new();
        let mut targets = vec![id.to_owned()];
        while let Some(target) = targets.pop() {
            for gap in self.storage.merged_into(&target)? {
                if gap.id != id && !found.iter().any(|other| other.id == gap.id) {
                    targets.push(gap.id.clone());
                    found.push(gap);
                }
            }
        }
        Ok(found)
    }

    /// The sessions of the newest asks.
    fn replay(&self, asks: &[StoredAsk], limit: usize) -> Result<Replay, Error> {
        let mut replay = Replay::default();
        for StoredAsk { call, at, .. } in asks {
            if replay.sessions.len() >= limit {
                break;
            }
            if !replay.by_call.contains_key(&call.call_id)
                && let Some(session) = self.session(call, *at)?
            {
                replay.add(session, &call.call_id);
            }
        }
        Ok(replay)
    }

    fn session(&self, call: &Call, at: u64) -> Result<Option<Session>, Error> {
        let window = Window {
            project_id: Some(call.project_id.clone()),
            from: Some(at.saturating_sub(REACH)),
            until: Some(at.saturating_add(REACH)),
            user: UserFilter::Is(call.user.clone()),
            detail: Detail::Full,
            last: None,
        };
        let sessions = sessions(&self.storage.events(&window)?);
        Ok(session_of(&sessions, &call.call_id).cloned())
    }
}

#[derive(Default)]
struct Replay {
    sessions: Vec<Replayed>,
    by_call: BTreeMap<String, String>,
}

impl Replay {
    fn add(&mut self, mut session: Session, call_id: &str) {
        let calls = session.events.iter().map(|event| event.call_id.clone());
        self.by_call.extend(calls.map(|call| (call, session.id.clone())));
        let count = session.events.len();
        let at = session.events.iter().position(|event| event.call_id == call_id).unwrap_or(0);
        let first = at.saturating_sub(CALLS / 2).min(count.saturating_sub(CALLS));
        session.events = session.events.into_iter().skip(first).take(CALLS).collect();
        let calls_left_out = count - session.events.len();
        self.sessions.push(Replayed { session, calls_left_out });
    }

    fn shown(&self, ask: StoredAsk) -> ShownAsk {
        let call_id = ask.call.call_id;
        ShownAsk {
            session_id: self.by_call.get(&call_id).cloned(),
            kind: ask.kind,
            text: ask.text,
            tool: ask.tool,
            at: ask.at,
            call_id: Some(call_id),
        }
    }
}
