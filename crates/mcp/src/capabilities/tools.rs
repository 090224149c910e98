//! `capabilities://tools`: what can be called, and what comes of it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use rmcp::model::JsonObject;
use serde::Serialize;
use serde_json::Value;

use super::Metadata;
use crate::house::House;
use crate::server::VERSION;
use crate::tool::{CommonError, Tool};

const NOT_MEASURED: &str = "not yet measured";

#[derive(Debug, Serialize)]
pub(super) struct Tools<'a> {
    tools_by_category: BTreeMap<&'static str, Vec<Described<'a>>>,
    metadata: Metadata,
}

static TEXT: LazyLock<JsonObject> = LazyLock::new(JsonObject::new);

#[derive(Debug, Serialize)]
struct Described<'a> {
    name: &'static str,
    category: &'static str,
    description: &'static str,
    version: &'static str,
    input_schema: &'a JsonObject,
    /// Empty, which fits anything, for a tool that answers with text alone.
    output_schema: &'a JsonObject,
    examples: Vec<Example<'a>>,
    common_errors: Vec<&'a CommonError>,
    performance: Performance,
}

#[derive(Debug, Serialize)]
struct Example<'a> {
    description: &'static str,
    input: &'a Value,
}

#[derive(Debug, Serialize)]
struct Performance {
    typical_ms: String,
    timeout_ms: String,
}

pub(super) fn of(house: &House) -> Tools<'_> {
    let mut tools_by_category: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for tool in &house.inventory.tools {
        tools_by_category.entry(tool.category()).or_default().push(describe(house, tool));
    }
    Tools { tools_by_category, metadata: Metadata::counting(house.inventory.tools.len()) }
}

fn describe<'a>(house: &House, tool: &'a Tool) -> Described<'a> {
    let typical = house.meter.typical(tool.name);
    let examples = tool
        .examples
        .iter()
        .map(|example| Example { description: example.description, input: &example.arguments });
    Described {
        name: tool.name,
        category: tool.category(),
        description: tool.description,
        version: VERSION,
        input_schema: &tool.input_schema,
        output_schema: tool.output_schema.as_deref().unwrap_or(&TEXT),
        examples: examples.collect(),
        common_errors: tool.common_errors().collect(),
        performance: Performance {
            typical_ms: typical
                .map_or_else(|| NOT_MEASURED.to_owned(), |typical| typical.to_string()),
            timeout_ms: house.gate.timeout().as_millis().to_string(),
        },
    }
}
