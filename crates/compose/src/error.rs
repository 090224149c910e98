//! What can be wrong, in a flat form: a code, a message, details, and the way out.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::config::{ConfigType, Issue};

/// How much of a bad value an error repeats, in characters.
const REPEATED: usize = 80;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no {kind} `{}`", shortened(id))]
    NotFound { kind: Kind, id: String, near: Vec<String> },
    #[error("nothing has been generated for `{id}` yet")]
    NotGenerated { id: String },
    #[error("{argument}: {problem}")]
    InvalidArgument { argument: String, problem: String },
    #[error("`{}` is not an id", shortened(id))]
    InvalidId { id: String },
    #[error("`{}` is not a path inside the workspace: {reason}", shortened(path))]
    InvalidPath { path: String, reason: String },
    #[error("{config_type} config `{}` is not valid: {}", shortened(id), first(issues))]
    InvalidConfig { config_type: ConfigType, id: String, issues: Vec<Issue> },
    #[error("there is a {config_type} config `{id}` already")]
    Exists { config_type: ConfigType, id: String },
    #[error("`{id}` needs a value for {}", quoted(names))]
    MissingVariables { id: String, names: Vec<String> },
    #[error("the template of `{id}` failed{}: {problem}", at_line(*line))]
    Template { id: String, line: Option<usize>, problem: String },
    #[error("{what} is {given}; the limit is {limit}")]
    Limit { name: &'static str, what: String, given: u64, limit: u64 },
    #[error("a template used up its {name}")]
    Exhausted { name: &'static str },
    #[error("generator `{generator}` cannot be used: {reason}")]
    Unavailable { generator: String, reason: String, missing: Vec<String> },
    #[error("source `{name}` of `{id}` failed: {problem}")]
    Source { id: String, name: String, problem: String },
    #[error("the model failed: {problem}")]
    Model { problem: String },
    #[error("artifact `{artifact}` needs `{child}`: {source}")]
    Child { artifact: String, child: String, source: Box<Error> },
    #[error("{problem}")]
    Merge { problem: String },
    #[error("`{file}` was not written by an assembly, or was changed since")]
    OutputChanged { file: String },
    #[error("`{id}` is used by {}", quoted(by))]
    Referenced { id: String, by: Vec<String> },
    #[error("there is no workspace to work in")]
    NoWorkspace,
    #[error("{what}: {source}")]
    Storage { what: String, source: std::io::Error },
}

/// What was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    ContentConfig,
    ArtifactConfig,
    Config,
    Draft,
    Version,
    Generator,
    Schema,
    File,
}

/// A stable name for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    ConfigNotFound,
    ContentNotFound,
    DraftNotFound,
    GeneratorNotFound,
    SchemaNotFound,
    FileNotFound,
    InvalidArgument,
    InvalidId,
    InvalidPath,
    ConfigInvalid,
    ConfigExists,
    MissingVariable,
    TemplateError,
    LimitExceeded,
    GeneratorUnavailable,
    SourceFailed,
    ModelFailed,
    ChildFailed,
    MergeFailed,
    OutputChanged,
    ContentReferenced,
    StorageError,
}

/// An error as callers see it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ErrorBody {
    /// Always false
    pub success: bool,
    pub error: Code,
    pub message: String,
    /// What the error is about: an object whose fields depend on the code
    pub details: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Code {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ConfigNotFound => "CONFIG_NOT_FOUND",
            Self::ContentNotFound => "CONTENT_NOT_FOUND",
            Self::DraftNotFound => "DRAFT_NOT_FOUND",
            Self::GeneratorNotFound => "GENERATOR_NOT_FOUND",
            Self::SchemaNotFound => "SCHEMA_NOT_FOUND",
            Self::FileNotFound => "FILE_NOT_FOUND",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::InvalidId => "INVALID_ID",
            Self::InvalidPath => "INVALID_PATH",
            Self::ConfigInvalid => "CONFIG_INVALID",
            Self::ConfigExists => "CONFIG_EXISTS",
            Self::MissingVariable => "MISSING_VARIABLE",
            Self::TemplateError => "TEMPLATE_ERROR",
            Self::LimitExceeded => "LIMIT_EXCEEDED",
            Self::GeneratorUnavailable => "GENERATOR_UNAVAILABLE",
            Self::SourceFailed => "SOURCE_FAILED",
            Self::ModelFailed => "MODEL_FAILED",
            Self::ChildFailed => "CHILD_FAILED",
            Self::MergeFailed => "MERGE_FAILED",
            Self::OutputChanged => "OUTPUT_CHANGED",
            Self::ContentReferenced => "CONTENT_REFERENCED",
            Self::StorageError => "STORAGE_ERROR",
        }
    }

    pub fn http_status(self) -> u16 {
        match self {
            Self::ConfigNotFound
            | Self::ContentNotFound
            | Self::DraftNotFound
            | Self::GeneratorNotFound
            | Self::SchemaNotFound
            | Self::FileNotFound => 404,
            Self::ConfigExists | Self::OutputChanged | Self::ContentReferenced => 409,
            Self::LimitExceeded => 413,
            Self::GeneratorUnavailable | Self::SourceFailed | Self::ModelFailed => 503,
            Self::StorageError => 500,
            _ => 400,
        }
    }
}

