//! Generators turn a pattern of a content config into text. They are built in, or plugins.

mod code;
mod demonstration;
mod fill;
mod gherkin;
mod jinja;
mod metadata;
mod plugin;
mod registry;
mod select;

use std::collections::BTreeSet;

pub use code::{Model, ModelError};
pub use metadata::{
    Confidence, Indicators, Latency, Metadata, Requirements, Source, Stability, Status,
    UpstreamDependencies,
};
pub use plugin::{Engine, Plugin};
pub use registry::{Absent, Counts, Credentials, Diagnostic, Listing, NoCredentials, Strategy};
pub use select::Selection;

pub(crate) use fill::fill_value;
pub(crate) use registry::Generators;
pub(crate) use select::select;

use crate::Files;
use crate::config::{Element, Pattern};
use crate::error::{Error, Result};
use crate::model::Context;
use crate::template::Sandbox;

/// One pattern to generate from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job<'a> {
    /// Id of the content, for errors.
    pub(crate) id: &'a str,
    pub(crate) pattern: &'a Pattern,
    /// The pattern's template, inline or read from `template_file`.
    pub(crate) template: Option<&'a str>,
    pub(crate) elements: &'a [Element],
    pub(crate) context: &'a Context,
    pub(crate) sandbox: Sandbox<'a>,
}

/// A generated text that is not stored yet.
#[derive(Debug, Default)]
pub(crate) struct Generated {
    pub(crate) text: String,
    /// Names of the context that templates read.
    pub(crate) mentioned: BTreeSet<String>,
    /// Files that were included.
    pub(crate) files: Files,
}

pub(crate) trait Generator: Send + Sync {
    fn metadata(&self) -> Metadata;

    /// Changes when the same job would produce another text.
    fn fingerprint(&self) -> String {
        let metadata = self.metadata();
        format!("{}@{}", metadata.generator_type, metadata.version)
    }

    fn generate(&self, job: &Job<'_>) -> Result<Generated>;
}

impl Job<'_> {
    pub(crate) fn template(&self) -> Result<&str> {
        self.template.ok_or_else(|| {
            let field = format!("generation.patterns[{}]", self.pattern.id);
            Error::invalid(field, "has neither a template nor a template_file")
        })
    }

    pub(crate) fn fails(&self, problem: impl Into<String>) -> Error {
        Error::Template { id: self.id.to_owned(), line: None, problem: problem.into() }
    }

    pub(crate) fn check_output(&self, text: &str) -> Result<()> {
        check_output(text, self.sandbox.limits.template_output_bytes)
    }
}

fn check_output(text: &str, limit: usize) -> Result<()> {
    if text.len() > limit {
        return Err(Error::Exhausted { name: "template_output_bytes" });
    }
    Ok(())
}
