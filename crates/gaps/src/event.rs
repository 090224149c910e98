//! One recorded call of a tool, as clients send it and as it is stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::contract;
use crate::redact::Redactor;

/// Events that one batch may carry. mcpeye's clients buffer this many while they cannot send; they
/// send them in one batch, and repeat it for as long as it is refused.
pub const MAX_EVENTS: usize = 10_000;
const MAX_PROJECT: usize = 128;
const MAX_TOOL: usize = 256;
const MAX_IDENTITY: usize = 256;
/// The end of the year 9999 in milliseconds; a larger number is in another unit.
const MAX_TIMESTAMP: u64 = 253_402_300_799_999;

/// What a client sends in one request.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Batch {
    pub project_id: String,
    pub identity: Identity,
    pub events: Vec<Event>,
}

/// The caller; an event's own user takes precedence over the batch's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Identity {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", expecting = "an event")]
pub struct Event {
    pub call_id: String,
    pub tool_name: String,
    #[serde(default = "no_arguments")]
    pub arguments: Value,
    #[serde(default)]
    pub is_error: bool,
    /// Milliseconds since 1970.
    pub timestamp: u64,
    #[serde(default, deserialize_with = "whole")]
    pub duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent_source: Option<IntentSource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_email: Option<String>,
    /// The query that one of our own tools found nothing for. It is never read from a client and
    /// not part of the published schema: only our own server knows that it found nothing.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub missed: Option<String>,
}

/// Whose parameter the intent came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IntentSource {
    Mcpeye,
    Native,
}

/// Why a batch is refused as a whole.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    #[error("the body is not a batch: {0}")]
    Shape(String),
    #[error("`projectId` is empty")]
    NoProject,
    #[error("`projectId` has {0} characters; it can have {MAX_PROJECT}")]
    LongProject(usize),
    #[error("`events` has {0} entries; it can have {MAX_EVENTS}")]
    TooMany(usize),
}

/// Why one event of a batch was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Refused {
    pub index: usize,
    pub reason: String,
}

/// The events of a batch that could be read, and why the others could not.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    pub batch: Batch,
    pub refused: Vec<Refused>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with `projectId` and `events`")]
struct Envelope {
    project_id: String,
    #[serde(default)]
    identity: Option<Identity>,
    events: Vec<Value>,
}

impl Batch {
    /// Reads a batch. A bad event does not reject the others: clients repeat a refused batch, and
    /// would never get past it.
    pub fn read(body: &[u8]) -> Result<Received, BatchError> {
        // serde would also accept a list of the fields' values.
        if !body.trim_ascii_start().starts_with(b"{") {
            return Err(BatchError::Shape("it is not a JSON object".to_owned()));
        }
        let mut reader = serde_json::Deserializer::from_slice(body);
        let envelope: Envelope = serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| BatchError::Shape(error.to_string()))?;
        reader.end().map_err(|error| BatchError::Shape(error.to_string()))?;
        check_envelope(&envelope)?;
        let identity = envelope.identity.unwrap_or_default().bounded();
        let (mut events, mut refused) = (Vec::with_capacity(envelope.events.len()), Vec::new());
        for (index, event) in envelope.events.into_iter().enumerate() {
            match Event::read(event) {
                Ok(event) => events.push(event),
                Err(reason) => refused.push(Refused { index, reason }),
            }
        }
        let batch = Self { project_id: envelope.project_id, identity, events };
        Ok(Received { batch, refused })
    }

    /// Removes secrets and bounds the size, also for senders that claim to have done so.
    #[must_use]
    pub fn redacted(self, redactor: &Redactor) -> Self {
        let events = self.events.into_iter().map(|event| event.redacted(redactor)).collect();
        Self { events, ..self }
    }
}

fn check_envelope(envelope: &Envelope) -> Result<(), BatchError> {
    if envelope.project_id.trim().is_empty() {
        return Err(BatchError::NoProject);
    }
    let length = envelope.project_id.chars().count();
    if length > MAX_PROJECT {
        return Err(BatchError::LongProject(length));
    }
    if envelope.events.len() > MAX_EVENTS {
        return Err(BatchError::TooMany(envelope.events.len()));
    }
    Ok(())
}

impl Identity {
    /// Blank fields are absent; long ones are cut.
    #[must_use]
    pub fn bounded(self) -> Self {
        Self {
            user_id: bounded(self.user_id),
            user_email: bounded(self.user_email),
            client: bounded(self.client),
            server_version: bounded(self.server_version),
        }
    }
}

fn bounded(text: Option<String>) -> Option<String> {
    let text = text?;
    let text: String = text.trim().chars().take(MAX_IDENTITY).collect();
    if text.is_empty() { None } else { Some(text) }
}

impl Event {
    /// Reads one event; the reason names the field.
    pub fn read(event: Value) -> Result<Self, String> {
        if !event.is_object() {
            return Err("it is not a JSON object".to_owned());
        }
        let mut event: Self =
            serde_path_to_error::deserialize(event).map_err(|error| error.to_string())?;
        event.check()?;
        if event.arguments.is_null() {
            event.arguments = no_arguments();
        }
        if event.is_error {
            event.result = None;
        }
        event.intent = event.intent.and_then(contract::non_blank);
        if event.intent.is_none() {
            event.intent_source = None;
        }
        event.user_id = bounded(event.user_id);
        event.user_email = bounded(event.user_email);
        Ok(event)
    }

    fn check(&self) -> Result<(), String> {
        if !is_uuid(&self.call_id) {
            return Err("`callId` is not a UUID".to_owned());
        }
        if self.tool_name.trim().is_empty() {
            return Err("`toolName` is empty".to_owned());
        }
        if self.tool_name.chars().count() > MAX_TOOL {
            return Err(format!("`toolName` is longer than {MAX_TOOL} characters"));
        }
        if self.timestamp == 0 || self.timestamp > MAX_TIMESTAMP {
            return Err("`timestamp` is not in milliseconds since 1970".to_owned());
        }
        Ok(())
    }

    #[must_use]
    pub fn redacted(self, redactor: &Redactor) -> Self {
        Self {
            arguments: redactor.field(&self.arguments),
            result: self.result.map(|result| redactor.field(&result)),
            error_message: self.error_message.map(|text| redactor.capped_text(&text)),
            intent: self.intent.map(|text| redactor.capped_text(&text)),
            missed: self.missed.map(|text| redactor.capped_text(&text)),
            ..self
        }
    }

    /// Whether the agent requested a capability explicitly.
    pub fn is_request(&self) -> bool {
        self.tool_name == contract::TOOL_NAME
    }

    /// A string argument that is not blank.
    pub(crate) fn argument(&self, name: &str) -> Option<&str> {
        let text = self.arguments.get(name)?.as_str()?.trim();
        if text.is_empty() { None } else { Some(text) }
    }
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn no_arguments() -> Value {
    Map::new().into()
}

/// Some clients send fractions of a millisecond.
fn whole<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = Option::<f64>::deserialize(deserializer)?.unwrap_or(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast from float saturates, which is what is wanted"
    )]
    Ok(number.round() as u64)
}
