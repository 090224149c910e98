//! Errors as the user sees them: message, hint and exit code.

use std::process::ExitCode;

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
}

/// Conversions from the errors of other crates: their message, and the hint that `$hint` makes of
/// them, if any.
macro_rules! failure_from {
    ($($error:ty, $hint:expr;)+) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                let hint: fn(&$error) -> Option<String> = $hint;
                Self { hint: hint(&error), ..Self::new(error.to_string()) }
            }
        }
    )+};
}

failure_from! {
    std::io::Error, |_| None;
    kenning_knowledge::Error, |error| Some(error.hint());
    kenning_knowledge::library::LibraryError, |_| None;
    kenning_knowledge::semantic::IndexError, |_| Some("`--type keyword` needs no model".to_owned());
    kenning_catalog::Error, |error| Some(error.hint());
    kenning_gaps::Error, |error| error.hint().map(str::to_owned);
    kenning_store::StoreError, |error| error.hint().map(str::to_owned);
    kenning_store::ImportError, |_| Some("nothing was imported".to_owned());
}

impl From<kenning_registry::Error> for Failure {
    fn from(error: kenning_registry::Error) -> Self {
        // The message is fixed by the contract and leaves out the cause.
        if let kenning_registry::Error::Database(source) = &error {
            tracing::error!(%source, "the registry's store failed");
        }
        let hint = error.hint().map(str::to_owned);
        Self { hint, ..Self::new(error.to_string()) }
    }
}

impl From<kenning_settings::Error> for Failure {
    fn from(error: kenning_settings::Error) -> Self {
        Self { hint: error.hint, ..Self::usage(error.message) }
    }
}
