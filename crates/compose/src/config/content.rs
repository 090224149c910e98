//! Content configs: how one text is generated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SchemaRef;
use crate::model::yes;
use crate::validate::Rule;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContentConfig {
    /// Always `content`
    #[serde(rename = "type")]
    pub config_type: IsContent,
    /// Lower-case letters, digits and `-`, beginning with a letter
    #[schemars(regex(pattern = r"^[a-z][a-z0-9-]*$"))]
    pub id: String,
    #[serde(rename = "schemaRef")]
    pub schema_ref: SchemaRef,
    pub metadata: ContentMetadata,
    /// What the content consists of
    #[schemars(length(min = 1))]
    pub elements: Vec<Element>,
    pub generation: Generation,
    /// Data that is read before generating
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    /// What the content must fulfil
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation: Option<Validation>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evolution: Option<Evolution>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IsContent {
    #[default]
    Content,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContentMetadata {
    #[schemars(length(min = 1))]
    pub description: String,
    pub version: String,
    #[serde(default)]
    pub generation_frequency: Frequency,
    /// Such as `markdown`, `json`, `yaml`, `gherkin`, `text`
    pub output_format: String,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Frequency {
    #[default]
    Manual,
    OnDemand,
    Scheduled,
    Continuous,
}

/// One part of the content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Element {
    #[schemars(length(min = 1))]
    pub name: String,
    /// Such as `markdown`
    #[serde(default = "text")]
    pub format: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it looks like; the generator `demonstration` writes it out
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example_output: Option<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

fn text() -> String {
    "text".to_owned()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// Each writes a part, one after the other
    #[schemars(length(min = 1))]
    pub patterns: Vec<Pattern>,
}

/// How one part is made.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    #[schemars(length(min = 1))]
    pub id: String,
    /// The generator; without it, the template decides
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// A file in the workspace with the template
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_file: Option<String>,
    /// What to write, for the generator `code_generation`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specification: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<Variable>,
    /// What the generator can be told besides
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub generation_config: Map<String, Value>,
}

/// A value that the context of a generation has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    #[schemars(length(min = 1))]
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Without a value nothing is generated
    #[serde(default)]
    pub required: bool,
    /// The value if none is given; `null` is one, too
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    #[serde(default)]
    pub sources: Vec<SourceInput>,
}

/// Data that is read before generating, and stands in the context under its id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceInput {
    #[schemars(length(min = 1))]
    pub id: String,
    /// `knowledge`, `catalog`, `clients`, `gaps`, `registry` or `file`
    pub source: String,
    /// What is asked of it. `{{name}}` in a text is replaced from the context
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Map<String, Value>,
    /// If false, a source that fails is `none` in the context
    #[serde(default = "yes")]
    pub required: bool,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Validation {
    #[serde(default)]
    pub rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Evolution {
    #[serde(default)]
    pub stage: Stage,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    #[default]
    Draft,
    Review,
    Approved,
    Deprecated,
}
