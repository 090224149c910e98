//! Metadata of a node: `- key: value` lines below a heading, or YAML front matter.

use serde_json::{Map, Value};

use crate::text::parse_date;

/// Keys in the order in which they are written. Values are strings or lists of strings; YAML front
/// matter may hold any JSON value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata(Map<String, Value>);

/// Known node types and statuses; others are kept as they are, and reported.
pub const KNOWN_TYPES: [&str; 9] = [
    "guideline",
    "protocol",
    "context",
    "agent_skill",
    "log",
    "plan",
    "task",
    "recurring",
    "documentation",
];
pub const KNOWN_STATUSES: [&str; 10] = [
    "active",
    "draft",
    "deprecated",
    "todo",
    "in-progress",
    "done",
    "blocked",
    "recurring",
    "proposed",
    "pending",
];

const KNOWN_KEYS: [&str; 8] =
    ["id", "title", "type", "status", "owner", "blocked_by", "last_checked", "estimate"];

impl Metadata {
    /// Parses the items of a metadata list. Also returns the positions of the items that are not
    /// `key: value`.
    pub(crate) fn from_items<'a>(items: impl Iterator<Item = &'a str>) -> (Self, Vec<usize>) {
        let mut metadata = Self::default();
        let mut malformed = Vec::new();
        for (position, item) in items.enumerate() {
            match key_value(item) {
                Some((key, value)) => metadata.set(key, value),
                None => malformed.push(position),
            }
        }
        (metadata, malformed)
    }

    pub(crate) fn from_yaml(yaml: &str) -> Result<Self, MetadataError> {
        if yaml.trim().is_empty() {
            return Ok(Self::default());
        }
        match serde_saphyr::from_str::<Value>(yaml) {
            Ok(Value::Object(map)) => {
                let mut metadata = Self::default();
                for (key, value) in map {
                    metadata.set(&key, value);
                }
                Ok(metadata)
            }
            Ok(_) => Err(MetadataError {
                line: 1,
                message: "it is not a mapping of keys to values".into(),
            }),
            Err(error) => Err(MetadataError {
                line: error.location().and_then(|at| usize::try_from(at.line()).ok()).unwrap_or(1),
                message: error.to_string().lines().next().unwrap_or_default().to_owned(),
            }),
        }
    }

    pub(crate) fn from_toml(toml: &str) -> Result<Self, MetadataError> {
        let table: toml::Table = toml.parse().map_err(|error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start);
            MetadataError {
                line: toml.get(..at).unwrap_or_default().matches('\n').count() + 1,
                message: error.message().lines().next().unwrap_or_default().to_owned(),
            }
        })?;
        let mut metadata = Self::default();
        for (key, value) in table {
            metadata.set(&key, json_of(value));
        }
        Ok(metadata)
    }

    /// `inside` is a JSON object without its braces.
    pub(crate) fn from_json(inside: &str) -> Result<Self, MetadataError> {
        let map: Map<String, Value> = serde_json::from_str(&format!("{{{inside}}}"))
            .map_err(|error| MetadataError { line: error.line(), message: error.to_string() })?;
        let mut metadata = Self::default();
        for (key, value) in map {
            metadata.set(&key, value);
        }
        Ok(metadata)
    }

    /// `last-checked` and `last_checked` are one key; unknown keys stay as they were written.
    fn set(&mut self, key: &str, value: Value) {
        let normal = key.replace('-', "_").to_ascii_lowercase();
        let key = if KNOWN_KEYS.contains(&normal.as_str()) { normal } else { key.to_owned() };
        self.0.insert(key, value);
    }

    /// `self` with the values of `overrides` on top.
    pub(crate) fn overlaid(mut self, overrides: Self) -> Self {
        self.0.extend(overrides.0);
        self
    }

    /// A value as text, as an author would write it.
    pub fn text(&self, key: &str) -> Option<String> {
        match self.0.get(key)? {
            Value::Null => None,
            Value::String(text) if text.trim().is_empty() => None,
            Value::String(text) => Some(text.trim().to_owned()),
            other => Some(other.to_string()),
        }
    }

    /// A value as a list: `[a, b]`, a nested list, or one word.
    pub fn list(&self, key: &str) -> Vec<String> {
        match self.0.get(key) {
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                .collect(),
            Some(Value::String(text)) => split_list(text),
            _ => Vec::new(),
        }
    }

    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

