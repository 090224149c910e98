//! The configuration of one server in a client's format.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Client, Format};

/// A server that the client starts as a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntry {
    pub name: String,
    pub command: String,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
}

/// The entry of a server in the client's list.
pub fn entry(client: &Client, server: &ServerEntry) -> Value {
    Value::Object(filled(&client.entry, server))
}

/// A whole file with only this server, for a client that has no file yet and for pasting.
pub fn snippet(client: &Client, server: &ServerEntry) -> String {
    let entry = entry(client, server);
    let mut document = client.document.as_ref().map(|d| filled(d, server)).unwrap_or_default();
    let listed = match client.document {
        Some(_) => json!([entry]),
        None => json!({ server.name.as_str(): entry }),
    };
    insert(&mut document, &client.servers, &listed);
    let document = Value::Object(document);
    match client.format {
        Format::Json | Format::Jsonc => format!("{document:#}\n"),
        Format::Toml => {
            toml::to_string(&document).expect("the document has only strings, lists and tables")
        }
        Format::Yaml => yaml(&document, 0),
    }
}

fn filled(template: &Map<String, Value>, server: &ServerEntry) -> Map<String, Value> {
    let fill = |(key, value): (&String, &Value)| Some((key.clone(), fill(value, server)?));
    template.iter().filter_map(fill).collect()
}

/// `None` omits the field.
fn fill(value: &Value, server: &ServerEntry) -> Option<Value> {
    let argv = || std::iter::once(&server.command).chain(&server.args).cloned();
    Some(match value.as_str() {
        Some("$name") => json!(server.name),
        Some("$command") => json!(server.command),
        Some("$args") => json!(server.args),
        Some("$argv") => argv().collect(),
        Some("$env") if server.env.is_empty() => return None,
        Some("$env") => json!(server.env),
        _ => value.clone(),
    })
}

fn insert(into: &mut Map<String, Value>, keys: &[String], value: &Value) {
    let Some((last, before)) = keys.split_last() else { return };
    let nested = before
        .iter()
        .rev()
        .fold(json!({ last.as_str(): value }), |inner, key| json!({ key.as_str(): inner }));
    if let Value::Object(nested) = nested {
        into.extend(nested);
    }
}

/// Block style. Strings are quoted as in JSON, which is valid YAML.
fn yaml(value: &Value, depth: usize) -> String {
    let pad = "  ".repeat(depth);
    match value {
        Value::Object(fields) => {
            let line =
                |(key, value): (&String, &Value)| format!("{pad}{key}:{}", after(value, depth));
            fields.iter().map(line).collect()
        }
        Value::Array(items) => items.iter().map(|item| yaml_item(item, &pad, depth)).collect(),
        scalar => format!("{pad}{scalar}\n"),
    }
}

fn yaml_item(item: &Value, pad: &str, depth: usize) -> String {
    let text = yaml(item, depth + 1);
    format!("{pad}- {}", text.trim_start())
}

/// The value after a key.
fn after(value: &Value, depth: usize) -> String {
    match value {
        Value::Object(fields) if !fields.is_empty() => format!("\n{}", yaml(value, depth + 1)),
        Value::Array(items) if !items.is_empty() => format!("\n{}", yaml(value, depth + 1)),
        flat => format!(" {flat}\n"),
    }
}