impl Error {
    pub fn invalid(argument: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::InvalidArgument { argument: argument.into(), problem: problem.into() }
    }

    pub(crate) fn storage(what: impl Into<String>, source: std::io::Error) -> Self {
        Self::Storage { what: what.into(), source }
    }

    pub(crate) fn not_found<'a>(
        kind: Kind,
        id: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        Self::NotFound { kind, id: id.to_owned(), near: near(id, known) }
    }

    pub fn code(&self) -> Code {
        match self {
            Self::NotFound { kind, .. } => kind.code(),
            Self::NotGenerated { .. } => Code::ContentNotFound,
            Self::InvalidArgument { .. } => Code::InvalidArgument,
            Self::InvalidId { .. } => Code::InvalidId,
            Self::InvalidPath { .. } => Code::InvalidPath,
            Self::InvalidConfig { .. } => Code::ConfigInvalid,
            Self::Exists { .. } => Code::ConfigExists,
            Self::MissingVariables { .. } => Code::MissingVariable,
            Self::Template { .. } => Code::TemplateError,
            Self::Limit { .. } | Self::Exhausted { .. } => Code::LimitExceeded,
            Self::Unavailable { .. } => Code::GeneratorUnavailable,
            Self::Source { .. } => Code::SourceFailed,
            Self::Model { .. } => Code::ModelFailed,
            Self::Child { .. } => Code::ChildFailed,
            Self::Merge { .. } => Code::MergeFailed,
            Self::OutputChanged { .. } => Code::OutputChanged,
            Self::Referenced { .. } => Code::ContentReferenced,
            Self::NoWorkspace | Self::Storage { .. } => Code::StorageError,
        }
    }

    pub fn details(&self) -> Value {
        match self {
            Self::NotFound { id, near, .. } => {
                json!({"id": shortened(id), "did_you_mean": near})
            }
            Self::NotGenerated { id } => json!({"id": id}),
            Self::InvalidArgument { argument, .. } => json!({"argument": argument}),
            Self::InvalidId { id } => json!({"id": shortened(id), "pattern": crate::id::PATTERN}),
            Self::InvalidPath { path, .. } => json!({"path": shortened(path)}),
            Self::InvalidConfig { id, issues, .. } => {
                json!({"id": shortened(id), "issues": issues})
            }
            Self::Exists { config_type, id } => json!({"config_type": config_type, "id": id}),
            Self::MissingVariables { id, names } => json!({"id": id, "variables": names}),
            Self::Template { id, line, .. } => json!({"id": id, "line": line}),
            Self::Limit { name, given, limit, .. } => {
                json!({"limit": name, "given": given, "allowed": limit})
            }
            Self::Exhausted { name } => json!({"limit": name}),
            Self::Unavailable { generator, missing, .. } => {
                json!({"generator": generator, "missing": missing})
            }
            Self::Source { id, name, .. } => json!({"id": id, "source": name}),
            Self::Child { artifact, child, source } => {
                json!({"artifact": artifact, "child": child, "cause": source.body()})
            }
            Self::OutputChanged { file } => json!({"file": file}),
            Self::Referenced { id, by } => json!({"id": id, "referenced_by": by}),
            Self::Model { .. } | Self::Merge { .. } | Self::NoWorkspace | Self::Storage { .. } => {
                json!({})
            }
        }
    }

    /// The error as callers see it.
    pub fn body(&self) -> ErrorBody {
        ErrorBody {
            success: false,
            error: self.code(),
            message: self.to_string(),
            details: self.details(),
            hint: self.hint(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { near, .. } if !near.is_empty() => {
                format!("did you mean {}?", quoted(near))
            }
            Self::NotFound { kind, .. } => kind.hint()?.to_owned(),
            Self::NotGenerated { id } => format!("`generate_content` with `{id}` generates it"),
            Self::InvalidId { .. } => {
                "ids begin with a lower-case letter and go on with lower-case letters, digits and `-`"
                    .to_owned()
            }
            Self::InvalidPath { .. } => {
                "paths are relative to the workspace, like `docs/GUIDE.md`".to_owned()
            }
            Self::InvalidConfig { config_type, .. } => {
                format!("`schema://{config_type}` says what such a config has")
            }
            Self::Exists { .. } => "`overwrite: true` replaces it and keeps a backup".to_owned(),
            Self::MissingVariables { .. } => "give them in `context`".to_owned(),
            Self::Template { .. } => "`preview_generation` shows what a template makes".to_owned(),
            Self::Limit { .. } | Self::Exhausted { .. } => {
                "make it smaller, or split it into several".to_owned()
            }
            Self::Unavailable { missing, .. } if !missing.is_empty() => {
                format!("set {} and start again", quoted(missing))
            }
            Self::Unavailable { .. } => "`list_generators` lists those that can".to_owned(),
            Self::Child { source, .. } => return source.hint(),
            Self::OutputChanged { .. } => {
                "`force: true` replaces it and keeps a copy; or give another `output_path`"
                    .to_owned()
            }
            Self::Referenced { .. } => "`force: true` deletes it all the same".to_owned(),
            Self::Merge { .. } => {
                "merge knows json, yaml and markdown; other formats can be concatenated".to_owned()
            }
            Self::Source { .. } => {
                "a source with `required: false` may fail".to_owned()
            }
            Self::NoWorkspace => "start it in the folder of a project".to_owned(),
            Self::InvalidArgument { .. } | Self::Model { .. } | Self::Storage { .. } => {
                return None;
            }
        })
    }
}

