//! What the registry is about.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// What else is known about a skill.
pub type Metadata = Map<String, Value>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Agent {
    pub id: i64,
    pub name: String,
    pub created_at: Timestamp,
    #[serde(skip)]
    pub revision: Revision,
}

/// A skill that an agent has.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Capability {
    pub id: i64,
    pub skill_name: String,
    pub version: String,
    pub active: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    pub registered_at: Timestamp,
    pub updated_at: Timestamp,
}

/// Counts the changes to one agent and its capabilities: whoever saw a revision can ask that a
/// change be made to that one and no later one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revision(pub i64);

/// Milliseconds since 1970, in UTC. Programs see it as RFC 3339, to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let date = OffsetDateTime::from_unix_timestamp(self.0.div_euclid(1000));
        let text = date.ok().and_then(|date| date.format(&Rfc3339).ok());
        f.write_str(text.as_deref().unwrap_or("1970-01-01T00:00:00Z"))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_as_in_the_contract() {
        assert_eq!(Timestamp(1_766_829_600_123).to_string(), "2025-12-27T10:00:00Z");
        assert_eq!(Timestamp(-1).to_string(), "1969-12-31T23:59:59Z");
        assert_eq!(Timestamp(i64::MAX).to_string(), "1970-01-01T00:00:00Z");
    }
}
