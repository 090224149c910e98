//! The schemas of configs, and configs held against them.

use std::sync::LazyLock;

use jsonschema::Validator;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ArtifactConfig, Config, ConfigType, ContentConfig, Issue, Piece};
use crate::error::Error;
use crate::id::{check_id, check_output, check_path};

/// The names of the schemas there are.
pub const SCHEMAS: [&str; 3] = ["content", "artifact", "plugin"];

/// The JSON Schema of configs of a kind, or of a plugin.
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

/// A config of this kind, or all that is wrong with it.
pub(crate) fn parsed(config_type: ConfigType, id: &str, data: &Value) -> Result<Config, Error> {
    match config_type {
        ConfigType::Content => content_of(id, data).map(Config::content),
        ConfigType::Artifact => artifact_of(id, data).map(Config::artifact),
    }
}

pub(crate) fn content_of(id: &str, data: &Value) -> Result<ContentConfig, Error> {
    let config: ContentConfig = read(ConfigType::Content, &CONTENT, id, data)?;
    refuse(ConfigType::Content, id, content_issues(&config))?;
    Ok(config)
}

pub(crate) fn artifact_of(id: &str, data: &Value) -> Result<ArtifactConfig, Error> {
    let config: ArtifactConfig = read(ConfigType::Artifact, &ARTIFACT, id, data)?;
    refuse(ConfigType::Artifact, id, artifact_issues(&config))?;
    Ok(config)
}

fn read<T: DeserializeOwned>(
    config_type: ConfigType,
    validator: &Validator,
    id: &str,
    data: &Value,
) -> Result<T, Error> {
    let issues = validator.iter_errors(data).map(|error| Issue {
        path: json_path(error.instance_path().as_str()),
        message: crate::error::shortened_to(&error.to_string(), 300),
    });
    refuse(config_type, id, issues.collect())?;
    serde_json::from_value(data.clone()).map_err(|error| Error::InvalidConfig {
        config_type,
        id: id.to_owned(),
        issues: vec![Issue { path: "$".to_owned(), message: error.to_string() }],
    })
}

fn refuse(config_type: ConfigType, id: &str, issues: Vec<Issue>) -> Result<(), Error> {
    if issues.is_empty() {
        return Ok(());
    }
    Err(Error::InvalidConfig { config_type, id: id.to_owned(), issues })
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

/// What a schema cannot say.
fn content_issues(config: &ContentConfig) -> Vec<Issue> {
    let mut issues = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for (index, element) in config.elements.iter().enumerate() {
        if names.contains(&element.name.as_str()) {
            issues.push(issue(format!("$.elements[{index}].name"), "is the name of another one"));
        }
        names.push(&element.name);
    }
    for (index, pattern) in config.generation.patterns.iter().enumerate() {
        let place = format!("$.generation.patterns[{index}]");
        if pattern.template.is_some() && pattern.template_file.is_some() {
            issues.push(issue(place.clone(), "has both a template and a template_file"));
        }
        if let Some(Err(error)) = pattern.template_file.as_deref().map(check_path) {
            issues.push(issue(format!("{place}.template_file"), error.to_string()));
        }
    }
    let sources = config.inputs.iter().flat_map(|inputs| &inputs.sources);
    let mut ids: Vec<&str> = Vec::new();
    for (index, source) in sources.enumerate() {
        if ids.contains(&source.id.as_str()) {
            let place = format!("$.inputs.sources[{index}].id");
            issues.push(issue(place, "is the id of another source"));
        }
        ids.push(&source.id);
    }
    issues
}

fn artifact_issues(config: &ArtifactConfig) -> Vec<Issue> {
    let mut issues = Vec::new();
    for (index, output) in config.metadata.outputs.iter().enumerate() {
        if let Err(error) = check_output(&output.file) {
            issues.push(issue(format!("$.metadata.outputs[{index}].file"), error.to_string()));
        }
    }
    let mut ids: Vec<&str> = Vec::new();
    for (index, child) in config.content.children.iter().enumerate() {
        let place = format!("$.content.children[{index}]");
        if let Err(error) = check_id(&child.id) {
            issues.push(issue(format!("{place}.id"), error.to_string()));
        }
        if let Some(Err(error)) = child.path.as_deref().map(check_path) {
            issues.push(issue(format!("{place}.path"), error.to_string()));
        }
        if ids.contains(&child.id.as_str()) {
            issues.push(issue(format!("{place}.id"), "is the id of another child"));
        }
        ids.push(&child.id);
    }
    for (index, piece) in config.content.custom.iter().enumerate() {
        if let Piece::Child(id) = piece
            && !ids.contains(&id.as_str())
        {
            issues.push(issue(format!("$.content.custom[{index}]"), "is no child's id"));
        }
    }
    issues.extend(strategy_issue(config));
    issues
}

/// A strategy needs what it works with.
fn strategy_issue(config: &ArtifactConfig) -> Option<Issue> {
    use super::CompositionStrategy::{Custom, Template};
    match config.metadata.composition_strategy {
        Template if config.content.template.is_none() => {
            Some(issue("$.content.template".to_owned(), "is what the strategy `template` needs"))
        }
        Custom if config.content.custom.is_empty() => {
            Some(issue("$.content.custom".to_owned(), "is what the strategy `custom` needs"))
        }
        _ => None,
    }
}

fn issue(path: String, message: impl Into<String>) -> Issue {
    Issue { path, message: message.into() }
}

/// Applies a merge patch (RFC 7396): `null` removes, objects go into each other.
pub(crate) fn revised(mut data: Value, patch: &Value) -> Value {
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
                fields.insert(key.clone(), revised(old, change));
            }
        }
    }
    data
}
