//! What was wanted and not had, in the words of those who wanted it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::session::{PAUSE, Session, ended, failures};
use crate::words;

/// Stands for a request that came without words. It counts all the same.
pub const UNSPOKEN: &str = "(asked without saying for what)";
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
    let failed: Vec<&Event> = failures(&session.events);
    let is_failed = |event: &Event| failed.iter().any(|other| other.call_id == event.call_id);
    let asks = session.events.iter().filter_map(|event| {
        let (kind, text) = if let Some(spoken) = spoken(event) {
            spoken
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

/// What a call says is missing, whatever else happened in its session.
pub fn spoken(event: &Event) -> Option<(AskKind, String)> {
    if event.is_request() {
        return Some((AskKind::Explicit, requested(event)));
    }
    let missing = event.intent.as_deref().and_then(missing)?;
    Some((AskKind::Unmet, missing))
}

/// From when on a call can be asked what was missing; never, if it holds no ask. What was said is
/// said; a failure may be made good for as long as its session goes on.
pub fn due(event: &Event) -> Option<u64> {
    if names_something_missing(event) {
        return Some(0);
    }
    let pause = u64::try_from(PAUSE.as_millis()).unwrap_or(u64::MAX);
    event.is_error.then(|| ended(event).saturating_add(pause))
}

/// An ask as it is kept.
pub fn clipped(text: &str) -> String {
    words::clip(text, MAX_CHARS)
}

fn requested(event: &Event) -> String {
    let text = event.argument("capability").or_else(|| event.argument("context"));
    text.unwrap_or(UNSPOKEN).to_owned()
}

/// What a failed call was for: the intent, or else what failed.
fn wanted(event: &Event) -> Option<String> {
    if let Some(intent) = &event.intent {
        return Some(core(intent).to_owned());
    }
    let error = event.error_message.as_deref()?.lines().next()?;
    Some(format!("{}: {error}", event.tool_name))
}

pub(crate) fn names_something_missing(event: &Event) -> bool {
    event.is_request() || event.intent.as_deref().is_some_and(|intent| missing(intent).is_some())
}

/// Phrases by which an intent says that something is not there.
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
        // Letters whose case changes their length; places in the two texts do not correspond.
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

/// Ways to begin that say nothing of what is wanted, the longest first where one begins another.
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

/// An ask without its lead-in: what tells it from others.
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
