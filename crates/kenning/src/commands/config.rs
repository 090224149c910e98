use serde_json::json;

use super::Context;
use crate::cli::Config;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, config: &Config) -> Result<Exit, Failure> {
    let Config::Show { origin } = config;
    let entries: Vec<_> = context
        .layers
        .entries()
        .map(|(key, value, from)| {
            if *origin {
                json!({"key": key, "value": value, "origin": from.to_string()})
            } else {
                json!({"key": key, "value": value})
            }
        })
        .collect();
    context.printer.answer(&entries, |_| {
        let lines = context.layers.entries().map(|(key, value, from)| match origin {
            true => format!("{key} = {value}  # {from}\n"),
            false => format!("{key} = {value}\n"),
        });
        lines.collect()
    })?;
    Ok(Exit::Success)
}
