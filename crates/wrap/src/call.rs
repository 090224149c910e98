//! A tool call, from its request to the event that records it.

use std::borrow::Cow;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use kenning_gaps::event::IntentSource;
use kenning_gaps::{Event, Redactor, contract};

use crate::bounded_json::{BoundedJson, LIMIT};
use crate::raw::{Object, items};
use crate::recorder::{Caller, Observed};

/// A tool call that has begun.
#[derive(Debug)]
pub(crate) struct Call {
    tool: String,
    arguments: BoundedJson,
    intent: Option<String>,
    source: IntentSource,
    missed: Option<String>,
    /// The server's own intent field. It is an argument of the call, and not recorded as one.
    native_field: Option<String>,
    caller: Caller,
    began: Instant,
    timestamp: u64,
}

impl Call {
    pub(crate) fn new(tool: &str, arguments: Option<&str>) -> Self {
        Self::with(tool, BoundedJson::from_text(arguments.unwrap_or("{}")), Caller::default())
    }

    pub(crate) fn with(tool: &str, arguments: BoundedJson, caller: Caller) -> Self {
        Self {
            tool: tool.to_owned(),
            arguments,
            intent: None,
            source: IntentSource::Mcpeye,
            missed: None,
            native_field: None,
            caller,
            began: Instant::now(),
            timestamp: milliseconds(SystemTime::now()),
        }
    }

    pub(crate) fn set_intent(&mut self, intent: Option<&str>) {
        self.intent = intent.filter(|text| !text.trim().is_empty()).map(str::to_owned);
    }

    pub(crate) fn set_arguments(&mut self, arguments: &str) {
        self.arguments = BoundedJson::from_text(arguments);
    }

    /// Takes the intent from the server's own field, unless the contract's parameter has one.
    pub(crate) fn read_native(&mut self, field: &str, value: Option<&str>) {
        if self.intent.is_none() {
            self.set_intent(value);
            self.source = IntentSource::Native;
            self.native_field = Some(field.to_owned());
        }
    }

    fn size(&self) -> usize {
        let texts = [&self.intent, &self.missed];
        self.arguments.size() + texts.into_iter().flatten().map(String::len).sum::<usize>()
    }
}

/// Milliseconds since 1970.
pub(crate) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// How a call ended, in JSON as the server wrote it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer<'a> {
    Result(&'a str),
    Error(&'a str),
    /// The server ended first.
    Never,
}

#[derive(Debug)]
pub(crate) enum Ending {
    Result(BoundedJson),
    /// The text of the error, whether of the tool or of the protocol.
    Failed(String),
}

impl Ending {
    pub(crate) fn failed(message: &str) -> Self {
        Self::Failed(truncate(message).to_owned())
    }
}

/// A call that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    call: Call,
    ending: Ending,
    duration_ms: u64,
}

impl Finished {
    /// A call of the reserved tool, which we answer ourselves.
    pub(crate) fn acknowledged(call: Call) -> Self {
        let result = BoundedJson::from_text(&contract::acknowledgement().to_string());
        Self { call, ending: Ending::Result(result), duration_ms: 0 }
    }

    /// `None` for an answer that asks for more input, which does not end the call.
    pub(crate) fn answered(call: Call, answer: Answer<'_>) -> Option<Self> {
        ending(answer).map(|ending| Self::now(call, ending))
    }

