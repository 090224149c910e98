//! What a client's file says about servers, whatever its format.

use kenning_catalog::clients::{Client, Format, ServerEntry, snippet};
use serde_json::{Map, Value};

use super::{json, toml, yaml};

/// Why a text cannot be worked on.
#[derive(Debug)]
pub(in crate::commands) struct Unusable(pub(in crate::commands) String);

/// The servers that are listed, by name.
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

/// The text with this entry in it. What somebody added to the entry stays, as does everything
/// else in the text, to the letter.
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
pub(super) fn take(client: &Client, text: &str, name: &str) -> Result<String, Unusable> {
    match client.format {
        Format::Json | Format::Jsonc => json::take(text, &client.servers, name),
        Format::Toml => toml::take(text, &client.servers, name),
        Format::Yaml => {
            refuse_edited(client, text, name)?;
            Ok(String::new())
        }
    }
}

/// A file that is written whole is replaced only if it is as we wrote it: a comment or a key that
/// somebody added would be lost.
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
    Err(Unusable(format!("it holds more than the server `{name}` as it was written")))
}

/// The last look before a text is written: it can be read, and every other server is what it was.
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
    Err(Unusable("it is written in a way that cannot be changed without harm".to_owned()))
}

/// Whether `entry` is there already, with or without what somebody added to it.
pub(super) fn holds(found: &Value, entry: &Value) -> bool {
    match (found, entry) {
        (Value::Object(found), Value::Object(entry)) => {
            entry.iter().all(|(key, value)| found.get(key) == Some(value))
        }
        _ => false,
    }
}

/// The command that an entry runs, with its arguments.
pub(in crate::commands) fn words(entry: &Value) -> Vec<String> {
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
    let words = words(&Value::Object(fields.clone()));
    let mut words = words.into_iter();
    ServerEntry {
        name: name.to_owned(),
        command: words.next().unwrap_or_default(),
        args: words.collect(),
        env: std::collections::BTreeMap::new(),
    }
}
