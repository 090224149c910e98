//! `demonstration`: what a content looks like, from the examples of its elements.

use super::fill::Undefined;
use super::metadata::{Confidence, Indicators, Metadata, Requirements, owned};
use super::{Generator, Job, Made, fill};
use crate::error::Error;

pub(super) const TYPE: &str = "demonstration";

#[derive(Debug)]
pub(super) struct Demonstration;

impl Generator for Demonstration {
    fn metadata(&self) -> Metadata {
        let description = "Fills {{name}} from the example_output of the element of that name; \
                           without a template, writes the examples one after the other";
        Metadata {
            capabilities: owned(&["examples", "elements"]),
            indicators: Indicators {
                config_field: Some("elements[].example_output".to_owned()),
                config_values: Vec::new(),
                template_patterns: Vec::new(),
                confidence: Confidence::Medium,
            },
            requirements: Requirements {
                fields: owned(&["elements[].example_output"]),
                ..Requirements::default()
            },
            best_for: owned(&["showing what a content will look like", "fixed texts in parts"]),
            ..Metadata::builtin(TYPE, "Demonstration", description)
        }
    }

    fn generate(&self, job: &Job<'_>) -> Result<Made, Error> {
        let example = |name: &str| {
            let element = job.elements.iter().find(|element| element.name == name);
            element.and_then(|element| element.example_output.clone())
        };
        let Some(template) = job.template.filter(|template| !template.is_empty()) else {
            return all(job);
        };
        let limit = job.sandbox.limits.template_output_bytes;
        let mut made = fill(template, Undefined::of(job)?, limit, example)
            .map_err(|fault| fault.into_error(job.id))?;
        // Elements are filled in, not the context.
        made.mentioned.clear();
        Ok(made)
    }
}

fn all(job: &Job<'_>) -> Result<Made, Error> {
    let examples: Vec<&str> =
        job.elements.iter().filter_map(|element| element.example_output.as_deref()).collect();
    if examples.is_empty() {
        return Err(job.fault("no element has an example_output"));
    }
    Ok(Made { text: examples.join("\n\n"), ..Made::default() })
}
