//! Artifact configs: output files, and the children they are assembled from.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::SchemaRef;
use crate::model::yes;
use crate::validate::Rule;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactConfig {
    /// Always `artifact`
    #[serde(rename = "type")]
    pub config_type: IsArtifact,
    /// Lower-case letters, digits and `-`, beginning with a letter
    #[schemars(regex(pattern = r"^[a-z][a-z0-9-]*$"))]
    pub id: String,
    #[serde(rename = "schemaRef")]
    pub schema_ref: SchemaRef,
    pub metadata: ArtifactMetadata,
    pub content: ArtifactContent,
    /// What each output must fulfil
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IsArtifact {
    #[default]
    Artifact,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactMetadata {
    #[schemars(length(min = 1))]
    pub title: String,
    pub purpose: String,
    /// The files that are written
    #[schemars(length(min = 1))]
    pub outputs: Vec<Output>,
    #[serde(rename = "compositionStrategy", default)]
    pub composition_strategy: CompositionStrategy,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// A path in the workspace
    #[schemars(length(min = 1))]
    pub file: String,
    /// Such as `markdown`, `json`, `yaml`, `text`
    pub format: String,
}

/// How children become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CompositionStrategy {
    /// One after the other, with an empty line between
    #[default]
    Concat,
    /// Into each other: JSON and YAML key by key, Markdown heading by heading
    Merge,
    /// `content.template` (jinja2) with `children` by id
    Template,
    /// As `content.custom` lists them
    Custom,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArtifactContent {
    #[schemars(length(min = 1))]
    pub children: Vec<Child>,
    /// With the strategy `template`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// With the strategy `custom`: ids of children, and texts between
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub custom: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Child {
    /// The content config it is generated from, or any id if it has a `path`
    #[schemars(regex(pattern = r"^[a-z][a-z0-9-]*$"))]
    pub id: String,
    /// A file in the workspace that is taken as it is
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default = "yes")]
    pub required: bool,
    /// Lower comes first; those with the same stay in order
    #[serde(default)]
    pub order: i64,
    #[serde(rename = "retrievalStrategy", default)]
    pub retrieval_strategy: Retrieval,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Piece {
    /// A child's id
    Child(String),
    Text(TextPiece),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextPiece {
    pub text: String,
}

/// Which versions of a content: `latest`, `all`, `version:X` or `timestamp:PREFIX`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Retrieval {
    /// The newest
    #[default]
    Latest,
    All,
    Version(String),
    /// Those generated at this time: a prefix, such as `timestamp:2026-05-01`
    Timestamp(String),
}

impl Retrieval {
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "latest" => Self::Latest,
            "all" => Self::All,
            _ => match text.split_once(':')? {
                ("version", version) if !version.is_empty() => Self::Version(version.to_owned()),
                ("timestamp", start) if !start.is_empty() => Self::Timestamp(start.to_owned()),
                _ => return None,
            },
        })
    }
}

impl std::fmt::Display for Retrieval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::All => f.write_str("all"),
            Self::Version(version) => write!(f, "version:{version}"),
            Self::Timestamp(start) => write!(f, "timestamp:{start}"),
        }
    }
}

impl Serialize for Retrieval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Retrieval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            let expected = "latest, all, version:X or timestamp:PREFIX";
            serde::de::Error::custom(format!("`{text}` is none of {expected}"))
        })
    }
}

impl JsonSchema for Retrieval {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Retrieval".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^(latest|all|version:[0-9A-Za-z-]{1,100}|timestamp:.+)$",
            "description": "latest, all, version:X or timestamp:PREFIX",
        })
    }
}
