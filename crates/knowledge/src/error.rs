//! Errors of requests. Each has a message that names the input, a stable code and a hint.

use crate::path::PathError;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no node `{id}`")]
    UnknownNode { id: String, suggestions: Vec<String> },
    #[error("`{id}` is a node of several knowledge bases")]
    AmbiguousNode { id: String, candidates: Vec<String> },
    #[error("there is no knowledge base `{name}`")]
    UnknownBase { name: String, known: Vec<String> },
    #[error("there is no file `{path}` in knowledge base `{base}`")]
    UnknownFile { base: String, path: String, suggestions: Vec<String> },
    #[error("`{path}` has no section `{fragment}`")]
    UnknownSection { path: String, fragment: String, suggestions: Vec<String> },
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("`{name}` is empty")]
    Empty { name: &'static str },
    #[error("`{name}` is `{given}`; it can be {}", known.join(", "))]
    UnknownValue { name: &'static str, given: String, known: Vec<String> },
    #[error("`{name}` is {given}; it can be {min} to {max}")]
    OutOfRange { name: &'static str, given: usize, min: usize, max: usize },
    #[error(transparent)]
    Embed(#[from] kenning_embed::EmbedError),
    #[error("the keyword index failed: {0}")]
    Index(#[from] tantivy::TantivyError),
}

impl Error {
    /// Stable; programs depend on it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownNode { .. } => "NODE_NOT_FOUND",
            Self::AmbiguousNode { .. } => "AMBIGUOUS_NODE",
            Self::UnknownBase { .. } => "BASE_NOT_FOUND",
            Self::UnknownFile { .. } => "FILE_NOT_FOUND",
            Self::UnknownSection { .. } => "SECTION_NOT_FOUND",
            Self::Path(_) => "INVALID_PATH",
            Self::Empty { .. } | Self::UnknownValue { .. } | Self::OutOfRange { .. } => {
                "INVALID_ARGUMENT"
            }
            Self::Embed(_) | Self::Index(_) => "INTERNAL",
        }
    }

    /// What to do about the error.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownNode { suggestions, .. }
            | Self::UnknownFile { suggestions, .. }
            | Self::UnknownSection { suggestions, .. }
                if !suggestions.is_empty() =>
            {
                format!("did you mean {}?", quoted(suggestions, " or "))
            }
            Self::UnknownNode { .. } => "`search_knowledge` finds nodes by their words".into(),
            Self::UnknownFile { .. } => "`list_knowledge_bases` lists the files there are".into(),
            Self::UnknownSection { path, .. } => format!("`{path}` without a fragment is the file"),
            Self::AmbiguousNode { candidates, .. } => {
                format!("say which: {}", quoted(candidates, " or "))
            }
            Self::UnknownBase { known, .. } => format!("there is {}", quoted(known, ", ")),
            Self::Path(_) => "paths are relative to the base's root, like `guides/SETUP.md`".into(),
            Self::Empty { name } => format!("give `{name}` a value"),
            Self::UnknownValue { name, .. } => {
                format!("choose one of these, or leave `{name}` out")
            }
            Self::OutOfRange { name, min, max, .. } => {
                format!("choose `{name}` between {min} and {max}, and ask again for the rest")
            }
            Self::Embed(_) => "search type `keyword` needs no model".into(),
            Self::Index(_) => "restart the server; the index is rebuilt from the files".into(),
        }
    }
}

fn quoted(names: &[String], between: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(between)
}

pub(crate) fn in_range(
    name: &'static str,
    given: usize,
    range: std::ops::RangeInclusive<usize>,
) -> Result<usize, Error> {
    if range.contains(&given) {
        Ok(given)
    } else {
        Err(Error::OutOfRange { name, given, min: *range.start(), max: *range.end() })
    }
}
