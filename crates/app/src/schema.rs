//! JSON Schemas: in full for programs, and in a form that strict MCP clients accept.

use std::sync::Arc;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::operation::JsonObject;

/// The longest pattern that models are shown, in bytes.
const MAX_PATTERN: usize = 64;

/// What a request may hold, in full.
pub(crate) fn request<T: JsonSchema>() -> Value {
    full::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// What an answer may hold, in full.
pub(crate) fn response<T: JsonSchema>() -> Value {
    full::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn full<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let mut schema = generate::<T>(settings);
    schema.remove("title");
    schema.to_value()
}

/// The schema of what a tool takes.
pub(crate) fn input<T: JsonSchema>() -> Arc<JsonObject> {
    strict::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of what a tool returns.
pub(crate) fn output<T: JsonSchema>() -> Arc<JsonObject> {
    strict::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn strict<T: JsonSchema>(settings: SchemaSettings) -> Arc<JsonObject> {
    let mut schema = generate::<T>(settings);
    RecursiveTransform(simplify).transform(&mut schema);
    let object = schema.as_object().cloned().expect("requests and answers are objects");
    Arc::new(object)
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>()
}

/// Optional means absent, never `null`; a type is one word; formats that are not JSON Schema's and
/// titles that repeat a Rust name are noise.
fn simplify(schema: &mut Schema) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    // A model pays for every token of it, and learns what is wrong from the error.
    let pattern = object.get("pattern").and_then(Value::as_str);
    if pattern.is_some_and(|pattern| pattern.len() > MAX_PATTERN) {
        object.remove("pattern");
    }
    if object.get("title").is_some_and(Value::is_string) {
        object.remove("title");
    }
    if object.get("format").and_then(Value::as_str).is_some_and(is_rust_number) {
        object.remove("format");
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(options)) = object.get_mut("anyOf") {
        options.retain(|option| option.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = options.as_mut_slice() {
            let only = std::mem::take(only);
            object.remove("anyOf");
            for (key, value) in only {
                object.entry(key).or_insert(value);
            }
        }
    }
}

fn is_rust_number(format: &str) -> bool {
    matches!(format, "float" | "double") || format.starts_with("uint") || format.starts_with("int")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
        Green,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    #[serde(deny_unknown_fields)]
    struct Request {
        /// A name.
        title: Option<String>,
        colour: Option<Colour>,
        count: usize,
    }

    #[test]
    fn options_are_not_unions_with_null_and_nothing_is_referenced() {
        assert_eq!(
            Value::Object((*input::<Request>()).clone()),
            json!({
                "type": "object",
                "properties": {
                    "title": {"type": "string", "description": "A name."},
                    "colour": {"type": "string", "enum": ["red", "green"]},
                    "count": {"type": "integer", "minimum": 0},
                },
                "additionalProperties": false,
                "required": ["count"],
            })
        );
    }
}
