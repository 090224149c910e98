//! Reads and edits the servers in a client's file, whatever its format.

use kenning_catalog::clients::{Client, Format, ServerEntry, snippet};
use serde_json::{Map, Value};

use super::{json, toml, yaml};

/// Why a text cannot be read or edited.
#[derive(Debug)]
pub(in crate::commands) struct Unusable(pub(in crate::commands) String);

/// The configured servers, by name.
pub(in crate::commands) fn servers(
    client: &Client,
    text: &str,
) -> Result<Vec<(String, Value)>, Unusable> {
    match client.format {
        Format::Json | Format::Jsonc => json::servers(text, &client.servers),
        Format::Toml => toml::servers(text, &client.servers),
        Format::Yaml => yaml::servers(text, &client.servers),
    }
}

/// The text with this entry inserted or updated. Fields that the user added to the entry, and
/// every other character of the text, stay.
pub(super) fn put(
    client: &Client,
    text: &str,
    name: &str,
    entry: &Value,
) -> Result<String, Unusable> {
    let Value::Object(fields) = entry else {
        return Err(Unusable(format!("`{name}` is not an object")));
    };
    match client.format {
        Format::Json | Format::Jsonc => json::put(text, &client.servers, name, fields),
        Format::Toml => toml::put(text, &client.servers, name, fields),
        Format::Yaml => {
            refuse_edited(client, text, name)?;
            Ok(snippet(client, &described(name, fields)))
        }
    }
}

/// The text without this entry.
pub(super) fn remove(client: &Client, text: &str, name: &str) -> Result<String, Unusable> {
    match client.format {
        Format::Json | Format::Jsonc => json::remove(text, &client.servers, name),
        Format::Toml => toml::remove(text, &client.servers, name),
        Format::Yaml => {
            refuse_edited(client, text, name)?;
            Ok(String::new())
        }
    }
}

/// YAML is written whole, so a file is replaced only if it is as we wrote it: comments and keys that
/// the user added would be lost.
fn refuse_edited(client: &Client, text: &str, name: &str) -> Result<(), Unusable> {
    if text.trim().is_empty() {
        return Ok(());
    }
    let found = yaml::servers(text, &client.servers)?;
    if let [(only, Value::Object(fields))] = found.as_slice()
        && only == name
        && snippet(client, &described(name, fields)) == text
    {
        return Ok(());
    }
    Err(Unusable(format!("it holds more than the entry of `{name}`")))
}

/// Checks an edit before it is written: the new text parses, and every other server is unchanged.
pub(super) fn refuse_damage(
    client: &Client,
    old: &str,
    new: &str,
    name: &str,
) -> Result<(), Unusable> {
    let others = |text: &str| {
        let mut servers = servers(client, text)?;
        servers.retain(|(other, _)| other != name);
        Ok(servers)
    };
    if others(new)? == others(old)? {
        return Ok(());
    }
    Err(Unusable("its formatting does not allow a safe edit".to_owned()))
}

/// Whether all fields of `entry` are there; the user may have added others.
pub(super) fn holds(found: &Value, entry: &Value) -> bool {
    match (found, entry) {
        (Value::Object(found), Value::Object(entry)) => {
            entry.iter().all(|(key, value)| found.get(key) == Some(value))
        }
        _ => false,
    }
}

/// The command that an entry runs, with its arguments.
pub(in crate::commands) fn command_line(entry: &Value) -> Vec<String> {
    let list = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    match &entry["command"] {
        Value::String(command) => {
            std::iter::once(command.clone()).chain(list(&entry["args"])).collect()
        }
        command => list(command),
    }
}

fn described(name: &str, fields: &Map<String, Value>) -> ServerEntry {
    let mut words = command_line(&Value::Object(fields.clone())).into_iter();
    ServerEntry {
        name: name.to_owned(),
        command: words.next().unwrap_or_default(),
        args: words.collect(),
        env: std::collections::BTreeMap::new(),
    }
}
