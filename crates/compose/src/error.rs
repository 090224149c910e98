//! Errors, and the flat form that callers see: code, message, details and hint.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::config::{ConfigType, Issue};

/// Characters of a bad value that an error repeats.
const MAX_QUOTED: usize = 80;

pub type Result<T, E = Error> = std::result::Result<T, E>;

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

macro_rules! codes {
    ($($variant:ident = $name:literal,)*) => {
        /// A stable name for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
        pub enum Code {
            $(#[serde(rename = $name)] $variant,)*
        }

        impl Code {
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

codes! {
    ConfigNotFound = "CONFIG_NOT_FOUND",
    ContentNotFound = "CONTENT_NOT_FOUND",
    DraftNotFound = "DRAFT_NOT_FOUND",
    GeneratorNotFound = "GENERATOR_NOT_FOUND",
    SchemaNotFound = "SCHEMA_NOT_FOUND",
    FileNotFound = "FILE_NOT_FOUND",
    InvalidArgument = "INVALID_ARGUMENT",
    InvalidId = "INVALID_ID",
    InvalidPath = "INVALID_PATH",
    ConfigInvalid = "CONFIG_INVALID",
    ConfigExists = "CONFIG_EXISTS",
    MissingVariable = "MISSING_VARIABLE",
    TemplateError = "TEMPLATE_ERROR",
    LimitExceeded = "LIMIT_EXCEEDED",
    GeneratorUnavailable = "GENERATOR_UNAVAILABLE",
    SourceFailed = "SOURCE_FAILED",
    ModelFailed = "MODEL_FAILED",
    ChildFailed = "CHILD_FAILED",
    MergeFailed = "MERGE_FAILED",
    OutputChanged = "OUTPUT_CHANGED",
    ContentReferenced = "CONTENT_REFERENCED",
    StorageError = "STORAGE_ERROR",
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

impl Error {
    pub fn invalid(argument: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::InvalidArgument { argument: argument.into(), problem: problem.into() }
    }

    pub(crate) fn storage(what: impl Into<String>, source: std::io::Error) -> Self {
        Self::Storage { what: what.into(), source }
    }

    /// A config with one issue.
    pub(crate) fn invalid_config(
        config_type: ConfigType,
        id: &str,
        path: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let issues = vec![Issue { path: path.into(), message: message.into() }];
        Self::InvalidConfig { config_type, id: id.to_owned(), issues }
    }

    /// `known` are the names that exist, of which the error suggests similar ones.
    pub(crate) fn not_found(kind: Kind, id: &str, known: &[impl AsRef<str>]) -> Self {
        Self::NotFound { kind, id: id.to_owned(), near: similar_names(id, known) }
    }

    pub(crate) fn missing_variable(id: &str, name: &str) -> Self {
        Self::MissingVariables { id: id.to_owned(), names: vec![name.to_owned()] }
    }

    pub(crate) fn no_file(path: &str) -> Self {
        Self::NotFound { kind: Kind::File, id: path.to_owned(), near: Vec::new() }
    }

    pub fn code(&self) -> Code {
        match self {
            Self::NotFound { kind, .. } => kind.describe().1,
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
        let text = match self {
            Self::NotFound { near, .. } if !near.is_empty() => {
                return Some(format!("did you mean {}?", quoted(near)));
            }
            Self::NotFound { kind, .. } => kind.describe().2?,
            Self::NotGenerated { id } => {
                return Some(format!("`generate_content` with `{id}` generates it"));
            }
            Self::InvalidId { .. } => {
                "ids begin with a lower-case letter and go on with lower-case letters, digits and `-`"
            }
            Self::InvalidPath { .. } => "paths are relative to the workspace, like `docs/GUIDE.md`",
            Self::InvalidConfig { config_type, .. } => {
                return Some(format!("`schema://{config_type}` says what such a config has"));
            }
            Self::Exists { .. } => "`overwrite: true` replaces it and keeps a backup",
            Self::MissingVariables { .. } => "give them in `context`",
            Self::Template { .. } => "`preview_generation` shows what a template makes",
            Self::Limit { .. } | Self::Exhausted { .. } => {
                "make it smaller, or split it into several"
            }
            Self::Unavailable { missing, .. } if !missing.is_empty() => {
                return Some(format!("set {} and start again", quoted(missing)));
            }
            Self::Unavailable { .. } => "`list_generators` lists those that can",
            Self::Child { source, .. } => return source.hint(),
            Self::OutputChanged { .. } => {
                "`force: true` replaces it and keeps a copy; or give another `output_path`"
            }
            Self::Referenced { .. } => "`force: true` deletes it all the same",
            Self::Merge { .. } => {
                "merge knows json, yaml and markdown; other formats can be concatenated"
            }
            Self::Source { .. } => "a source with `required: false` may fail",
            Self::NoWorkspace => "start it in the folder of a project",
            Self::InvalidArgument { .. } | Self::Model { .. } | Self::Storage { .. } => {
                return None;
            }
        };
        Some(text.to_owned())
    }
}

impl Kind {
    /// Name, code and hint.
    fn describe(self) -> (&'static str, Code, Option<&'static str>) {
        let contents = Some("`list_content` lists those there are");
        let artifacts = Some("`list_artifacts` lists those there are");
        let versions = Some("`query_ephemeral_storage` lists the versions there are");
        let generators = Some("`list_generators` lists those there are");
        match self {
            Self::ContentConfig => ("content config", Code::ConfigNotFound, contents),
            Self::ArtifactConfig => ("artifact config", Code::ConfigNotFound, artifacts),
            Self::Config => ("config", Code::ConfigNotFound, contents),
            Self::Draft => ("draft", Code::DraftNotFound, Some("`draft_config` makes one")),
            Self::Version => ("version", Code::ContentNotFound, versions),
            Self::Generator => ("generator", Code::GeneratorNotFound, generators),
            Self::Schema => ("schema", Code::SchemaNotFound, None),
            Self::File => ("file", Code::FileNotFound, None),
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.describe().0)
    }
}

/// The beginning of a value, for a message.
pub(crate) fn shortened(text: &str) -> String {
    shortened_to(text, MAX_QUOTED)
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
    let Some(first) = issues.first() else { return "no issue was reported".to_owned() };
    match issues.len() - 1 {
        0 => first.to_string(),
        more => format!("{first} (and {more} more)"),
    }
}

/// Up to three names that look like this one.
fn similar_names(id: &str, known: &[impl AsRef<str>]) -> Vec<String> {
    let scored = known.iter().map(|name| (strsim::jaro_winkler(id, name.as_ref()), name.as_ref()));
    let mut ranked: Vec<(f64, &str)> = scored.filter(|(score, _)| *score > 0.8).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}
