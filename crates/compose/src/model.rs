//! Timestamps, excerpts, token counts and hashes, shared by requests and responses.

use std::borrow::Cow;

use chrono::{DateTime, NaiveDateTime, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Values for the variables of a config.
pub type Context = Map<String, Value>;

/// Characters of a text that a response repeats.
const MAX_SHOWN: usize = 20_000;

/// Milliseconds since 1970 in UTC. Serialised as RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

const DAY: i64 = 24 * 60 * 60 * 1_000;
const FORMAT: &str = "%Y-%m-%dT%H:%M:%S%.3fZ";
const FILE_NAME_FORMAT: &str = "%Y-%m-%dT%H-%M-%S-%3fZ";

impl Timestamp {
    pub fn now() -> Self {
        Self(Utc::now().timestamp_millis())
    }

    #[must_use]
    pub fn days_before(self, days: u32) -> Self {
        Self(self.0.saturating_sub(i64::from(days) * DAY))
    }

    fn date(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or_default()
    }

    /// As part of a file name, where `:` is not portable: `2026-05-01T09-30-00-123Z`.
    pub(crate) fn file_name(self) -> String {
        self.date().format(FILE_NAME_FORMAT).to_string()
    }

    /// Reads both forms.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let date = [FORMAT, FILE_NAME_FORMAT]
            .into_iter()
            .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())?;
        Some(Self(date.and_utc().timestamp_millis()))
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.date().format(FORMAT))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not a time"))
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

/// A text, or as much of it as an answer repeats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Shown {
    pub content: String,
    /// The rest is at `content://{id}`
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl Shown {
    pub fn of(text: &str) -> Self {
        match text.char_indices().nth(MAX_SHOWN) {
            Some((end, _)) => Self { content: text[..end].to_owned(), truncated: true },
            None => Self { content: text.to_owned(), truncated: false },
        }
    }
}

pub(crate) fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

pub(crate) fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_round_trip_in_both_forms() {
        let time = Timestamp(1_766_829_600_123);
        assert_eq!(time.to_string(), "2025-12-27T10:00:00.123Z");
        assert_eq!(time.file_name(), "2025-12-27T10-00-00-123Z");
        assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
        assert_eq!(Timestamp::parse(&time.file_name()), Some(time));
        assert_eq!(Timestamp::parse("yesterday"), None);
        assert_eq!(Timestamp::parse("2025-13-27T10:00:00.123Z"), None);
    }
}
