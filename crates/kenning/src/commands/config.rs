//! `config show`: the effective settings and their origins.

use kenning_store::Location;
use serde_json::json;
use toml::Value;

use super::Context;
use crate::cli::Config;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, command: &Config) -> Result<Exit, Failure> {
    let Config::Show { origin } = command;
    let entries = context.layers.entries();
    let entries: Vec<_> =
        entries.map(|(key, value, from)| (key, without_password(key, value), from)).collect();
    let report: Vec<_> = entries
        .iter()
        .map(|(key, value, from)| {
            if *origin {
                json!({"key": key, "value": value, "origin": from.to_string()})
            } else {
                json!({"key": key, "value": value})
            }
        })
        .collect();
    context.answer(&report, |_| {
        let lines = entries.iter().map(|(key, value, from)| {
            let from = if *origin { format!("  # {from}") } else { String::new() };
            format!("{key} = {value}{from}\n")
        });
        lines.collect()
    })
}

/// Only the store's URL can hold one.
fn without_password(key: &str, value: &Value) -> Value {
    match (key, value.as_str()) {
        ("store.url", Some(url)) if !url.is_empty() => {
            let location = url.parse::<Location>().map(|location| location.to_string());
            Value::from(location.unwrap_or_else(|error| error.to_string()))
        }
        _ => value.clone(),
    }
}
