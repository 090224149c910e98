//! Content configs, which describe how one text is generated, and artifact configs, which describe
//! the files that are assembled from them.

mod artifact;
mod content;
mod schema;
mod store;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use artifact::{
    ArtifactConfig, ArtifactContent, ArtifactMetadata, Child, CompositionStrategy, Output, Piece,
    Retrieval,
};
pub use content::{
    ContentConfig, ContentMetadata, Element, Evolution, Frequency, Generation, Inputs, Pattern,
    SourceInput, Stage, Validation, Variable,
};
pub use schema::{SCHEMAS, schema};
pub(crate) use schema::{artifact_of, content_of, parsed, patched};
pub(crate) use store::Configs;
pub use store::{Config, Loaded, Origin};

/// The two kinds of configs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ConfigType {
    Content,
    Artifact,
}

impl ConfigType {
    pub const ALL: [Self; 2] = [Self::Content, Self::Artifact];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Artifact => "artifact",
        }
    }
}

impl fmt::Display for ConfigType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is wrong with a config, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Issue {
    /// The place in the config, such as `$.elements[0].name`
    pub path: String,
    pub message: String,
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// Which schema a config was written for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchemaRef {
    pub id: String,
    pub version: String,
}
