//! Agents, capabilities and times.

use std::borrow::Cow;

use chrono::{DateTime, SecondsFormat, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// Additional information about a skill.
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

/// Counts the changes to one agent and its capabilities. A caller that read a revision can ask that
/// a change apply only to that revision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revision(pub i64);

/// Milliseconds since 1970, in UTC. Serialised as RFC 3339, to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    pub fn now() -> Self {
        Self(Utc::now().timestamp_millis())
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let date = DateTime::from_timestamp_millis(self.0).unwrap_or_default();
        f.write_str(&date.to_rfc3339_opts(SecondsFormat::Secs, true))
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
    fn formats_times_as_in_the_contract() {
        assert_eq!(Timestamp(1_766_829_600_123).to_string(), "2025-12-27T10:00:00Z");
        assert_eq!(Timestamp(-1).to_string(), "1969-12-31T23:59:59Z");
        assert_eq!(Timestamp(i64::MAX).to_string(), "1970-01-01T00:00:00Z");
    }
}
