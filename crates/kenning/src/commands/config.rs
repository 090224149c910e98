use kenning_store::Location;
use serde_json::json;
use toml::Value;

use super::Context;
use crate::cli::Config;
use crate::failure::{Exit, Failure};

/// An address without its password.
fn shown(key: &str, value: &Value) -> Value {
    match (key, value.as_str()) {
        ("store.url", Some(url)) if !url.is_empty() => {
            let location = url.parse::<Location>().map(|location| location.to_string());
            Value::from(location.unwrap_or_else(|error| error.to_string()))
        }
        _ => value.clone(),
    }
}

pub(super) fn run(context: &Context, config: &Config) -> Result<Exit, Failure> {
    let Config::Show { origin } = config;
    let entries: Vec<_> = context
        .layers
        .entries()
        .map(|(key, value, from)| {
            let value = shown(key, value);
            if *origin {
                json!({"key": key, "value": value, "origin": from.to_string()})
            } else {
                json!({"key": key, "value": value})
            }
        })
        .collect();
    context.printer.answer(&entries, |_| {
        let lines = context.layers.entries().map(|(key, value, from)| {
            let value = shown(key, value);
            let from = if *origin { format!("  # {from}") } else { String::new() };
            format!("{key} = {value}{from}\n")
        });
        lines.collect()
    })?;
    Ok(Exit::Success)
}
