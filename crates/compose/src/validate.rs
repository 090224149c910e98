//! `validate_content`: checks texts against rules.

use kenning_tokens::count_tokens;
use regex::RegexBuilder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Compose;
use crate::config::ConfigType;
use crate::error::{Error, Kind, Result};
use crate::id::{MAX_ID, PATTERN, check_id};
use crate::merge::yaml;
use crate::version::Version;

/// Limits a compiled pattern: ample for one that a person writes, too small for a hostile one.
const PATTERN_BYTES: usize = 1_000_000;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValidateRequest {
    /// Id of a content or of a config
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    pub content_or_config_id: String,
    /// Which is meant, if a content and an artifact have this id; a content unless said otherwise
    pub config_type: Option<ConfigType>,
    /// Rules besides those of the config
    #[serde(default)]
    pub validation_rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ValidateResponse {
    pub success: bool,
    /// Whether nothing was found that is an error
    pub valid: bool,
    pub id: String,
    pub config_type: ConfigType,
    /// The version that was looked at; none if nothing has been generated
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub rules_checked: usize,
    pub errors: usize,
    pub warnings: usize,
    pub infos: usize,
    pub findings: Vec<Finding>,
}

/// What a text must fulfil.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A name for messages
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(rename = "type")]
    pub kind: RuleType,
    #[serde(default)]
    pub severity: Severity,
    /// By type: `length` and `lines` and `tokens` have `min` and `max`; `required_fields` has `fields`
    /// (keys of JSON or YAML, headings of Markdown); `pattern` has `regex` and `absent`; `forbidden`
    /// has `words`; `format` has `format`; `schema` has `schema`
    #[serde(default)]
    pub config: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleType {
    Length,
    Tokens,
    Lines,
    RequiredFields,
    Pattern,
    Forbidden,
    Format,
    Schema,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    #[default]
    Error,
    Warning,
    Info,
}

/// Something that is not as a rule says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    pub rule: String,
    pub severity: Severity,
    pub message: String,
}

impl Compose {
    pub fn validate_content(&self, request: &ValidateRequest) -> Result<ValidateResponse> {
        let (id, more) = (check_id(&request.content_or_config_id)?, &request.validation_rules);
        if request.config_type == Some(ConfigType::Artifact) {
            return self.validate_artifact(id, more);
        }
        match self.inner.configs.content(id) {
            Ok(loaded) => {
                let mut rules = loaded.config.validation.unwrap_or_default().rules;
                rules.extend(more.clone());
                Ok(validated(id, &rules, self.inner.versions.latest(id)?))
            }
            Err(Error::NotFound { .. })
                if request.config_type.is_none()
                    && self.inner.configs.exists(ConfigType::Artifact, id) =>
            {
                self.validate_artifact(id, more)
            }
            // The config was removed, or the content was generated from a draft.
            Err(Error::NotFound { .. }) => {
                let version = self.inner.versions.latest(id)?;
                if version.is_none() {
                    let known = self.inner.configs.ids(ConfigType::Content)?;
                    return Err(Error::not_found(Kind::Config, id, &known));
                }
                Ok(validated(id, more, version))
            }
            Err(error) => Err(error),
        }
    }

    /// Validates the output files of an artifact as they are in the workspace.
    fn validate_artifact(&self, id: &str, more: &[Rule]) -> Result<ValidateResponse> {
        let config = self.inner.configs.artifact(id)?.config;
        let rules = [config.rules.as_slice(), more].concat();
        let (mut found, mut rules_checked) = (Vec::new(), 0);
        for output in &config.metadata.outputs {
            match self.file(&output.file)? {
                Some(text) => {
                    rules_checked = rules.len();
                    found.extend(findings(&rules, &text, &output.format));
                }
                None => found.push(missing(format!("`{}` is not there", output.file))),
            }
        }
        Ok(counted(ConfigType::Artifact, id, None, rules_checked, found))
    }
}

/// Checks a stored text; a text that does not exist is an error.
fn validated(id: &str, rules: &[Rule], version: Option<Version>) -> ValidateResponse {
    if let Some(version) = version
        && let Some(text) = &version.content
    {
        let found = findings(rules, text, &version.format);
        return counted(ConfigType::Content, id, Some(version.version), rules.len(), found);
    }
    let found = vec![missing("nothing has been generated yet".to_owned())];
    counted(ConfigType::Content, id, None, 0, found)
}

fn missing(message: String) -> Finding {
    Finding { rule: "exists".to_owned(), severity: Severity::Error, message }
}

fn counted(
    config_type: ConfigType,
    id: &str,
    version: Option<String>,
    rules_checked: usize,
    findings: Vec<Finding>,
) -> ValidateResponse {
    let count = |severity| findings.iter().filter(|one| one.severity == severity).count();
    let errors = count(Severity::Error);
    ValidateResponse {
        success: true,
        valid: errors == 0,
        id: id.to_owned(),
        config_type,
        version,
        rules_checked,
        errors,
        warnings: count(Severity::Warning),
        infos: count(Severity::Info),
        findings,
    }
}