impl Kind {
    fn code(self) -> Code {
        match self {
            Self::ContentConfig | Self::ArtifactConfig | Self::Config => Code::ConfigNotFound,
            Self::Draft => Code::DraftNotFound,
            Self::Version => Code::ContentNotFound,
            Self::Generator => Code::GeneratorNotFound,
            Self::Schema => Code::SchemaNotFound,
            Self::File => Code::FileNotFound,
        }
    }

    fn hint(self) -> Option<&'static str> {
        Some(match self {
            Self::ContentConfig | Self::Config => "`list_content` lists those there are",
            Self::ArtifactConfig => "`list_artifacts` lists those there are",
            Self::Draft => "`draft_config` makes one",
            Self::Version => "`query_ephemeral_storage` lists the versions there are",
            Self::Generator => "`list_generators` lists those there are",
            Self::Schema | Self::File => return None,
        })
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ContentConfig => "content config",
            Self::ArtifactConfig => "artifact config",
            Self::Config => "config",
            Self::Draft => "draft",
            Self::Version => "version",
            Self::Generator => "generator",
            Self::Schema => "schema",
            Self::File => "file",
        })
    }
}

/// The start of a value, for a message.
pub(crate) fn shortened(text: &str) -> String {
    shortened_to(text, REPEATED)
}

pub(crate) fn shortened_to(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

pub(crate) fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", shortened(name))).collect();
    names.join(", ")
}

fn at_line(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!(" in line {line}"))
}

fn first(issues: &[Issue]) -> String {
    let Some(first) = issues.first() else { return "it says nothing".to_owned() };
    match issues.len() - 1 {
        0 => first.to_string(),
        more => format!("{first} (and {more} more)"),
    }
}

/// Up to three names that look like this one.
fn near<'a>(id: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut ranked: Vec<(f64, &str)> =
        known.into_iter().map(|name| (strsim::jaro_winkler(id, name), name)).collect();
    ranked.retain(|(likeness, _)| *likeness > 0.8);
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}
