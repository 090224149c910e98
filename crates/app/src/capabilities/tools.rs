//! `capabilities://tools`: every tool with schemas, examples, errors and measured durations.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;

use super::Metadata;
use crate::fault::CommonError;
use crate::operation::{JsonObject, Operation};
use crate::state::{AppState, VERSION};

const NOT_MEASURED: &str = "not yet measured";

#[derive(Debug, Serialize)]
pub(super) struct Tools<'a> {
    tools_by_category: BTreeMap<&'static str, Vec<Described<'a>>>,
    metadata: Metadata,
}

/// Stands for the schema of an answer that is plain text.
static ANY_OBJECT: LazyLock<JsonObject> =
    LazyLock::new(|| JsonObject::from_iter([("type".to_owned(), "object".into())]));

#[derive(Debug, Serialize)]
struct Described<'a> {
    name: &'static str,
    category: &'static str,
    description: &'static str,
    version: &'static str,
    input_schema: &'a JsonObject,
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

pub(super) fn of(state: &AppState) -> Tools<'_> {
    let mut tools_by_category: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for tool in state.inventory.tools() {
        tools_by_category.entry(tool.category_name()).or_default().push(describe(state, tool));
    }
    Tools { tools_by_category, metadata: Metadata::counting(state.inventory.tools().count()) }
}

fn describe<'a>(state: &AppState, tool: &'a Operation) -> Described<'a> {
    let typical = state.typical(tool.name);
    let examples = tool
        .examples
        .iter()
        .map(|example| Example { description: example.description, input: &example.arguments });
    Described {
        name: tool.name,
        category: tool.category_name(),
        description: tool.tool.map_or("", |text| text.description),
        version: VERSION,
        input_schema: &tool.input_schema,
        output_schema: tool.output_schema.as_deref().unwrap_or(&ANY_OBJECT),
        examples: examples.collect(),
        common_errors: tool.common_errors().collect(),
        performance: Performance {
            typical_ms: typical
                .map_or_else(|| NOT_MEASURED.to_owned(), |typical| typical.to_string()),
            timeout_ms: state.limiter.capacity().timeout.as_millis().to_string(),
        },
    }
}