/// Every violation of the rules. An invalid rule is a finding, too.
pub(crate) fn findings(rules: &[Rule], text: &str, format: &str) -> Vec<Finding> {
    let found = rules.iter().flat_map(|rule| {
        let (severity, problems) = match problems(rule, text, format) {
            Ok(problems) => (rule.severity, problems),
            Err(problem) => (Severity::Error, vec![format!("invalid rule: {problem}")]),
        };
        let name = rule.id.clone().unwrap_or_else(|| rule.kind.to_string());
        problems.into_iter().map(move |message| Finding { rule: name.clone(), severity, message })
    });
    found.collect()
}

fn problems(rule: &Rule, text: &str, format: &str) -> Result<Vec<String>, String> {
    let config = &rule.config;
    match rule.kind {
        RuleType::Length => within("characters", text.chars().count(), config),
        RuleType::Lines => within("lines", text.lines().count(), config),
        RuleType::Tokens => within("tokens", count_tokens(text), config),
        RuleType::RequiredFields => required_fields(config, text, format),
        RuleType::Pattern => pattern(config, text),
        RuleType::Forbidden => {
            let text = text.to_lowercase();
            let words = words(config, "words")?;
            let found = words.into_iter().filter(|word| text.contains(&word.to_lowercase()));
            Ok(found.map(|word| format!("`{word}` is in it")).collect())
        }
        RuleType::Format => {
            let named = config.get("format").and_then(Value::as_str).unwrap_or(format);
            Ok(parsed(text, named).err().into_iter().collect())
        }
        RuleType::Schema => {
            let schema = config.get("schema").ok_or("`schema` is missing")?;
            let validator = jsonschema::validator_for(schema).map_err(|error| error.to_string())?;
            match parsed(text, format) {
                Err(problem) => Ok(vec![problem]),
                Ok(value) => Ok(validator
                    .iter_errors(&value)
                    .map(|error| format!("{}: {error}", error.instance_path()))
                    .collect()),
            }
        }
    }
}

fn within(unit: &str, count: usize, config: &Map<String, Value>) -> Result<Vec<String>, String> {
    let bound = |key: &str| match config.get(key) {
        None => Ok(None),
        Some(value) => {
            let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
            number.map(Some).ok_or_else(|| format!("`{key}` is not a number"))
        }
    };
    let (min, max) = (bound("min")?, bound("max")?);
    if min.is_none() && max.is_none() {
        return Err("it needs `min` or `max`".to_owned());
    }
    let few = min.filter(|min| count < *min).map(|min| format!("fewer than {min}"));
    let many = max.filter(|max| count > *max).map(|max| format!("more than {max}"));
    let problems = few.into_iter().chain(many);
    Ok(problems.map(|problem| format!("it has {count} {unit}, {problem}")).collect())
}

fn words(config: &Map<String, Value>, key: &str) -> Result<Vec<String>, String> {
    let listed = config.get(key).and_then(Value::as_array);
    let words = listed.map(|words| words.iter().filter_map(Value::as_str).map(str::to_owned));
    words.map(Iterator::collect).ok_or_else(|| format!("`{key}` is not a list"))
}

/// Keys of JSON and YAML, headings of anything else.
fn required_fields(
    config: &Map<String, Value>,
    text: &str,
    format: &str,
) -> Result<Vec<String>, String> {
    let mut fields = words(config, "fields")?;
    if matches!(format, "json" | "yaml" | "yml") {
        let value = match parsed(text, format) {
            Err(problem) => return Ok(vec![problem]),
            Ok(value) => value,
        };
        fields.retain(|field| {
            value.pointer(&format!("/{}", field.replace('.', "/"))).is_none_or(Value::is_null)
        });
    } else {
        let headings = text.lines().filter(|line| line.starts_with('#'));
        let headings: Vec<String> =
            headings.map(|line| line.trim_start_matches('#').trim().to_lowercase()).collect();
        fields.retain(|field| !headings.contains(&field.trim().to_lowercase()));
    }
    Ok(fields.iter().map(|field| format!("`{field}` is missing")).collect())
}

fn pattern(config: &Map<String, Value>, text: &str) -> Result<Vec<String>, String> {
    let pattern = config.get("regex").and_then(Value::as_str).ok_or("`regex` is missing")?;
    let absent = config.get("absent").and_then(Value::as_bool).unwrap_or(false);
    let regex = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build();
    let found = regex.map_err(|error| error.to_string())?.is_match(text);
    Ok(match (found, absent) {
        (true, true) => vec![format!("`{pattern}` is in it")],
        (false, false) => vec![format!("`{pattern}` is not in it")],
        _ => Vec::new(),
    })
}

fn parsed(text: &str, format: &str) -> Result<Value, String> {
    match format.to_ascii_lowercase().as_str() {
        "json" => serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}")),
        "yaml" | "yml" => yaml(text).map_err(|error| format!("it is not YAML: {error}")),
        "toml" => toml::from_str(text).map_err(|error| format!("it is not TOML: {error}")),
        "markdown" | "md" | "text" => Ok(Value::String(text.to_owned())),
        "gherkin" if text.lines().any(|line| line.trim_start().starts_with("Feature:")) => {
            Ok(Value::String(text.to_owned()))
        }
        "gherkin" => Err("it has no feature".to_owned()),
        other => Err(format!("the format `{other}` is not known")),
    }
}

impl std::fmt::Display for RuleType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}