    /// A call that ends at this moment.
    pub(crate) fn now(call: Call, ending: Ending) -> Self {
        let duration_ms = u64::try_from(call.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Self { call, ending, duration_ms }
    }

    /// A call that the server itself timed.
    pub(crate) fn observed(observed: Observed<'_>) -> Self {
        let Observed { tool, arguments, intent, missed, outcome, started, duration, caller } =
            observed;
        let mut call = Call::with(&tool, BoundedJson::of(&arguments), caller);
        call.timestamp = milliseconds(started);
        call.missed = missed.map(|query| truncate(&query).to_owned());
        if let Some(intent) = intent {
            call.set_intent(Some(&intent.text));
            call.source = intent.source;
        }
        let ending = match &outcome {
            Ok(result) => Ending::Result(BoundedJson::of(result)),
            Err(message) => Ending::failed(message),
        };
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self { call, ending, duration_ms }
    }

    /// The bytes of text that it holds in memory.
    pub(crate) fn size(&self) -> usize {
        let ending = match &self.ending {
            Ending::Result(json) => json.size(),
            Ending::Failed(message) => message.len(),
        };
        self.call.size() + ending
    }

    pub(crate) fn client(&self) -> Option<&str> {
        self.call.caller.client.as_deref()
    }

    pub(crate) fn event(self, redactor: &Redactor) -> Event {
        let mut arguments = self.call.arguments.redacted(redactor);
        let mut intent = self.call.intent;
        if let Some(field) = &self.call.native_field {
            if redactor.denies(field) {
                intent = None;
            } else if let Some(arguments) = arguments.as_object_mut() {
                arguments.shift_remove(field);
            }
        }
        let intent = intent.map(|text| redactor.capped_text(&text));
        let (result, error_message) = match &self.ending {
            Ending::Result(json) => (Some(json.redacted(redactor)), None),
            Ending::Failed(message) => (None, Some(redactor.capped_text(message))),
        };
        Event {
            call_id: uuid::Uuid::new_v4().to_string(),
            tool_name: self.call.tool,
            arguments,
            is_error: error_message.is_some(),
            timestamp: self.call.timestamp,
            duration_ms: self.duration_ms,
            result,
            error_message,
            intent_source: intent.is_some().then_some(self.call.source),
            intent,
            user_id: self.call.caller.user_id,
            user_email: self.call.caller.user_email,
            missed: self.call.missed.map(|query| redactor.capped_text(&query)),
        }
    }
}

fn ending(answer: Answer<'_>) -> Option<Ending> {
    match answer {
        Answer::Never => Some(Ending::Failed("the server ended before it answered".to_owned())),
        Answer::Error(error) => {
            let message = Object::read(error).and_then(|error| {
                error.string("message").map(|message| truncate(&message).to_owned())
            });
            Some(Ending::Failed(message.unwrap_or_else(|| truncate(error).to_owned())))
        }
        Answer::Result(result) => {
            let Some(fields) = Object::read(result) else {
                return Some(Ending::Result(BoundedJson::from_text(result)));
            };
            if fields.string("resultType").is_some_and(|kind| kind == "input_required") {
                return None;
            }
            Some(match fields.get("isError") {
                Some("true") => Ending::Failed(error_text(&fields)),
                _ => Ending::Result(BoundedJson::from_text(result)),
            })
        }
    }
}

/// The texts of a failed tool's result.
fn error_text(result: &Object<'_>) -> String {
    let content = result.get("content").and_then(items).unwrap_or_default();
    let texts = content
        .into_iter()
        .filter_map(|item| Object::read(item)?.string("text").map(Cow::into_owned));
    let text = texts.collect::<Vec<_>>().join("\n");
    truncate(&text).to_owned()
}

fn truncate(text: &str) -> &str {
    &text[..text.floor_char_boundary(LIMIT)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(call: Call, answer: Answer<'_>) -> Event {
        Finished::answered(call, answer).unwrap().event(&Redactor::default())
    }

    #[test]
    fn a_native_intent_field_is_the_intent_and_no_longer_an_argument() {
        let mut call = Call::new("t", Some(r#"{"intent":"to see a@b.co","x":1}"#));
        call.read_native("intent", Some("to see a@b.co"));
        let event = event(call, Answer::Result("{}"));
        assert_eq!(event.intent.as_deref(), Some("to see [REDACTED_EMAIL]"));
        assert_eq!(event.intent_source, Some(IntentSource::Native));
        assert_eq!(event.arguments, json!({"x": 1}));
    }

    #[test]
    fn the_contracts_parameter_wins_over_a_native_field() {
        let mut call = Call::new("t", Some(r#"{"intent":"theirs"}"#));
        call.set_intent(Some("ours"));
        call.read_native("intent", Some("theirs"));
        let event = event(call, Answer::Result("{}"));
        assert_eq!(event.intent.as_deref(), Some("ours"));
        assert_eq!(event.intent_source, Some(IntentSource::Mcpeye));
        assert_eq!(event.arguments, json!({"intent": "theirs"}));
    }

    #[test]
    fn a_denied_native_field_is_no_intent() {
        let mut call = Call::new("t", Some(r#"{"token":"abc"}"#));
        call.read_native("token", Some("abc"));
        let event = event(call, Answer::Result("{}"));
        assert_eq!((event.intent, event.intent_source), (None, None));
        assert_eq!(event.arguments, json!({"token": "[REDACTED_FIELD]"}));
    }

    #[test]
    fn a_failure_records_the_error_text() {
        let check = |answer, expected: &str| {
            let event = event(Call::new("t", None), answer);
            assert!(event.is_error && event.result.is_none());
            assert_eq!(event.error_message.as_deref(), Some(expected));
        };
        check(Answer::Error(r#"{"code":-1,"message":"no"}"#), "no");
        check(Answer::Error("7"), "7");
        check(Answer::Never, "the server ended before it answered");
        let content = r#"{"isError":true,"content":[{"type":"text","text":"a"},{"text":"b"},{}]}"#;
        check(Answer::Result(content), "a\nb");
    }

    #[test]
    fn of_a_value_that_is_too_large_only_the_size_is_recorded() {
        let big = format!("\"{}\"", "x".repeat(LIMIT));
        let event = event(Call::new("t", Some(&big)), Answer::Result(&big));
        let marker = json!({"[truncated]": true, "bytes": LIMIT + 2});
        assert_eq!((event.arguments, event.result), (marker.clone(), Some(marker)));
    }
}
