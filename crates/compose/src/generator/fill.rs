//! `template_fill`: replaces `{{a.b}}`, and supports no other syntax.

use serde_json::Value;

use super::metadata::{Indicators, Metadata, Requirements, list};
use super::{Generated, Generator, Job, check_output};
use crate::error::{Error, Result};
use crate::model::Context;

pub(super) const TYPE: &str = "template_fill";

#[derive(Debug)]
pub(super) struct TemplateFill;

/// What replaces a name without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undefined {
    Error,
    Keep,
    Empty,
}

impl Undefined {
    /// `generation_config.undefined`
    pub(super) fn of(job: &Job<'_>) -> Result<Self> {
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
            capabilities: list("templates; variables; nested values"),
            indicators: Indicators { template_patterns: list("{{"), ..Indicators::typed(TYPE) },
            requirements: Requirements::field("generation.patterns[0].template"),
            best_for: list("letters, headers and other texts with blanks to fill in"),
            ..Metadata::builtin(TYPE, "TemplateFill", description)
        }
    }

    fn generate(&self, job: &Job<'_>) -> Result<Generated> {
        fill_from_context(job, job.template()?, Undefined::of(job)?)
    }
}

pub(super) fn fill_from_context(
    job: &Job<'_>,
    template: &str,
    undefined: Undefined,
) -> Result<Generated> {
    fill(job, template, undefined, |path| lookup(job.context, path).map(display))
}

pub(super) fn fill(
    job: &Job<'_>,
    template: &str,
    undefined: Undefined,
    value: impl Fn(&str) -> Option<String>,
) -> Result<Generated> {
    fill_text(job.id, template, undefined, job.sandbox.limits.template_output_bytes, value)
}

fn fill_text(
    id: &str,
    template: &str,
    undefined: Undefined,
    limit: usize,
    value: impl Fn(&str) -> Option<String>,
) -> Result<Generated> {
    let fails = |problem: String| Error::Template { id: id.to_owned(), line: None, problem };
    let mut filled = Generated::default();
    let mut rest = template;
    while let Some(start) = rest.find("{{") {
        filled.text.push_str(&rest[..start]);
        let tag = &rest[start + 2..];
        let end = tag.find("}}").ok_or_else(|| fails("a `{{` has no `}}`".to_owned()))?;
        let name = tag[..end].trim();
        if !is_dotted_name(name) {
            let problem = format!("`{{{{{name}}}}}` is not a plain name; jinja2 has expressions");
            return Err(fails(problem));
        }
        filled.mentioned.insert(name.split('.').next().unwrap_or(name).to_owned());
        match (value(name), undefined) {
            (Some(text), _) => filled.text.push_str(&text),
            (None, Undefined::Error) => return Err(Error::missing_variable(id, name)),
            (None, Undefined::Keep) => filled.text.push_str(&rest[start..start + 2 + end + 2]),
            (None, Undefined::Empty) => {}
        }
        check_output(&filled.text, limit)?;
        rest = &tag[end + 2..];
    }
    filled.text.push_str(rest);
    check_output(&filled.text, limit)?;
    Ok(filled)
}

/// Fills every text in a value. A text that is only one name becomes the value of that name.
pub(crate) fn fill_value(
    id: &str,
    value: &Value,
    context: &Context,
    limit: usize,
) -> Result<Value> {
    let fill_inner = |inner: &Value| fill_value(id, inner, context, limit);
    Ok(match value {
        Value::String(text) => {
            let whole = text.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
            if let Some(name) = whole.map(str::trim).filter(|name| is_dotted_name(name)) {
                let found = lookup(context, name).cloned();
                found.ok_or_else(|| Error::missing_variable(id, name))?
            } else {
                let value = |path: &str| lookup(context, path).map(display);
                Value::String(fill_text(id, text, Undefined::Error, limit, value)?.text)
            }
        }
        Value::Array(items) => {
            Value::Array(items.iter().map(fill_inner).collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let filled = fields.iter().map(|(key, inner)| Ok((key.clone(), fill_inner(inner)?)));
            Value::Object(filled.collect::<Result<_>>()?)
        }
        other => other.clone(),
    })
}

/// Whether every `{{ }}` in a text is a dotted name.
pub(super) fn has_only_dotted_names(template: &str) -> bool {
    let mut tags = template.split("{{").skip(1);
    tags.all(|tag| tag.find("}}").is_some_and(|end| is_dotted_name(tag[..end].trim())))
}

fn is_dotted_name(name: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let literal = matches!(name, "true" | "false" | "none" | "True" | "False" | "None");
    begins && !literal && name.split('.').all(|part| !part.is_empty() && part.chars().all(word))
}

pub(super) fn lookup<'a>(context: &'a Context, path: &str) -> Option<&'a Value> {
    let mut parts = path.split('.');
    let first = context.get(parts.next()?)?;
    parts.try_fold(first, |value, part| match value {
        Value::Object(fields) => fields.get(part),
        Value::Array(items) => part.parse::<usize>().ok().and_then(|index| items.get(index)),
        _ => None,
    })
}

/// A string as it is, anything else as JSON.
fn display(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
