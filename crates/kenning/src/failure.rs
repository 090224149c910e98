//! Errors as the user sees them: message, hint and exit code.

use std::process::ExitCode;

use kenning_knowledge::library::LibraryError;
use kenning_knowledge::semantic::IndexError;
use kenning_store::{ImportError, StoreError};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Success,
    /// The command failed, or found nothing.
    Failure,
    /// Flags or settings were invalid.
    Usage,
    /// The code of a program that the command ran.
    Code(u8),
}

impl Exit {
    pub fn success_if(succeeded: bool) -> Self {
        if succeeded { Self::Success } else { Self::Failure }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::Code(code) => code,
        })
    }
}

/// An error on its way to the user.
#[derive(Debug, Clone)]
pub struct Failure {
    pub message: String,
    pub hint: Option<String>,
    pub exit: Exit,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, exit: Exit::Failure }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, ..Self::new(message) }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn with_hint(error: &impl ToString, hint: Option<&str>) -> Self {
        Self { hint: hint.map(str::to_owned), ..Self::new(error.to_string()) }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<kenning_knowledge::Error> for Failure {
    fn from(error: kenning_knowledge::Error) -> Self {
        Self::with_hint(&error, Some(&error.hint()))
    }
}

impl From<LibraryError> for Failure {
    fn from(error: LibraryError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Self {
        Self::new(error.to_string()).hint("`--type keyword` needs no model")
    }
}

impl From<kenning_catalog::Error> for Failure {
    fn from(error: kenning_catalog::Error) -> Self {
        Self::with_hint(&error, Some(&error.hint()))
    }
}

impl From<kenning_registry::Error> for Failure {
    fn from(error: kenning_registry::Error) -> Self {
        // The message is the contract's, which says nothing of the cause.
        if let kenning_registry::Error::Database(source) = &error {
            tracing::error!(%source, "the registry's store failed");
        }
        Self::with_hint(&error, error.hint())
    }
}

impl From<kenning_gaps::Error> for Failure {
    fn from(error: kenning_gaps::Error) -> Self {
        Self::with_hint(&error, error.hint())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::with_hint(&error, error.hint())
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        Self::new(error.to_string()).hint("nothing was imported")
    }
}
