//! `capabilities://resources`: what can be read, and the patterns of its URIs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Metadata;
use crate::resource::ResourceFamily;
use crate::state::AppState;

#[derive(Debug, Serialize)]
pub(super) struct Resources {
    resources: BTreeMap<&'static str, Family>,
    metadata: Metadata,
}

#[derive(Debug, Serialize)]
struct Family {
    patterns: Vec<&'static str>,
    mime_type: &'static str,
    description: &'static str,
    parameters: BTreeMap<&'static str, Parameter>,
    /// URIs that can be read at this moment.
    examples: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Parameter {
    #[serde(rename = "type")]
    kind: &'static str,
    description: &'static str,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    values: Option<&'static [&'static str]>,
}

pub(super) fn of(state: &AppState) -> Resources {
    let families = state.inventory.resources.iter();
    let resources: BTreeMap<_, _> =
        families.map(|one| (one.family().scheme, describe(state, one.as_ref()))).collect();
    let patterns = resources.values().map(|family| family.patterns.len()).sum();
    Resources { resources, metadata: Metadata::counting(patterns) }
}

fn describe(state: &AppState, of: &dyn ResourceFamily) -> Family {
    let crate::resource::Family { templates, parameters, description, .. } = of.family();
    let parameters = parameters.iter().map(|parameter| {
        let crate::resource::Parameter { name, description, values } = *parameter;
        // Every part of a URI is text.
        (name, Parameter { kind: "string", description, values })
    });
    Family {
        patterns: templates.iter().map(|template| template.uri).collect(),
        mime_type: templates.first().map_or("text/plain", |template| template.mime_type),
        description,
        parameters: parameters.collect(),
        examples: of.examples(&state.services),
    }
}
