//! `doctor`: checks the installation and changes nothing: it creates no folder, no table and no
//! vector. Every problem comes with the next step.
//!
//! [`services`] checks what the server serves from, [`environment`] the clients, git and network
//! around it.

mod environment;
mod services;

use kenning_settings::{Layers, Settings, Sources};
use serde::Serialize;

use crate::failure::{Exit, Failure};
use crate::printer::{Printer, count};

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
            checks.extend(services::checks(&settings, &layers));
            checks.extend(environment::checks());
            #[cfg(unix)]
            checks.extend(environment::shared_server(&settings, &layers));
            checks.push(environment::port(&settings));
        }
        Err(error) => {
            checks.push(Check::fail("settings", error.into()));
            checks.extend(environment::checks());
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
    Ok(Exit::success_if(findings.failed == 0))
}

fn program() -> Check {
    let path = std::env::current_exe().map(|path| path.display().to_string());
    let path = path.unwrap_or_else(|error| format!("at an unknown path: {error}"));
    Check::ok("version", format!("{}, {path}", env!("CARGO_PKG_VERSION")))
}

/// Names the files, variables and flags that the settings come from.
fn settings_check(layers: &Layers) -> Check {
    let mut origins: Vec<_> = layers.entries().map(|(_, _, origin)| origin).collect();
    origins.sort();
    origins.dedup();
    let origins: Vec<String> = origins.iter().map(ToString::to_string).collect();
    Check::ok("settings", format!("from {}", origins.join(", ")))
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
        (0, 0) => "No problems found".to_owned(),
        (warned, failed) => format!("{failed} failed, {}", count(warned, "warning")),
    };
    out + &counts
}
