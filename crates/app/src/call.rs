//! One call of an operation: what comes in, what the operation knows of it, and what goes out.

use std::ops::ControlFlow;

use kenning_registry::Revision;
use kenning_sanitize::sanitize_json;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;

use crate::fault::{Fault, UNAVAILABLE};
use crate::limiter::Refused;
use crate::operation::JsonObject;

/// One request to one operation.
#[derive(Debug)]
pub struct Call {
    pub surface: Surface,
    pub arguments: JsonObject,
    /// Why the agent makes it, if it said so.
    pub intent: Option<String>,
    /// Name and version of the client, if it said so.
    pub client: Option<String>,
    /// The revision that the caller has seen, if its change is for that one only.
    pub expected: Option<Revision>,
    pub progress: Option<ProgressSender>,
}

impl Call {
    pub fn new(surface: Surface, arguments: JsonObject) -> Self {
        Self { surface, arguments, intent: None, client: None, expected: None, progress: None }
    }
}

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum CallError {
    /// The operation failed, in the form of its contract.
    Fault(Fault),
    /// The server could not take the call or gave it up.
    Refused(Refused),
}

impl CallError {
    /// The error envelope, whatever the reason.
    pub fn into_fault(self) -> Fault {
        match self {
            Self::Fault(fault) => fault,
            Self::Refused(Refused::Panicked) => Fault::internal(Refused::Panicked.to_string()),
            Self::Refused(refused) => {
                Fault { error: UNAVAILABLE.code, message: refused.to_string(), ..Fault::default() }
            }
        }
    }
}

/// The protocol through which a call came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    Mcp,
    Rest,
}

impl Surface {
    /// Where a caller finds what an operation takes.
    pub(crate) fn schema_hint(self) -> &'static str {
        match self {
            Self::Mcp => "see the tool's input schema",
            Self::Rest => "`/api/openapi.json` says what is taken",
        }
    }
}

/// What a running operation may know of its call and add to its outcome, besides request and
/// response.
#[derive(Debug, Default)]
pub struct Context {
    /// The revision that the caller has seen, if its change is for that one only.
    pub expected: Option<Revision>,
    pub(crate) progress: Option<ProgressSender>,
    pub(crate) revision: Option<Revision>,
    pub(crate) missed: Option<String>,
}

/// How far a long operation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub done: usize,
    pub total: usize,
    pub message: String,
}

/// Where progress goes. A receiver that is gone means that the caller no longer waits for the answer.
pub type ProgressSender = UnboundedSender<Progress>;

impl Context {
    /// The operation found nothing for this query.
    pub fn missed(&mut self, query: &str) {
        self.missed = Some(query.to_owned());
    }

    /// Tells the caller how far the work is; breaks once the caller no longer waits for it.
    pub fn report(&self, progress: Progress) -> ControlFlow<()> {
        match &self.progress {
            Some(sender) if sender.send(progress).is_err() => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    /// The answer is about this revision.
    pub fn set_revision(&mut self, revision: Revision) {
        self.revision = Some(revision);
    }
}

/// An answer on its way to the caller, sanitised.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub body: Value,
    /// The body as text.
    pub json: String,
    /// The revision it is about, where revisions are counted.
    pub revision: Option<Revision>,
    /// The query that nothing was found for.
    pub(crate) missed: Option<String>,
}

impl Answer {
    /// The value is read from the text, so that both have the same numbers: single-precision ones
    /// would have more digits otherwise.
    pub(crate) fn of(response: &impl Serialize, context: Context) -> serde_json::Result<Self> {
        let json = serde_json::to_string(response)?;
        let (body, json) = match sanitize_json(&json) {
            Some(sanitized) => {
                let json = sanitized.to_string();
                (sanitized, json)
            }
            None => (serde_json::from_str(&json)?, json),
        };
        Ok(Self { body, json, revision: context.revision, missed: context.missed })
    }

    pub(crate) fn text(text: &str) -> Self {
        let body = Value::from(text);
        Self { json: body.to_string(), body, revision: None, missed: None }
    }
}
