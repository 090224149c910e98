//! Recording of calls, from which asks and gaps are extracted later.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;

use crate::call::{Answer, Call, CallError};
use crate::operation::JsonObject;

/// Takes every call of every tool. Implementations queue it: recording never delays an answer.
pub trait CallRecorder: Send + Sync {
    fn record(&self, call: RecordedCall<'_>);

    fn tally(&self) -> Tally {
        Tally::default()
    }
}

/// How many calls were recorded so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub recorded: u64,
    /// Recorded calls that could not be stored.
    pub dropped: u64,
}

/// A call and its outcome.
#[derive(Debug, Clone)]
pub struct RecordedCall<'a> {
    pub tool: String,
    /// The arguments without the intent.
    pub arguments: JsonObject,
    /// Why the agent called the tool, if it said so.
    pub intent: Option<String>,
    /// Name and version of the client, if it said so.
    pub client: Option<String>,
    pub duration: Duration,
    /// The answer, or the error as the caller saw it.
    pub outcome: Result<Cow<'a, Value>, String>,
    /// The query that the operation found nothing for.
    pub missed: Option<String>,
}

impl RecordedCall<'static> {
    /// The call before it runs.
    pub(crate) fn begin(tool: &str, call: &Call) -> Self {
        Self {
            tool: tool.to_owned(),
            arguments: call.arguments.clone(),
            intent: call.intent.clone(),
            client: call.client.clone(),
            duration: Duration::ZERO,
            outcome: Err(String::new()),
            missed: None,
        }
    }

    pub(crate) fn finish(
        self,
        duration: Duration,
        outcome: &Result<Answer, CallError>,
    ) -> RecordedCall<'_> {
        let missed = outcome.as_ref().ok().and_then(|answer| answer.missed.clone());
        let outcome = match outcome {
            Ok(answer) => Ok(Cow::Borrowed(&answer.body)),
            Err(error) => Err(error.clone().into_fault().to_string()),
        };
        RecordedCall { duration, outcome, missed, ..self }
    }
}
