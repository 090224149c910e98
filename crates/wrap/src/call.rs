//! A call of a tool, from its beginning to the event that tells of it.

use std::borrow::Cow;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use kenning_gaps::event::IntentSource;
use kenning_gaps::redact::{truncated, unserializable};
use kenning_gaps::{Event, Redactor, contract};
use serde::Serialize;
use serde_json::Value;

use crate::bounded::{self, KEPT, Written};
use crate::raw::{Object, items};
use crate::recorder::{Caller, Observed};

/// A call of a tool that has begun.
#[derive(Debug)]
pub(crate) struct Call {
    tool: String,
    arguments: Kept,
    intent: Option<String>,
    source: IntentSource,
    missed: Option<String>,
    /// The server's own intent field: part of the call, but not of the record.
    native_field: Option<String>,
    caller: Caller,
    began: Instant,
    timestamp: u64,
}

/// JSON text, or why there is none.
#[derive(Debug)]
pub(crate) enum Kept {
    Text(Box<str>),
    /// How much of it there was.
    TooBig(usize),
    Unwritable,
}

impl Kept {
    fn new(json: &str) -> Self {
        if json.len() > KEPT { Self::TooBig(json.len()) } else { Self::Text(json.into()) }
    }

    /// Takes no more memory than is kept, however big the value.
    pub(crate) fn of(value: &impl Serialize) -> Self {
        match bounded::write(value) {
            Written::Whole(text) => Self::Text(text),
            Written::TooBig(bytes) => Self::TooBig(bytes),
            Written::Unwritable => Self::Unwritable,
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::TooBig(_) | Self::Unwritable => 0,
        }
    }

    fn field(&self, redactor: &Redactor) -> Value {
        match self {
            Self::Text(text) => redactor.json_field(text),
            Self::TooBig(bytes) => truncated(*bytes),
            Self::Unwritable => unserializable(),
        }
    }
}

impl Call {
    pub(crate) fn new(tool: &str, arguments: Option<&str>) -> Self {
        Self::with(tool, Kept::new(arguments.unwrap_or("{}")), Caller::default())
    }

    pub(crate) fn with(tool: &str, arguments: Kept, caller: Caller) -> Self {
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

    pub(crate) fn heard(&mut self, intent: Option<&str>) {
        self.intent = intent.filter(|text| !text.trim().is_empty()).map(str::to_owned);
    }

    pub(crate) fn set_arguments(&mut self, arguments: &str) {
        self.arguments = Kept::new(arguments);
    }

    /// The server's own field stands in if ours said nothing.
    pub(crate) fn read_native(&mut self, field: &str, said: Option<&str>) {
        if self.intent.is_none() {
            self.heard(said);
            self.source = IntentSource::Native;
            self.native_field = Some(field.to_owned());
        }
    }

    fn size(&self) -> usize {
        let texts = [&self.intent, &self.missed];
        self.arguments.size() + texts.into_iter().flatten().map(String::len).sum::<usize>()
    }
}

/// Since 1970.
fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// How a call ended, as it stands in a line.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer<'a> {
    Result(&'a str),
    Error(&'a str),
    Never,
}

#[derive(Debug)]
pub(crate) enum Ending {
    Result(Kept),
    /// The tool says that it failed.
    Failed(String),
}

impl Ending {
    pub(crate) fn failed(message: &str) -> Self {
        Self::Failed(bounded(message).to_owned())
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
        let result = Kept::new(&contract::acknowledgement().to_string());
        Self { call, ending: Ending::Result(result), duration_ms: 0 }
    }

    /// `None` for an answer that asks for more input: the call goes on.
    pub(crate) fn answered(call: Call, answer: Answer<'_>) -> Option<Self> {
        ending(answer).map(|ending| Self::now(call, ending))
    }

    /// A call that ends at this moment.
    pub(crate) fn now(call: Call, ending: Ending) -> Self {
        let duration_ms = u64::try_from(call.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Self { call, ending, duration_ms }
    }

    /// A call that somebody else watched from beginning to end.
    pub(crate) fn observed(observed: Observed<'_>) -> Self {
        let Observed { tool, arguments, intent, missed, outcome, started, duration, caller } =
            observed;
        let mut call = Call::with(&tool, Kept::of(&arguments), caller);
        call.timestamp = milliseconds(started);
        call.missed = missed.map(|query| bounded(&query).to_owned());
        if let Some(intent) = intent {
            call.heard(Some(&intent.text));
            call.source = intent.source;
        }
        let ending = match &outcome {
            Ok(result) => Ending::Result(Kept::of(result)),
            Err(message) => Ending::failed(message),
        };
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Self { call, ending, duration_ms }
    }

    /// Bytes that it keeps in memory.
    pub(crate) fn size(&self) -> usize {
        let ending = match &self.ending {
            Ending::Result(kept) => kept.size(),
            Ending::Failed(message) => message.len(),
        };
        self.call.size() + ending
    }

    pub(crate) fn client(&self) -> Option<&str> {
        self.call.caller.client.as_deref()
    }

    pub(crate) fn event(self, redactor: &Redactor) -> Event {
        let mut arguments = self.call.arguments.field(redactor);
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
            Ending::Result(kept) => (Some(kept.field(redactor)), None),
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
                error.string("message").map(|message| bounded(&message).to_owned())
            });
            Some(Ending::Failed(message.unwrap_or_else(|| bounded(error).to_owned())))
        }
        Answer::Result(result) => {
            let Some(fields) = Object::read(result) else {
                return Some(Ending::Result(Kept::new(result)));
            };
            if fields.string("resultType").is_some_and(|kind| kind == "input_required") {
                return None;
            }
            Some(match fields.get("isError") {
                Some("true") => Ending::Failed(error_text(&fields)),
                _ => Ending::Result(Kept::new(result)),
            })
        }
    }
}

