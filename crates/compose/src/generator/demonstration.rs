//! `demonstration`: fills a template from the example outputs of the config's elements.

use super::fill::{Undefined, fill};
use super::metadata::{Confidence, Indicators, Metadata, Requirements, list};
use super::{Generated, Generator, Job};
use crate::error::Result;

pub(super) const TYPE: &str = "demonstration";

#[derive(Debug)]
pub(super) struct Demonstration;

impl Generator for Demonstration {
    fn metadata(&self) -> Metadata {
        let description = "Fills {{name}} from the example_output of the element of that name; \
                           without a template, writes the examples one after the other";
        Metadata {
            capabilities: list("examples; elements"),
            indicators: Indicators {
                config_field: Some("elements[].example_output".to_owned()),
                confidence: Confidence::Medium,
                ..Indicators::default()
            },
            requirements: Requirements::field("elements[].example_output"),
            best_for: list("showing what a content will look like; fixed texts in parts"),
            ..Metadata::builtin(TYPE, "Demonstration", description)
        }
    }

    fn generate(&self, job: &Job<'_>) -> Result<Generated> {
        let Some(template) = job.template.filter(|template| !template.is_empty()) else {
            return all_examples(job);
        };
        let example = |name: &str| {
            let element = job.elements.iter().find(|element| element.name == name);
            element.and_then(|element| element.example_output.clone())
        };
        let mut generated = fill(job, template, Undefined::of(job)?, example)?;
        // The names are those of elements, not of the context.
        generated.mentioned.clear();
        Ok(generated)
    }
}

fn all_examples(job: &Job<'_>) -> Result<Generated> {
    let examples: Vec<&str> =
        job.elements.iter().filter_map(|element| element.example_output.as_deref()).collect();
    if examples.is_empty() {
        return Err(job.fails("no element has an example_output"));
    }
    Ok(Generated { text: examples.join("\n\n"), ..Generated::default() })
}
