//! `capabilities://resources`: what can be read, and how URIs are made.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Metadata;
use crate::house::House;
use crate::resource::ResourceFamily;

#[derive(Debug, Serialize)]
pub(super) struct Resources {
    resources: BTreeMap<&'static str, Family>,
    metadata: Metadata,
}

#[derive(Debug, Serialize)]
struct Family {
    patterns: Vec<String>,
    mime_type: String,
    description: &'static str,
    parameters: BTreeMap<&'static str, Parameter>,
    /// Such as can be read at this moment.
    examples: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Parameter {
    #[serde(rename = "type")]
    kind: &'static str,
    description: &'static str,
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none")]
    values: Option<Vec<&'static str>>,
}

pub(super) fn of(house: &House) -> Resources {
    let families = house.inventory.resources.iter();
    let resources: BTreeMap<_, _> =
        families.map(|family| (family.scheme(), describe(house, family.as_ref()))).collect();
    let patterns = resources.values().map(|family| family.patterns.len()).sum();
    Resources { resources, metadata: Metadata::counting(patterns) }
}

fn describe(house: &House, family: &dyn ResourceFamily) -> Family {
    let templates = family.templates();
    let mime_type = templates.iter().find_map(|template| template.mime_type.clone());
    let parameters = family.parameters().into_iter().map(|parameter| {
        let crate::resource::Parameter { name, description, values } = parameter;
        // Whatever stands in a URI is text.
        (name, Parameter { kind: "string", description, values })
    });
    Family {
        patterns: templates.into_iter().map(|template| template.uri_template).collect(),
        mime_type: mime_type.unwrap_or_else(|| "text/plain".to_owned()),
        description: family.description(),
        parameters: parameters.collect(),
        examples: family.examples(&house.rooms),
    }
}
