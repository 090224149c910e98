//! A server's own intent field, which is used if ours is empty.
//!
//! Payment ids and classifier labels are also called `intent`. Only a field whose description reads
//! like an analytics prompt counts.

use serde_json::{Map, Value};

use crate::contract::non_blank;
use crate::redact::Redactor;

const NAMES: [&str; 1] = ["intent"];

const PURPOSE: [&str; 7] =
    ["why", "reason", "intent", "purpose", "trying to", "accomplish", "in their own words"];
const ANALYTICS: [&str; 8] = [
    "analytics",
    "tracking",
    "workflow",
    "product",
    "user intent",
    "blocker",
    "unmet",
    "capability",
];
const NOT_AS_WORD: [&str; 11] = [
    "id",
    "identifier",
    "uuid",
    "secret",
    "token",
    "status",
    "enum",
    "classification",
    "routing",
    "route",
    "key",
];
const NOT_AT_ALL: [&str; 4] = ["paymentintent", "payment intent", "client_secret", "client secret"];

/// Why a field is not an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    NoDescription,
    MeansSomethingElse,
    NoPurpose,
    NoAnalytics,
}

/// Checks that a field's description asks for an intent.
pub fn check_description(description: &str) -> Result<(), Refusal> {
    if description.trim().is_empty() {
        return Err(Refusal::NoDescription);
    }
    let text = description.to_lowercase();
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    if NOT_AT_ALL.iter().any(|cue| text.contains(cue))
        || words.any(|word| NOT_AS_WORD.contains(&word))
    {
        return Err(Refusal::MeansSomethingElse);
    }
    if !PURPOSE.iter().any(|cue| text.contains(cue)) {
        return Err(Refusal::NoPurpose);
    }
    if !ANALYTICS.iter().any(|cue| text.contains(cue)) {
        return Err(Refusal::NoAnalytics);
    }
    Ok(())
}

/// Which field of a server is used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum NativeIntent {
    /// A field called `intent` that passes [`check_description`].
    #[default]
    Detect,
    /// This one, whatever its description says.
    Field(String),
    Off,
}

impl NativeIntent {
    /// The field of a tool with this input schema.
    pub fn field(&self, schema: &Value) -> Option<String> {
        let properties = schema.get("properties")?.as_object()?;
        let string = |name: &str| properties.get(name).filter(|p| p["type"] == "string");
        match self {
            Self::Off => None,
            Self::Field(name) => string(name).map(|_| name.clone()),
            Self::Detect => {
                let passes = |name: &&str| {
                    let description = string(name).and_then(|p| p["description"].as_str());
                    description.is_some_and(|description| check_description(description).is_ok())
                };
                NAMES.iter().copied().find(passes).map(str::to_owned)
            }
        }
    }
}

/// Reads an intent from a field. A denied field yields none: as an intent it would escape its
/// redaction.
pub fn harvest(arguments: &Map<String, Value>, field: &str, redactor: &Redactor) -> Option<String> {
    if redactor.denies(field) {
        return None;
    }
    arguments.get(field)?.as_str().map(str::to_owned).and_then(non_blank)
}
