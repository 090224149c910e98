//! `template_fill`: `{{a.b}}` and nothing else.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::metadata::{Indicators, Metadata, Requirements, owned};
use super::{Generator, Job, Made};
use crate::error::Error;

pub(super) const TYPE: &str = "template_fill";

#[derive(Debug)]
pub(super) struct TemplateFill;

/// What stands for a name that has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undefined {
    Error,
    Keep,
    Empty,
}

impl Undefined {
    /// `generation_config.undefined`
    pub(super) fn of(job: &Job<'_>) -> Result<Self, Error> {
        match job.pattern.generation_config.get("undefined").map(Value::as_str) {
            None | Some(Some("error")) => Ok(Self::Error),
            Some(Some("keep")) => Ok(Self::Keep),
            Some(Some("empty")) => Ok(Self::Empty),
            _ => Err(Error::invalid("generation_config.undefined", "is error, keep or empty")),
        }
    }
}

impl Generator for TemplateFill {
    fn metadata(&self) -> Metadata {
        let description = "Fills dotted names like {{user.name}}; \
                           generation_config.undefined is error, keep or empty";
        Metadata {
            capabilities: owned(&["templates", "variables", "nested values"]),
            indicators: Indicators {
                template_patterns: owned(&["{{"]),
                ..Metadata::builtin(TYPE, "", "").indicators
            },
            requirements: Requirements {
                fields: owned(&["generation.patterns[0].template"]),
                ..Requirements::default()
            },
            best_for: owned(&["letters, headers and other texts with blanks to fill in"]),
            ..Metadata::builtin(TYPE, "TemplateFill", description)
        }
    }

    fn generate(&self, job: &Job<'_>) -> Result<Made, Error> {
        let limit = job.sandbox.limits.template_output_bytes;
        let filled = fill(job.template()?, Undefined::of(job)?, limit, |path| {
            lookup(job.context, path).map(shown)
        });
        filled.map_err(|fault| fault.into_error(job.id))
    }
}

/// Why a text could not be filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FillFault {
    Missing(String),
    /// Not a dotted name.
    Expression(String),
    Unclosed,
    TooLong,
}

impl FillFault {
    pub(crate) fn into_error(self, id: &str) -> Error {
        let id = id.to_owned();
        let template = |problem: String| Error::Template { id: id.clone(), line: None, problem };
        match self {
            Self::Missing(name) => Error::MissingVariables { id, names: vec![name] },
            Self::Expression(text) => {
                template(format!("`{{{{{text}}}}}` is not a plain name; jinja2 has expressions"))
            }
            Self::Unclosed => template("a `{{` has no `}}`".to_owned()),
            Self::TooLong => Error::Exhausted { name: "template_output_bytes" },
        }
    }
}

pub(crate) fn fill(
    template: &str,
    undefined: Undefined,
    limit: usize,
    value: impl Fn(&str) -> Option<String>,
) -> Result<Made, FillFault> {
    let mut made = Made::default();
    let mut rest = template;
    while let Some(start) = rest.find("{{") {
        made.text.push_str(&rest[..start]);
        let tag = &rest[start + 2..];
        let end = tag.find("}}").ok_or(FillFault::Unclosed)?;
        let name = tag[..end].trim();
        if !is_dotted_name(name) {
            return Err(FillFault::Expression(name.to_owned()));
        }
        made.mentioned.insert(name.split('.').next().unwrap_or(name).to_owned());
        match (value(name), undefined) {
            (Some(text), _) => made.text.push_str(&text),
            (None, Undefined::Error) => return Err(FillFault::Missing(name.to_owned())),
            (None, Undefined::Keep) => made.text.push_str(&rest[start..start + 2 + end + 2]),
            (None, Undefined::Empty) => {}
        }
        if made.text.len() > limit {
            return Err(FillFault::TooLong);
        }
        rest = &tag[end + 2..];
    }
    made.text.push_str(rest);
    if made.text.len() > limit {
        return Err(FillFault::TooLong);
    }
    Ok(made)
}

/// Fills every text in a value. One that is nothing but a name becomes the value itself.
pub(crate) fn fill_value(
    value: &Value,
    context: &Map<String, Value>,
    limit: usize,
) -> Result<Value, FillFault> {
    Ok(match value {
        Value::String(text) => {
            let whole = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
            if let Some(name) = whole.map(str::trim).filter(|name| is_dotted_name(name)) {
                let found = lookup(context, name).cloned();
                found.ok_or_else(|| FillFault::Missing(name.to_owned()))?
            } else {
                let fetch = |path: &str| lookup(context, path).map(shown);
                Value::String(fill(text, Undefined::Error, limit, fetch)?.text)
            }
        }
        Value::Array(items) => {
            let filled: Result<_, _> =
                items.iter().map(|item| fill_value(item, context, limit)).collect();
            Value::Array(filled?)
        }
        Value::Object(fields) => {
            let mut filled = Map::new();
            for (key, inner) in fields {
                filled.insert(key.clone(), fill_value(inner, context, limit)?);
            }
            Value::Object(filled)
        }
        other => other.clone(),
    })
}

/// The names in a text with `{{` in it, if all of them are plain.
pub(super) fn dotted_names(template: &str) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for tag in template.split("{{").skip(1) {
        let name = tag[..tag.find("}}")?].trim();
        if !is_dotted_name(name) {
            return None;
        }
        names.insert(name.to_owned());
    }
    Some(names)
}

fn is_dotted_name(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let literal = matches!(name, "true" | "false" | "none" | "True" | "False" | "None");
    begins && !literal && name.split('.').all(|part| !part.is_empty() && part.chars().all(word))
}

pub(super) fn lookup<'a>(context: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut parts = path.split('.');
    let first = context.get(parts.next()?)?;
    parts.try_fold(first, |value, part| match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(items) => part.parse::<usize>().ok().and_then(|index| items.get(index)),
        _ => None,
    })
}

/// A text as it is, anything else as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
