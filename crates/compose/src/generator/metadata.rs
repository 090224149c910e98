//! What a generator publishes about itself, so that callers can choose one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Metadata {
    #[serde(rename = "type")]
    pub generator_type: String,
    pub name: String,
    pub description: String,
    pub version: String,
    pub source: Source,
    /// The file a plugin was read from
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin_path: Option<String>,
    pub status: Status,
    pub capabilities: Vec<String>,
    pub indicators: Indicators,
    pub requirements: Requirements,
    pub best_for: Vec<String>,
    pub docs_uri: String,
    /// What it needs of others; null if nothing
    // Strict clients reject a union with null.
    #[schemars(with = "serde_json::Value")]
    pub upstream_dependencies: Option<UpstreamDependencies>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    Builtin,
    Plugin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    #[default]
    Stable,
    Experimental,
    Deprecated,
}

/// How to tell that a config is for it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Indicators {
    /// The field to look at
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_field: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub config_values: Vec<String>,
    /// What its templates have in them
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub template_patterns: Vec<String>,
    pub confidence: Confidence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    #[default]
    High,
    Medium,
    Low,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Requirements {
    /// Fields a config must have
    pub fields: Vec<String>,
    /// Programs and packages; ours are part of the binary
    pub dependencies: Vec<String>,
    pub env_vars: Vec<String>,
}

/// What a generator needs of services elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UpstreamDependencies {
    pub services: Vec<String>,
    pub credentials_required: Vec<String>,
    pub optional_services: Vec<String>,
    pub expected_latency_ms: Latency,
    pub stability: Stability,
    /// Whether several may run at once
    pub concurrency_safe: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Latency {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95: Option<u64>,
}

impl Latency {
    /// Of a language model that has not been asked yet.
    pub const MODEL: Self = Self { p50: Some(1_500), p95: Some(5_000) };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stability {
    Stable,
    Beta,
    Experimental,
}

impl Metadata {
    /// A built-in generator without requirements.
    pub(super) fn builtin(generator_type: &str, name: &str, description: &str) -> Self {
        Self {
            generator_type: generator_type.to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            source: Source::Builtin,
            plugin_path: None,
            status: Status::Stable,
            capabilities: Vec::new(),
            indicators: Indicators::typed(generator_type),
            requirements: Requirements::default(),
            best_for: Vec::new(),
            docs_uri: format!("generator://{generator_type}"),
            upstream_dependencies: None,
        }
    }
}

impl Indicators {
    pub(super) fn typed(generator_type: &str) -> Self {
        Self {
            config_field: Some("generation.patterns[0].type".to_owned()),
            config_values: vec![generator_type.to_owned()],
            ..Self::default()
        }
    }
}

impl Requirements {
    pub(super) fn field(name: &str) -> Self {
        Self { fields: vec![name.to_owned()], ..Self::default() }
    }
}

/// The parts of a text that are separated by `; `.
pub(super) fn list(parts: &str) -> Vec<String> {
    parts.split("; ").map(str::to_owned).collect()
}
