//! `code_generation`: a language model writes text from a specification.

use std::sync::Arc;

use serde_json::Value;

use super::fill::{Undefined, fill_from_context};
use super::metadata::{Latency, Metadata, Requirements, Stability, UpstreamDependencies, list};
use super::{Generated, Generator, Job};
use crate::error::{Error, Result};

pub(super) const TYPE: &str = "code_generation";

/// A language model. The caller provides it, so that this crate needs no network.
pub trait Model: Send + Sync {
    fn complete(&self, prompt: &str) -> Result<String, ModelError>;

    /// What it needs to work.
    fn upstream(&self) -> UpstreamDependencies {
        default_upstream()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ModelError(pub String);

pub(super) fn default_upstream() -> UpstreamDependencies {
    UpstreamDependencies {
        services: list("anthropic"),
        credentials_required: list("ANTHROPIC_API_KEY"),
        optional_services: Vec::new(),
        expected_latency_ms: Latency::MODEL,
        stability: Stability::Stable,
        concurrency_safe: true,
    }
}

pub(super) struct CodeGeneration {
    pub(super) model: Option<Arc<dyn Model>>,
}

impl Generator for CodeGeneration {
    fn metadata(&self) -> Metadata {
        let description = "A model writes what the pattern's specification says; \
                           {{name}} in it is replaced from the context";
        let upstream = self.model.as_ref().map_or_else(default_upstream, |model| model.upstream());
        Metadata {
            capabilities: list("code; model"),
            requirements: Requirements {
                env_vars: upstream.credentials_required.clone(),
                ..Requirements::field("generation.patterns[0].specification")
            },
            best_for: list("code and texts that no template can have"),
            upstream_dependencies: Some(upstream),
            ..Metadata::builtin(TYPE, "CodeGeneration", description)
        }
    }

    fn generate(&self, job: &Job<'_>) -> Result<Generated> {
        let Some(model) = &self.model else {
            return Err(Error::Unavailable {
                generator: TYPE.to_owned(),
                reason: "no model is set up".to_owned(),
                missing: Vec::new(),
            });
        };
        let Some(specification) = &job.pattern.specification else {
            let field = format!("generation.patterns[{}].specification", job.pattern.id);
            return Err(Error::invalid(field, "is missing"));
        };
        let filled = fill_from_context(job, specification, Undefined::Error)?;
        let answer = model.complete(&prompt(job, &filled.text));
        let answer = answer.map_err(|error| Error::Model { problem: error.to_string() })?;
        job.check_output(&answer)?;
        Ok(Generated { text: unfenced(&answer).to_owned(), ..filled })
    }
}

fn prompt(job: &Job<'_>, specification: &str) -> String {
    let language = job.pattern.generation_config.get("language").and_then(Value::as_str);
    let mut prompt = "Write exactly what is specified below, and nothing besides.\n".to_owned();
    if let Some(language) = language {
        prompt.push_str(&format!("Language: {language}\n"));
    }
    for element in job.elements {
        if let Some(description) = &element.description {
            prompt.push_str(&format!("It contains {}: {description}\n", element.name));
        }
    }
    prompt.push_str("\n# Specification\n\n");
    prompt.push_str(specification);
    prompt
}

/// Strips the fence if the whole answer is one fenced block: models add it although told not to.
fn unfenced(answer: &str) -> &str {
    let trimmed = answer.trim();
    let inside = trimmed
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
        .and_then(|rest| rest.split_once('\n'))
        .map(|(_, inside)| inside);
    match inside {
        Some(inside) if !inside.contains("```") => inside,
        _ => answer,
    }
}
