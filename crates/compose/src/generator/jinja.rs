//! `jinja2`: the full template language, in the sandbox.

use super::metadata::{Indicators, Metadata, Requirements, list};
use super::{Generated, Generator, Job};
use crate::error::Result;

pub(super) const TYPE: &str = "jinja2";

#[derive(Debug)]
pub(super) struct Jinja2;

impl Generator for Jinja2 {
    fn metadata(&self) -> Metadata {
        let description = "The Jinja template language: conditions, loops, filters, macros, \
                           includes from the workspace";
        let capabilities = "templates; conditionals; loops; filters; macros; includes; inheritance";
        let best_for = "documents with lists, tables and conditions; \
                        files made from knowledge, catalog and gaps";
        Metadata {
            capabilities: list(capabilities),
            indicators: Indicators { template_patterns: list("{%; {#"), ..Indicators::typed(TYPE) },
            requirements: Requirements::field("generation.patterns[0].template"),
            best_for: list(best_for),
            ..Metadata::builtin(TYPE, "Jinja2", description)
        }
    }

    fn generate(&self, job: &Job<'_>) -> Result<Generated> {
        job.sandbox.render(job.id, job.template()?, job.context)
    }
}
