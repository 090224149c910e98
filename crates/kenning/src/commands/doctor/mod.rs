//! Looks at everything that can be wrong and changes nothing: no folder is made, no table, no
//! vector. Every finding comes with the next step.
//!
//! [`rooms`] looks at what is served, [`around`] at what it is served to.

mod around;
mod rooms;

use kenning_settings::{Layers, Settings, Sources};
use serde::Serialize;

use crate::failure::{Exit, Failure};
use crate::printer::Printer;

#[derive(Serialize)]
struct Findings {
    version: &'static str,
    os: &'static str,
    arch: &'static str,
    warned: usize,
    failed: usize,
    checks: Vec<Check>,
}

#[derive(Debug, Serialize)]
struct Check {
    name: String,
    status: Status,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Warn,
    Fail,
}

impl Check {
    fn new(status: Status, name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { name: name.into(), status, message: message.into(), next: None }
    }

    fn ok(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Status::Ok, name, message)
    }

    fn warn(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(Status::Warn, name, message)
    }

    fn fail(name: impl Into<String>, failure: Failure) -> Self {
        let check = Self::new(Status::Fail, name, failure.message);
        Self { next: failure.hint, ..check }
    }

    fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

pub(super) fn run(sources: Sources, printer: Printer) -> Result<Exit, Failure> {
    let mut checks = vec![program()];
    match Settings::load(sources) {
        Ok((settings, layers)) => {
            checks.push(settings_check(&layers));
            checks.extend(rooms::checks(&settings, &layers));
            checks.extend(around::checks());
            #[cfg(unix)]
            checks.extend(around::shared_server(&settings, &layers));
            checks.push(around::port(&settings));
        }
        Err(error) => {
            checks.push(Check::fail("settings", error.into()));
            checks.extend(around::checks());
        }
    }
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let findings = Findings {
        version: env!("CARGO_PKG_VERSION"),
        os: std::env::consts::OS,
        arch: std::env::consts::ARCH,
        warned: count(Status::Warn),
        failed: count(Status::Fail),
        checks,
    };
    printer.answer(&findings, text)?;
    Ok(if findings.failed == 0 { Exit::Success } else { Exit::Failure })
}

fn program() -> Check {
    let place = std::env::current_exe().map(|path| path.display().to_string());
    let place = place.unwrap_or_else(|error| format!("somewhere: {error}"));
    Check::ok("version", format!("{}, {place}", env!("CARGO_PKG_VERSION")))
}

/// Where settings come from, other than from the defaults.
fn settings_check(layers: &Layers) -> Check {
    let mut origins: Vec<_> = layers.entries().map(|(_, _, origin)| origin).collect();
    origins.sort();
    origins.dedup();
    let shown: Vec<String> = origins.iter().map(ToString::to_string).collect();
    Check::ok("settings", format!("from {}", shown.join(", ")))
}

fn text(findings: &Findings) -> String {
    let width = findings.checks.iter().map(|check| check.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for Check { name, status, message, next } in &findings.checks {
        let status = match status {
            Status::Ok => "ok  ",
            Status::Warn => "warn",
            Status::Fail => "FAIL",
        };
        out += &format!("{status}  {name:width$}  {message}\n");
        if let Some(next) = next {
            out += &format!("{:width$}next: {next}\n", "", width = width + 8);
        }
    }
    let counts = match (findings.warned, findings.failed) {
        (0, 0) => "all is well".to_owned(),
        (warned, failed) => format!("{failed} failed, {warned} to look at"),
    };
    out + &counts
}
