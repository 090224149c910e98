//! Servers in a JSON file, with or without comments.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};

use super::config::Unusable;

/// Comments and trailing commas are kept; whether a client accepts them is its business. Other
/// deviations from JSON are errors.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn servers(text: &str, keys: &[String]) -> Result<Vec<(String, Value)>, Unusable> {
    let root = parse(text)?;
    let Some(object) = listed(&root, keys)? else { return Ok(Vec::new()) };
    let pairs = object.properties().into_iter();
    Ok(pairs.filter_map(|pair| Some((pair.decoded_name()?, pair.to_serde_value()?))).collect())
}

pub(super) fn put(
    text: &str,
    keys: &[String],
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, Unusable> {
    let root = parse(text)?;
    let mut object = root.object_value_or_create().ok_or_else(no_object)?;
    for key in keys {
        object = object.object_value_or_create(key).ok_or_else(|| not_an_object(key))?;
    }
    match object.get(name) {
        None => {
            object.append(name, fields(entry));
        }
        Some(pair) => match pair.object_value() {
            None => pair.set_value(fields(entry)),
            Some(existing) => set_fields(&existing, entry),
        },
    }
    Ok(root.to_string())
}

pub(super) fn remove(text: &str, keys: &[String], name: &str) -> Result<String, Unusable> {
    let root = parse(text)?;
    if let Some(pair) = listed(&root, keys)?.and_then(|object| object.get(name)) {
        pair.remove();
    }
    Ok(root.to_string())
}

fn parse(text: &str) -> Result<CstRootNode, Unusable> {
    CstRootNode::parse(text, &OPTIONS)
        .map_err(|error| Unusable(format!("it is not valid JSON: {error}")))
}

/// The object that lists the servers; `None` if there is none yet.
fn listed(root: &CstRootNode, keys: &[String]) -> Result<Option<CstObject>, Unusable> {
    let Some(value) = root.value() else { return Ok(None) };
    let mut object = value.as_object().ok_or_else(no_object)?;
    for key in keys {
        let Some(pair) = object.get(key) else { return Ok(None) };
        object = pair.object_value().ok_or_else(|| not_an_object(key))?;
    }
    Ok(Some(object))
}

fn set_fields(existing: &CstObject, entry: &Map<String, Value>) {
    for (key, value) in entry {
        match existing.get(key) {
            Some(pair) if pair.to_serde_value().as_ref() == Some(value) => {}
            Some(pair) => pair.set_value(input(value)),
            None => {
                existing.append(key, input(value));
            }
        }
    }
}

fn fields(entry: &Map<String, Value>) -> CstInputValue {
    let pairs = entry.iter().map(|(key, value)| (key.clone(), input(value)));
    CstInputValue::Object(pairs.collect())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(entry) => fields(entry),
    }
}

fn no_object() -> Unusable {
    Unusable("it is not a JSON object".to_owned())
}

fn not_an_object(key: &str) -> Unusable {
    Unusable(format!("`{key}` in it is not an object"))
}
