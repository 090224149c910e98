//! The variables of configs, as fields of a form.

use axum::http::StatusCode;
use kenning_compose::config::{ContentConfig, Variable};
use kenning_compose::model::Context;
use maud::{Markup, html};
use serde_json::Value;

use super::super::PageError;
use super::super::form::{Fields, link};
use super::super::text::text;

/// Keeps variables apart from the other fields of a form.
const PREFIX: &str = "v.";

/// The variables of all configs, each name once.
pub(super) fn variables<'a>(configs: impl Iterator<Item = &'a ContentConfig>) -> Vec<Variable> {
    let mut all: Vec<Variable> = Vec::new();
    let patterns = configs.flat_map(|config| &config.generation.patterns);
    for variable in patterns.flat_map(|pattern| &pattern.variables) {
        if !all.iter().any(|known| known.name == variable.name) {
            all.push(variable.clone());
        }
    }
    all
}

/// The submitted values. A variable with an empty field keeps its default.
pub(super) fn context(fields: &Fields, variables: &[Variable]) -> Result<Context, PageError> {
    let mut context = Context::new();
    for variable in variables {
        if let Some(given) = fields.get(&field_name(variable)) {
            context.insert(variable.name.clone(), parse(variable, given)?);
        }
    }
    Ok(context)
}

/// Parses a value to the type of the variable's default. Without a default it is parsed like `--set`:
/// as JSON, or else as text.
fn parse(variable: &Variable, given: &str) -> Result<Value, PageError> {
    let json = || serde_json::from_str::<Value>(given).ok();
    let json_of = |is_type: fn(&Value) -> bool, expected: &str| {
        json().filter(is_type).ok_or_else(|| {
            let message = format!("`{}` must be {expected}, not `{given}`", variable.name);
            PageError::new(StatusCode::BAD_REQUEST, message)
        })
    };
    match &variable.default {
        Some(Value::String(_)) => Ok(Value::from(given)),
        Some(Value::Number(_)) => json_of(Value::is_number, "a number"),
        Some(Value::Bool(_)) => json_of(Value::is_boolean, "`true` or `false`"),
        Some(Value::Object(_)) => json_of(Value::is_object, "a JSON object"),
        Some(Value::Array(_)) if given.starts_with('[') => json_of(Value::is_array, "a JSON list"),
        Some(Value::Array(_)) => {
            Ok(given.split(',').map(|item| Value::from(item.trim())).collect())
        }
        Some(Value::Null) | None => Ok(json().unwrap_or_else(|| Value::from(given))),
    }
}

fn field_name(variable: &Variable) -> String {
    format!("{PREFIX}{}", variable.name)
}

pub(super) fn inputs(fields: &Fields, variables: &[Variable]) -> Markup {
    html! {
        @if variables.is_empty() { p class="hint" { "This config takes no values." } } @else {
            div class="values" { @for variable in variables { (input(fields, variable)) } }
        }
    }
}

fn input(fields: &Fields, variable: &Variable) -> Markup {
    let name = field_name(variable);
    let hint = format!("{name}-hint");
    let kind = if matches!(variable.default, Some(Value::Number(_))) { "number" } else { "text" };
    html! {
        div class="field" {
            label for=(name) { (text(&variable.name)) @if required(variable) { " (required)" } }
            input id=(name) name=(name) type=(kind) step=[(kind == "number").then_some("any")]
                value=(fields.text(&name)) placeholder=(default(variable)) aria-describedby=(hint)
                spellcheck="false" autocomplete="off";
            span id=(hint) class="small" { (text(variable.description.as_deref().unwrap_or_default())) }
        }
    }
}

fn required(variable: &Variable) -> bool {
    variable.required && variable.default.is_none()
}

/// The default as text; empty if there is none.
fn default(variable: &Variable) -> String {
    match &variable.default {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(default)) => default.clone(),
        Some(Value::Array(list)) if list.is_empty() => String::new(),
        Some(other) => other.to_string(),
    }
}

/// An address that carries the submitted values, so that the page shows them again.
pub(super) fn link_with_values(
    path: &str,
    fields: &Fields,
    variables: &[Variable],
    extra: &[(&str, &str)],
) -> String {
    let names: Vec<String> = variables.iter().map(field_name).collect();
    let given = names.iter().filter_map(|name| Some((name.as_str(), fields.get(name)?)));
    link(path, &given.chain(extra.iter().copied()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(default: Option<Value>, given: &str) -> Option<Context> {
        let variable =
            Variable { name: "x".to_owned(), description: None, required: false, default };
        let fields = Fields::new(vec![("v.x".to_owned(), given.to_owned())]);
        context(&fields, &[variable]).ok()
    }

    fn check(default: Option<Value>, given: &str, expected: Option<Value>) {
        let context = read(default, given);
        assert_eq!(context.map(|mut context| context.remove("x")), expected.map(Some), "{given}");
    }

    #[test]
    fn values_are_parsed_to_the_type_of_the_default() {
        check(Some(json!("a")), "42", Some(json!("42")));
        check(Some(json!(6000)), "42", Some(json!(42)));
        check(Some(json!(6000)), "many", None);
        check(Some(json!(true)), "false", Some(json!(false)));
        check(Some(json!([])), "cursor, zed", Some(json!(["cursor", "zed"])));
        check(Some(json!([])), "[\"cursor\"]", Some(json!(["cursor"])));
        check(Some(json!([])), "[cursor", None);
        check(Some(json!({})), "[]", None);
        check(Some(Value::Null), "7", Some(json!(7)));
        check(None, "review pull requests", Some(json!("review pull requests")));
    }

    #[test]
    fn an_empty_field_leaves_the_default() {
        assert_eq!(read(Some(json!(1)), "  "), Some(Context::new()));
    }
}