pub(crate) struct MetadataError {
    /// Line inside the front matter, from 1.
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// `- key: value`, with an optional nested list or continuation lines below.
fn key_value(item: &str) -> Option<(&str, Value)> {
    let item = item.trim_start().strip_prefix(['-', '*', '+'])?;
    let (first, rest) = item.split_once('\n').unwrap_or((item, ""));
    let (key, value) = first.split_once(':')?;
    let (key, value) = (key.trim(), value.trim());
    if !is_key(key) {
        return None;
    }
    let nested: Vec<&str> = rest.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let bullets: Vec<&str> = nested.iter().filter_map(|l| l.strip_prefix("- ")).collect();
    if value.is_empty() && !bullets.is_empty() && bullets.len() == nested.len() {
        return Some((key, strings(bullets.into_iter().map(unquoted))));
    }
    let whole = std::iter::once(value).chain(nested).collect::<Vec<_>>().join(" ");
    let whole = whole.trim();
    match whole.strip_prefix('[').and_then(|v| v.strip_suffix(']')) {
        Some(inside) => Some((key, strings(split_list(inside).iter().map(String::as_str)))),
        None => Some((key, Value::String(unquoted(whole).to_owned()))),
    }
}

fn is_key(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Whether a list item is `- key: value`.
pub(crate) fn is_pair(item: &str) -> bool {
    key_value(item).is_some()
}

/// Whether the items of a list were probably meant as metadata: all have known keys, and one of
/// them a value that only metadata has. A list that describes fields (`- id: the identifier of …`)
/// is text.
pub(crate) fn look_like_metadata<'a>(items: impl Iterator<Item = &'a str> + Clone) -> bool {
    let known = |item: &str| {
        let (key, value) = key_value(item)?;
        let key = key.replace('-', "_");
        KNOWN_KEYS.contains(&key.as_str()).then_some((key, value))
    };
    items.clone().all(|item| known(item).is_some())
        && items.filter_map(known).any(|(key, value)| is_telling(&key, &value))
}

fn is_telling(key: &str, value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default().trim();
    match key {
        "id" => !text.is_empty() && !text.contains(char::is_whitespace),
        "status" => KNOWN_STATUSES.contains(&text.replace('_', "-").as_str()),
        "type" => KNOWN_TYPES.contains(&text),
        "last_checked" => parse_date(text).is_some(),
        "blocked_by" => value.is_array(),
        _ => false,
    }
}

fn json_of(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => Value::from(number),
        toml::Value::Boolean(yes) => Value::from(yes),
        toml::Value::Datetime(moment) => Value::from(moment.to_string()),
        toml::Value::Array(items) => items.into_iter().map(json_of).collect(),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(key, value)| (key, json_of(value))).collect())
        }
    }
}

fn split_list(text: &str) -> Vec<String> {
    text.split(',')
        .map(|part| unquoted(part.trim()).to_owned())
        .filter(|part| !part.is_empty())
        .collect()
}

fn strings<'a>(items: impl Iterator<Item = &'a str>) -> Value {
    items.map(Value::from).collect()
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(items: &[&str], expected: &Value) {
        let (metadata, malformed) = Metadata::from_items(items.iter().copied());
        assert_eq!(&Value::Object(metadata.0), expected);
        assert_eq!(malformed, Vec::<usize>::new());
    }

    #[test]
    fn values_are_text_or_lists_and_known_keys_may_be_hyphenated() {
        check(
            &["- id: a.b", "- estimate: 2d", "- owner: \"x: y\""],
            &json!({"id": "a.b", "estimate": "2d", "owner": "x: y"}),
        );
        check(
            &["- blocked_by: [a.b, 'c']", "- tags: []"],
            &json!({"blocked_by": ["a.b", "c"], "tags": []}),
        );
        check(&["- blocked_by:\n  - a\n  - b"], &json!({"blocked_by": ["a", "b"]}));
        check(&["- title: one\n  two"], &json!({"title": "one two"}));
        check(
            &["- last-checked: 2026-01-02", "- my-key: v"],
            &json!({"last_checked": "2026-01-02", "my-key": "v"}),
        );
    }

    #[test]
    fn yaml_front_matter_may_hold_any_value() {
        let Ok(metadata) = Metadata::from_yaml("title: T\nweight: 3\nblocked-by: [a]\n") else {
            panic!("valid YAML");
        };
        assert_eq!(metadata.text("title").as_deref(), Some("T"));
        assert_eq!(metadata.text("weight").as_deref(), Some("3"));
        assert_eq!(metadata.list("blocked_by"), ["a"]);
        assert!(Metadata::from_yaml("a: [1").is_err());
        assert!(Metadata::from_yaml("- a\n- b").is_err());
    }
}
