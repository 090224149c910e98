//! What writes text: built in, or a plugin.

mod code;
mod demonstration;
mod fill;
mod gherkin;
mod jinja;
mod metadata;
mod plugin;
mod registry;
mod select;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

pub use code::{Model, ModelError};
pub use metadata::{
    Confidence, Indicators, Latency, Metadata, Requirements, Source, Stability, Status,
    UpstreamDependencies,
};
pub use plugin::{Engine, Plugin};
pub use registry::{Absent, Counts, Credentials, Diagnostic, Listing, NoCredentials, Strategy};
pub use select::Selection;
pub(crate) use select::select;

pub(crate) use fill::{fill, fill_value};
pub(crate) use registry::Generators;

use crate::config::{Element, Pattern};
use crate::error::Error;
use crate::template::Sandbox;

/// One part that is to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job<'a> {
    /// Whose content it is, for messages.
    pub(crate) id: &'a str,
    pub(crate) pattern: &'a Pattern,
    /// The pattern's template, wherever it came from.
    pub(crate) template: Option<&'a str>,
    pub(crate) elements: &'a [Element],
    pub(crate) context: &'a Map<String, Value>,
    pub(crate) sandbox: Sandbox<'a>,
}

#[derive(Debug, Default)]
pub(crate) struct Made {
    pub(crate) text: String,
    /// Names of the context that had a part in it.
    pub(crate) mentioned: BTreeSet<String>,
    /// Files that had a part in it, with the hash of each.
    pub(crate) files: BTreeMap<String, String>,
}

pub(crate) trait Generator: Send + Sync {
    fn metadata(&self) -> Metadata;

    /// Changes when the same job would be done differently.
    fn fingerprint(&self) -> String {
        let metadata = self.metadata();
        format!("{}@{}", metadata.generator_type, metadata.version)
    }

    fn generate(&self, job: &Job<'_>) -> Result<Made, Error>;
}

impl Job<'_> {
    pub(crate) fn template(&self) -> Result<&str, Error> {
        self.template.ok_or_else(|| {
            let place = format!("generation.patterns[{}]", self.pattern.id);
            Error::invalid(place, "has neither a template nor a template_file")
        })
    }

    pub(crate) fn fault(&self, problem: impl Into<String>) -> Error {
        Error::Template { id: self.id.to_owned(), line: None, problem: problem.into() }
    }
}