/// What a failed tool says, in its texts.
fn error_text(result: &Object<'_>) -> String {
    let content = result.get("content").and_then(items).unwrap_or_default();
    let texts = content
        .into_iter()
        .filter_map(|item| Object::read(item)?.string("text").map(Cow::into_owned));
    let text = texts.collect::<Vec<_>>().join("\n");
    bounded(&text).to_owned()
}

fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(KEPT)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(call: Call, answer: Answer<'_>) -> Event {
        Finished::answered(call, answer).unwrap().event(&Redactor::default())
    }

    #[test]
    fn a_servers_own_field_stands_in_and_is_not_told_twice() {
        let mut call = Call::new("t", Some(r#"{"intent":"to see a@b.co","x":1}"#));
        call.read_native("intent", Some("to see a@b.co"));
        let told = event(call, Answer::Result("{}"));
        assert_eq!(told.intent.as_deref(), Some("to see [REDACTED_EMAIL]"));
        assert_eq!(told.intent_source, Some(IntentSource::Native));
        assert_eq!(told.arguments, json!({"x": 1}));
    }

    #[test]
    fn our_parameter_wins() {
        let mut call = Call::new("t", Some(r#"{"intent":"theirs"}"#));
        call.heard(Some("ours"));
        call.read_native("intent", Some("theirs"));
        let told = event(call, Answer::Result("{}"));
        assert_eq!(told.intent.as_deref(), Some("ours"));
        assert_eq!(told.intent_source, Some(IntentSource::Mcpeye));
        assert_eq!(told.arguments, json!({"intent": "theirs"}));
    }

    #[test]
    fn a_denied_field_says_nothing() {
        let mut call = Call::new("t", Some(r#"{"token":"abc"}"#));
        call.read_native("token", Some("abc"));
        let told = event(call, Answer::Result("{}"));
        assert_eq!((told.intent, told.intent_source), (None, None));
        assert_eq!(told.arguments, json!({"token": "[REDACTED_FIELD]"}));
    }

    #[test]
    fn failures_say_why() {
        let check = |answer, expected: &str| {
            let told = event(Call::new("t", None), answer);
            assert!(told.is_error && told.result.is_none());
            assert_eq!(told.error_message.as_deref(), Some(expected));
        };
        check(Answer::Error(r#"{"code":-1,"message":"no"}"#), "no");
        check(Answer::Error("7"), "7");
        check(Answer::Never, "the server ended before it answered");
        let content = r#"{"isError":true,"content":[{"type":"text","text":"a"},{"text":"b"},{}]}"#;
        check(Answer::Result(content), "a\nb");
    }

    #[test]
    fn what_is_too_big_is_only_measured() {
        let big = format!("\"{}\"", "x".repeat(KEPT));
        let told = event(Call::new("t", Some(&big)), Answer::Result(&big));
        let marker = json!({"[truncated]": true, "bytes": KEPT + 2});
        assert_eq!((told.arguments, told.result), (marker.clone(), Some(marker)));
    }
}
