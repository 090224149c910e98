//! Selects the generator of a pattern. Every pattern selects exactly one.

use schemars::JsonSchema;
use serde::Serialize;

use super::metadata::Confidence;
use super::{demonstration, fill, jinja};
use crate::config::{Element, Pattern};

pub(super) const FALLBACK: &str = jinja::TYPE;
pub(super) const EXPLANATION: &str = "The type of the pattern, if it has one. Else by its \
    template: with `{%` or `{#` in it, jinja2; with `{{` and nothing but dotted names in them, \
    template_fill; with any other `{{`, jinja2. Else, if an element has an example_output, \
    demonstration. Else jinja2.";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Selection {
    #[serde(rename = "type")]
    pub generator_type: String,
    pub confidence: Confidence,
    /// Why this one
    pub reason: String,
}

/// `template` is the pattern's, inline or read from its file.
pub(crate) fn select(pattern: &Pattern, template: Option<&str>, elements: &[Element]) -> Selection {
    let selection = |generator_type: &str, confidence, reason: &str| Selection {
        generator_type: generator_type.to_owned(),
        confidence,
        reason: reason.to_owned(),
    };
    if let Some(named) = &pattern.generator {
        return selection(named, Confidence::High, "the pattern names it");
    }
    let template = template.unwrap_or_default();
    if template.contains("{%") || template.contains("{#") {
        return selection(jinja::TYPE, Confidence::High, "the template has statements or comments");
    }
    if template.contains("{{") {
        return if fill::has_only_dotted_names(template) {
            selection(fill::TYPE, Confidence::High, "the template has plain names only")
        } else {
            selection(jinja::TYPE, Confidence::High, "the template has expressions")
        };
    }
    if elements.iter().any(|element| element.example_output.is_some()) {
        return selection(demonstration::TYPE, Confidence::Medium, "elements have examples");
    }
    selection(FALLBACK, Confidence::Low, "nothing points to another one")
}
