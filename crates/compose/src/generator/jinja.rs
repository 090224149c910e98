//! `jinja2`: the full template language, in the sandbox.

use super::metadata::{Indicators, Metadata, Requirements, owned};
use super::{Generator, Job, Made};
use crate::error::Error;

pub(super) const TYPE: &str = "jinja2";

#[derive(Debug)]
pub(super) struct Jinja2;

impl Generator for Jinja2 {
    fn metadata(&self) -> Metadata {
        let description = "The Jinja template language: conditions, loops, filters, macros, \
                           includes from the workspace";
        Metadata {
            capabilities: owned(&[
                "templates",
                "conditionals",
                "loops",
                "filters",
                "macros",
                "includes",
                "inheritance",
            ]),
            indicators: Indicators {
                template_patterns: owned(&["{%", "{#"]),
                ..Metadata::builtin(TYPE, "", "").indicators
            },
            requirements: Requirements {
                fields: owned(&["generation.patterns[0].template"]),
                ..Requirements::default()
            },
            best_for: owned(&[
                "documents with lists, tables and conditions",
                "files made from knowledge, catalog and gaps",
            ]),
            ..Metadata::builtin(TYPE, "Jinja2", description)
        }
    }

    fn generate(&self, job: &Job<'_>) -> Result<Made, Error> {
        let rendered = job.sandbox.render(job.id, job.template()?, job.context)?;
        Ok(Made { text: rendered.text, mentioned: rendered.mentioned, files: rendered.files })
    }
}
