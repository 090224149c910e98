//! Problems in files, reported to the authors of a knowledge base.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// Something noticed while reading a file. Nothing is lost because of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Diagnostic {
    /// Name of the knowledge base.
    pub base: String,
    /// File below the base's root.
    pub path: String,
    /// Line in the file, from 1; 0 when the file as a whole is meant.
    pub line: usize,
    pub message: String,
}

impl Diagnostic {
    /// A diagnostic without its file; [`Self::located`] adds it.
    pub(crate) fn new(line: usize, message: impl Into<String>) -> Self {
        Self { base: String::new(), path: String::new(), line, message: message.into() }
    }

    pub(crate) fn located(&self, base: &str, path: &str) -> Self {
        Self { base: base.to_owned(), path: path.to_owned(), ..self.clone() }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            // The base as a whole.
            0 if self.path.is_empty() => write!(f, "{}", self.message),
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}
