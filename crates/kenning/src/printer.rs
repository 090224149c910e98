//! Data to standard output, everything else to standard error, and nothing in either that a
//! terminal would obey or a reader not see.

use std::io::{self, ErrorKind, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};
use kenning_sanitize::{sanitize, sanitize_json};
use serde::Serialize;

use crate::failure::{Exit, Failure};

/// Which form an answer takes.
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

/// How people are told something that is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notes {
    /// On standard error, as it is.
    Printed,
    /// As one more line of a log that programs read.
    Logged,
}

impl Printer {
    /// Prints an answer: the value itself as JSON, or as text what `text` makes of it.
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

    /// Something for the person at the terminal.
    pub fn note(self, text: &str) {
        match self.notes {
            _ if self.quiet => {}
            Notes::Printed => eprintln!("{}", sanitize(text)),
            Notes::Logged => tracing::info!("{}", sanitize(text)),
        }
    }

    /// Reports a failure where all that is said is logged; leaves it to others elsewhere.
    pub fn log(self, failure: Failure) -> Result<Exit, Failure> {
        if self.notes == Notes::Printed {
            return Err(failure);
        }
        tracing::error!(hint = failure.hint, "{}", failure.message);
        Ok(failure.exit)
    }

    /// A bar on a terminal, nothing elsewhere.
    pub fn progress(self, what: &'static str) -> ProgressBar {
        if self.quiet || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len}")
            .expect("the template is valid");
        ProgressBar::new(0).with_style(style).with_message(what)
    }
}

pub fn report(failure: &Failure) -> Exit {
    eprintln!("error: {}", sanitize(&failure.message));
    if let Some(hint) = &failure.hint {
        eprintln!("hint: {}", sanitize(hint));
    }
    failure.exit
}

/// As the tools answer.
fn json<T: Serialize>(value: &T) -> serde_json::Result<String> {
    let written = serde_json::to_string_pretty(value)?;
    match sanitize_json(&written) {
        Some(shown) => serde_json::to_string_pretty(&shown),
        None => Ok(written),
    }
}

/// A reader that went away has seen enough; that is not an error.
fn write_stdout(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
