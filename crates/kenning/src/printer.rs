//! Answers go to standard output, everything else to standard error. Both are sanitized: nothing in
//! them controls a terminal or is invisible to a reader.

use std::io::{self, ErrorKind, IsTerminal, Write};

use kenning_sanitize::{sanitize, sanitize_json};
use serde::Serialize;

use crate::failure::{Exit, Failure};
use crate::progress::ProgressBar;

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy)]
pub struct Printer {
    pub form: Form,
    pub quiet: bool,
    pub notes: Notes,
}

/// Where notes for the user go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notes {
    /// To standard error, as plain lines.
    Printed,
    /// To the log, because programs parse standard error.
    Logged,
}

impl Printer {
    /// Prints an answer: the value as JSON, or the text that `text` renders from it.
    pub fn answer<T: Serialize>(
        self,
        value: &T,
        text: impl FnOnce(&T) -> String,
    ) -> Result<(), Failure> {
        let out = match self.form {
            Form::Json => json(value).map_err(|error| Failure::new(error.to_string()))?,
            Form::Text => sanitize(&text(value)).into_owned(),
        };
        match out.trim_end() {
            "" => Ok(()),
            out => write_stdout(out),
        }
    }

    /// Tells the user something besides the answer.
    pub fn note(self, text: &str) {
        match self.notes {
            _ if self.quiet => {}
            Notes::Printed => eprintln!("{}", sanitize(text)),
            Notes::Logged => tracing::info!("{}", sanitize(text)),
        }
    }

    /// A note that an answer may come with.
    pub fn note_if(self, text: Option<&str>) {
        if let Some(text) = text {
            self.note(text);
        }
    }

    /// Logs a failure if notes are logged; otherwise returns it for the caller to print.
    pub fn log(self, failure: Failure) -> Result<Exit, Failure> {
        if self.notes == Notes::Printed {
            return Err(failure);
        }
        tracing::error!(hint = failure.hint, "{}", failure.message);
        Ok(failure.exit)
    }

    /// A progress bar, hidden unless standard error is a terminal.
    pub fn progress(self, activity: &'static str) -> ProgressBar {
        let is_shown = !self.quiet && io::stderr().is_terminal();
        if is_shown { ProgressBar::new(activity) } else { ProgressBar::hidden() }
    }
}

/// Prints a failure and returns its exit code.
pub fn report(failure: &Failure) -> Exit {
    eprintln!("error: {}", sanitize(&failure.message));
    if let Some(hint) = &failure.hint {
        eprintln!("hint: {}", sanitize(hint));
    }
    failure.exit
}

/// A number with its noun: `1 node`, `2 nodes`.
pub fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Serializes as the tools do.
fn json<T: Serialize>(value: &T) -> serde_json::Result<String> {
    let written = serde_json::to_string_pretty(value)?;
    match sanitize_json(&written) {
        Some(sanitized) => serde_json::to_string_pretty(&sanitized),
        None => Ok(written),
    }
}

/// A closed pipe is not an error: the reader has what it wanted.
fn write_stdout(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
