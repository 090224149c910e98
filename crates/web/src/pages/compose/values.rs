//! The values that a config takes, as fields of a form.

use axum::http::StatusCode;
use kenning_compose::config::{ContentConfig, Variable};
use kenning_compose::model::Context;
use maud::{Markup, html};
use serde_json::Value;

use super::super::PageError;
use super::super::form::Fields;
use super::super::text::text;

/// What the names of their fields begin with, so that none is taken for another field.
pub(super) const PREFIX: &str = "v.";

/// The variables of all these configs, each name once.
pub(super) fn variables<'a>(configs: impl Iterator<Item = &'a ContentConfig>) -> Vec<Variable> {
    let mut all: Vec<Variable> = Vec::new();
    for variable in
        configs.flat_map(|config| &config.generation.patterns).flat_map(|one| &one.variables)
    {
        if !all.iter().any(|known| known.name == variable.name) {
            all.push(variable.clone());
        }
    }
    all
}

/// What was filled in. An empty field leaves its default.
pub(super) fn context(fields: &Fields, variables: &[Variable]) -> Result<Context, PageError> {
    let mut context = Context::new();
    for variable in variables {
        if let Some(word) = fields.get(&name(variable)) {
            context.insert(variable.name.clone(), value(variable, word)?);
        }
    }
    Ok(context)
}

/// A word as the kind of value that the default is. Without one it is read like `--set`: as JSON,
/// or as text if it is none.
fn value(variable: &Variable, word: &str) -> Result<Value, PageError> {
    let json = || serde_json::from_str::<Value>(word).ok();
    let wrong = |kind: &str| {
        let message = format!("`{}` has to be {kind}; `{word}` is none", variable.name);
        PageError::new(StatusCode::BAD_REQUEST, message)
    };
    match &variable.default {
        Some(Value::String(_)) => Ok(Value::from(word)),
        Some(Value::Number(_)) => json().filter(Value::is_number).ok_or_else(|| wrong("a number")),
        Some(Value::Bool(_)) => {
            json().filter(Value::is_boolean).ok_or_else(|| wrong("true or false"))
        }
        Some(Value::Object(_)) => {
            json().filter(Value::is_object).ok_or_else(|| wrong("a JSON object"))
        }
        Some(Value::Array(_)) if word.starts_with('[') => {
            json().filter(Value::is_array).ok_or_else(|| wrong("a JSON list"))
        }
        Some(Value::Array(_)) => Ok(word.split(',').map(|one| Value::from(one.trim())).collect()),
        Some(Value::Null) | None => Ok(json().unwrap_or_else(|| Value::from(word))),
    }
}

fn name(variable: &Variable) -> String {
    format!("{PREFIX}{}", variable.name)
}

/// One field for each, with what was filled in.
pub(super) fn inputs(fields: &Fields, variables: &[Variable]) -> Markup {
    html! {
        @if variables.is_empty() { p class="hint" { "It takes no values." } } @else {
            div class="values" { @for variable in variables { (input(fields, variable)) } }
        }
    }
}

fn input(fields: &Fields, variable: &Variable) -> Markup {
    let name = name(variable);
    let hint = format!("{name}-hint");
    let kind = if matches!(variable.default, Some(Value::Number(_))) { "number" } else { "text" };
    html! {
        div class="field" {
            label for=(name) { (text(&variable.name)) @if needed(variable) { " (needed)" } }
            input id=(name) name=(name) type=(kind) step=[(kind == "number").then_some("any")]
                value=(fields.text(&name)) placeholder=(usual(variable)) aria-describedby=(hint)
                spellcheck="false" autocomplete="off";
            span id=(hint) class="small" { (text(variable.description.as_deref().unwrap_or_default())) }
        }
    }
}

fn needed(variable: &Variable) -> bool {
    variable.required && variable.default.is_none()
}

/// What it is if nothing is filled in.
fn usual(variable: &Variable) -> String {
    match &variable.default {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(word)) => word.clone(),
        Some(Value::Array(list)) if list.is_empty() => String::new(),
        Some(other) => other.to_string(),
    }
}

/// What was filled in, for an address that shows it again.
pub(super) fn repeated<'a>(
    fields: &'a Fields,
    variables: &'a [Variable],
) -> Vec<(String, &'a str)> {
    let given = variables.iter().filter_map(|one| Some((name(one), fields.get(&name(one))?)));
    given.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(default: Option<Value>, word: &str, expected: Option<Value>) {
        let variable =
            Variable { name: "x".to_owned(), description: None, required: false, default };
        let fields = Fields::new(vec![("v.x".to_owned(), word.to_owned())]);
        let read = context(&fields, &[variable]).ok();
        assert_eq!(read.map(|mut read| read.remove("x")), expected.map(Some), "{word}");
    }

    #[test]
    fn a_word_becomes_what_its_default_is() {
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
        let variable = Variable {
            name: "x".to_owned(),
            description: None,
            required: false,
            default: Some(json!(1)),
        };
        let fields = Fields::new(vec![("v.x".to_owned(), "  ".to_owned())]);
        assert_eq!(context(&fields, &[variable]).expect("nothing is wrong"), Context::new());
    }
}
