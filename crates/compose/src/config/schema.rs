//! The JSON Schemas of configs, and validation of configs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use jsonschema::Validator;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ArtifactConfig, CompositionStrategy, Config, ConfigType, ContentConfig, Issue, Piece};
use crate::error::{Error, Result};
use crate::id::{check_id, check_output, check_path};

/// The names that [`schema`] knows.
pub const SCHEMAS: [&str; 3] = ["content", "artifact", "plugin"];

/// The JSON Schema of a type of config, or of a plugin.
pub fn schema(name: &str) -> Option<Value> {
    match name {
        "content" => Some(generated::<ContentConfig>()),
        "artifact" => Some(generated::<ArtifactConfig>()),
        "plugin" => Some(generated::<crate::generator::Plugin>()),
        _ => None,
    }
}

fn generated<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

static CONTENT: LazyLock<Validator> = LazyLock::new(validator::<ContentConfig>);
static ARTIFACT: LazyLock<Validator> = LazyLock::new(validator::<ArtifactConfig>);

fn validator<T: JsonSchema>() -> Validator {
    jsonschema::validator_for(&generated::<T>()).expect("a generated schema is a schema")
}

/// Parses a config; the error lists every issue.
pub(crate) fn parsed(config_type: ConfigType, id: &str, data: &Value) -> Result<Config> {
    match config_type {
        ConfigType::Content => Ok(Config::Content(Box::new(content_of(id, data)?))),
        ConfigType::Artifact => Ok(Config::Artifact(Box::new(artifact_of(id, data)?))),
    }
}

pub(crate) fn content_of(id: &str, data: &Value) -> Result<ContentConfig> {
    read(ConfigType::Content, &CONTENT, content_issues, id, data)
}

pub(crate) fn artifact_of(id: &str, data: &Value) -> Result<ArtifactConfig> {
    read(ConfigType::Artifact, &ARTIFACT, artifact_issues, id, data)
}

fn read<T: DeserializeOwned>(
    config_type: ConfigType,
    validator: &Validator,
    issues_of: fn(&T) -> Vec<Issue>,
    id: &str,
    data: &Value,
) -> Result<T> {
    let check = |issues: Vec<Issue>| {
        if issues.is_empty() {
            return Ok(());
        }
        Err(Error::InvalidConfig { config_type, id: id.to_owned(), issues })
    };
    let schema_issues = validator.iter_errors(data).map(|error| Issue {
        path: json_path(error.instance_path().as_str()),
        message: crate::error::shortened_to(&error.to_string(), 300),
    });
    check(schema_issues.collect())?;
    let config: T = serde_json::from_value(data.clone())
        .map_err(|error| Error::invalid_config(config_type, id, "$", error.to_string()))?;
    check(issues_of(&config))?;
    Ok(config)
}

/// `/elements/0/name` as `$.elements[0].name`.
fn json_path(pointer: &str) -> String {
    let mut path = "$".to_owned();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        match part.parse::<usize>() {
            Ok(index) => path.push_str(&format!("[{index}]")),
            Err(_) => path.push_str(&format!(".{part}")),
        }
    }
    path
}

/// Collects what a schema cannot express.
#[derive(Default)]
struct Issues(Vec<Issue>);

impl Issues {
    fn add(&mut self, path: String, message: impl Into<String>) {
        self.0.push(Issue { path, message: message.into() });
    }

    fn add_error<T>(&mut self, path: String, outcome: Result<T>) {
        if let Err(error) = outcome {
            self.add(path, error.to_string());
        }
    }

    /// `path` locates the field by its index.
    fn add_repeated<'a>(
        &mut self,
        names: impl Iterator<Item = &'a String>,
        path: impl Fn(usize) -> String,
        message: &str,
    ) {
        let mut known = BTreeSet::new();
        for (index, name) in names.enumerate() {
            if !known.insert(name) {
                self.add(path(index), message);
            }
        }
    }
}

fn content_issues(config: &ContentConfig) -> Vec<Issue> {
    let mut issues = Issues::default();
    let elements = config.elements.iter().map(|element| &element.name);
    issues.add_repeated(
        elements,
        |index| format!("$.elements[{index}].name"),
        "is the name of another one",
    );
    for (index, pattern) in config.generation.patterns.iter().enumerate() {
        let path = format!("$.generation.patterns[{index}]");
        if let Some(file) = &pattern.template_file {
            issues.add_error(format!("{path}.template_file"), check_path(file));
            if pattern.template.is_some() {
                issues.add(path, "has both a template and a template_file");
            }
        }
    }
    let sources = config.inputs.iter().flat_map(|inputs| &inputs.sources);
    issues.add_repeated(
        sources.map(|source| &source.id),
        |index| format!("$.inputs.sources[{index}].id"),
        "is the id of another source",
    );
    issues.0
}

fn artifact_issues(config: &ArtifactConfig) -> Vec<Issue> {
    let mut issues = Issues::default();
    for (index, output) in config.metadata.outputs.iter().enumerate() {
        let path = format!("$.metadata.outputs[{index}].file");
        issues.add_error(path, check_output(&output.file));
    }
    let children = &config.content.children;
    for (index, child) in children.iter().enumerate() {
        let path = |field: &str| format!("$.content.children[{index}].{field}");
        issues.add_error(path("id"), check_id(&child.id));
        issues.add_error(path("path"), child.path.as_deref().map(check_path).transpose());
    }
    issues.add_repeated(
        children.iter().map(|child| &child.id),
        |index| format!("$.content.children[{index}].id"),
        "is the id of another child",
    );
    for (index, piece) in config.content.custom.iter().enumerate() {
        if let Piece::Child(id) = piece
            && !children.iter().any(|child| child.id == *id)
        {
            issues.add(format!("$.content.custom[{index}]"), "is no child's id");
        }
    }
    match config.metadata.composition_strategy {
        CompositionStrategy::Template if config.content.template.is_none() => {
            let needed = "is what the strategy `template` needs";
            issues.add("$.content.template".to_owned(), needed);
        }
        CompositionStrategy::Custom if config.content.custom.is_empty() => {
            issues.add("$.content.custom".to_owned(), "is what the strategy `custom` needs");
        }
        _ => {}
    }
    issues.0
}

/// Applies a JSON merge patch (RFC 7396): `null` removes a key, objects are merged.
pub(crate) fn patched(mut data: Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    if !data.is_object() {
        data = Value::Object(serde_json::Map::new());
    }
    if let Value::Object(fields) = &mut data {
        for (key, change) in changes {
            if change.is_null() {
                fields.shift_remove(key);
            } else {
                let old = fields.get(key).cloned().unwrap_or(Value::Null);
                fields.insert(key.clone(), patched(old, change));
            }
        }
    }
    data
}
