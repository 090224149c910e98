//! Asks: what an agent wanted and did not get, in its own words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::session::{PAUSE_MS, Session, ended, failures};
use crate::words;

/// The text of a request that names no capability. It counts like any other.
pub const UNSTATED: &str = "(asked without saying for what)";
const MAX_CHARS: usize = 400;

/// How an ask came to us.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum AskKind {
    /// Through the reserved tool.
    Explicit,
    /// An intent that names something missing.
    Unmet,
    /// A call that failed and was not made good.
    Failed,
    /// A question that our own tools found nothing for.
    Miss,
}

impl AskKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Unmet => "unmet",
            Self::Failed => "failed",
            Self::Miss => "miss",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Explicit, Self::Unmet, Self::Failed, Self::Miss];
        all.into_iter().find(|kind| kind.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ask {
    pub kind: AskKind,
    pub text: String,
    pub project_id: String,
    pub session_id: String,
    pub call_id: String,
    pub tool: String,
    pub at: u64,
}

/// All asks of a session, in order.
pub fn asks(session: &Session) -> Vec<Ask> {
    let failed = failures(&session.events);
    let is_failed = |event: &Event| failed.iter().any(|other| other.call_id == event.call_id);
    let asks = session.events.iter().filter_map(|event| {
        let (kind, text) = if let Some(stated) = stated(event) {
            stated
        } else if is_failed(event) {
            (AskKind::Failed, wanted(event)?)
        } else {
            return None;
        };
        Some(Ask {
            kind,
            text: clipped(&text),
            project_id: session.project_id.clone(),
            session_id: session.id.clone(),
            call_id: event.call_id.clone(),
            tool: event.tool_name.clone(),
            at: event.timestamp,
        })
    });
    asks.collect()
}

/// The ask that a call states by itself, independent of its session. A call is one ask at most: a
/// question that found nothing is a miss, whatever its intent says.
pub fn stated(event: &Event) -> Option<(AskKind, String)> {
    if event.is_request() {
        return Some((AskKind::Explicit, requested(event)));
    }
    if let Some(query) = &event.missed {
        return Some((AskKind::Miss, query.clone()));
    }
    let missing = event.intent.as_deref().and_then(missing)?;
    Some((AskKind::Unmet, missing))
}

/// When the ask of a call can be extracted; `None` if it holds none. A stated ask is final. A
/// failure is not before its session has ended, because the tool may still succeed.
pub fn due(event: &Event) -> Option<u64> {
    if stated(event).is_some() {
        return Some(0);
    }
    event.is_error.then(|| ended(event).saturating_add(PAUSE_MS))
}

/// The text of an ask as it is stored.
pub fn clipped(text: &str) -> String {
    words::clip(text, MAX_CHARS)
}

fn requested(event: &Event) -> String {
    let text = event.argument("capability").or_else(|| event.argument("context"));
    text.unwrap_or(UNSTATED).to_owned()
}

/// What a failed call was for: the intent, or else what failed.
fn wanted(event: &Event) -> Option<String> {
    if let Some(intent) = &event.intent {
        return Some(core(intent).to_owned());
    }
    let error = event.error_message.as_deref()?.lines().next()?;
    Some(format!("{}: {error}", event.tool_name))
}

/// Phrases by which an intent says that a capability is missing.
const MISSING: [&str; 22] = [
    "but no ",
    "but there is no ",
    "but there's no ",
    "but none of",
    "no tool exists",
    "no such tool",
    "no tool for",
    "no tool to",
    "no tool that",
    "no available tool",
    "no way to",
    "there is no tool",
    "tool does not exist",
    "tools do not support",
    "tools cannot",
    "tools can't",
    "cannot be done with",
    "is not supported",
    "not available in",
    "missing capability",
    "lacks the ability",
    "not possible with",
];

/// The missing capability that an intent names, in its own words.
pub fn missing(intent: &str) -> Option<String> {
    let lower = intent.to_lowercase();
    if lower.len() != intent.len() {
        // Lowercasing changed the length of a letter, so that offsets in the two texts differ.
        return MISSING.iter().any(|cue| lower.contains(cue)).then(|| core(intent).to_owned());
    }
    let (at, cue) = MISSING.iter().filter_map(|cue| Some((lower.find(cue)?, cue))).min()?;
    if !intent.is_char_boundary(at) {
        return Some(core(intent).to_owned());
    }
    let before = sentence_end(&intent[..at]);
    let wanted = core(before);
    if words::Stems::of(wanted).is_empty() {
        let after = intent.get(at + cue.len()..).unwrap_or_default();
        let after = after.split(['.', ';']).next().unwrap_or_default();
        let after = core(after);
        let after = after.strip_prefix("to ").unwrap_or(after);
        return Some(after.to_owned()).filter(|text| !text.is_empty());
    }
    Some(wanted.to_owned())
}

/// The last sentence of a text that may have several.
fn sentence_end(text: &str) -> &str {
    let text = text.trim_end_matches([' ', ',', ';', '-', '—', '.']);
    text.rfind(". ").map_or(text, |end| &text[end + 2..])
}

/// Phrases that open an ask without content; where one is a prefix of another, the longer is first.
const LEAD_INS: [&str; 44] = [
    "the user would like to be able to",
    "the user would like to",
    "the user wanted to",
    "the user wants to",
    "the user wants",
    "the user needs to",
    "the user needs a way to",
    "the user needs",
    "the user is trying to",
    "the user was trying to",
    "the user asked to",
    "the user asked for",
    "the user asked",
    "user wanted to",
    "user wants to",
    "user needs to",
    "user wants",
    "user needs",
    "users want to",
    "i would like to",
    "i'd like to",
    "i want to",
    "i need to be able to",
    "i need a way to",
    "i need a tool to",
    "i need a tool that can",
    "i need to",
    "i need",
    "we need a way to",
    "we need to",
    "wanted to",
    "wants to",
    "want to",
    "needs to",
    "need to",
    "need a way to",
    "need a tool to",
    "trying to",
    "is there a way to",
    "a way to",
    "ability to",
    "the ability to",
    "can you",
    "please",
];

/// An ask without its lead-in: the part that distinguishes it from others.
pub fn core(text: &str) -> &str {
    let mut rest = text.trim();
    'again: loop {
        for lead_in in LEAD_INS {
            let Some(head) = rest.get(..lead_in.len()) else { continue };
            let after = &rest[lead_in.len()..];
            if head.eq_ignore_ascii_case(lead_in) && after.starts_with(' ') {
                rest = after.trim_start();
                continue 'again;
            }
        }
        return rest.trim_end_matches(['.', '!', '?', ',', ' ']);
    }
}
