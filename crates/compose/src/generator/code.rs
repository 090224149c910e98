//! `code_generation`: a model writes what a specification says.

use std::sync::Arc;

use serde_json::Value;

use super::fill::{Undefined, fill, lookup};
use super::metadata::{Latency, Metadata, Requirements, Stability, UpstreamDependencies, owned};
use super::{Generator, Job, Made};
use crate::error::Error;

pub(super) const TYPE: &str = "code_generation";

/// Whoever can continue a text. It is given from outside; nothing here knows a network.
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
        services: owned(&["anthropic"]),
        credentials_required: owned(&["ANTHROPIC_API_KEY"]),
        optional_services: Vec::new(),
        expected_latency_ms: Latency { p50: Some(1_500), p95: Some(5_000) },
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
            capabilities: owned(&["code", "model"]),
            requirements: Requirements {
                fields: owned(&["generation.patterns[0].specification"]),
                dependencies: Vec::new(),
                env_vars: upstream.credentials_required.clone(),
            },
            best_for: owned(&["code and texts that no template can have"]),
            upstream_dependencies: Some(upstream),
            ..Metadata::builtin(TYPE, "CodeGeneration", description)
        }
    }

    fn generate(&self, job: &Job<'_>) -> Result<Made, Error> {
        let Some(model) = &self.model else {
            return Err(Error::Unavailable {
                generator: TYPE.to_owned(),
                reason: "no model is set up".to_owned(),
                missing: Vec::new(),
            });
        };
        let Some(specification) = &job.pattern.specification else {
            let place = format!("generation.patterns[{}].specification", job.pattern.id);
            return Err(Error::invalid(place, "is missing"));
        };
        let limit = job.sandbox.limits.template_output_bytes;
        let text = |path: &str| {
            lookup(job.context, path).map(|value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            })
        };
        let filled = fill(specification, Undefined::Error, limit, text)
            .map_err(|fault| fault.into_error(job.id))?;
        let answer = model.complete(&prompt(job, &filled.text));
        let answer = answer.map_err(|error| Error::Model { problem: error.to_string() })?;
        if answer.len() > limit {
            return Err(Error::Exhausted { name: "template_output_bytes" });
        }
        Ok(Made { text: unfenced(&answer).to_owned(), ..filled })
    }
}

fn prompt(job: &Job<'_>, specification: &str) -> String {
    let language = job.pattern.generation_config.get("language").and_then(Value::as_str);
    let mut prompt = "Write exactly what is specified below, and nothing besides.\n".to_owned();
    if let Some(language) = language {
        prompt.push_str(&format!("Language: {language}\n"));
    }
    let parts = job.elements.iter().filter(|element| element.description.is_some());
    for element in parts {
        let description = element.description.as_deref().unwrap_or_default();
        prompt.push_str(&format!("It contains {}: {description}\n", element.name));
    }
    prompt.push_str("\n# Specification\n\n");
    prompt.push_str(specification);
    prompt
}

/// An answer that is one fenced block is its inside: models fence code although asked not to.
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
