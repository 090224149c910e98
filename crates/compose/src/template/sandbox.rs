//! One run of one template.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};
use serde_json::Map;

use super::{Budget, filters, harden, operators};
use crate::error::{Error, shortened_to};
use crate::folder::Folder;
use crate::limits::Limits;

/// What looking for a file costs: a list of names can be included, and looped over.
const LOOKUP: u64 = 10_000;
/// How much of the engine's message an error repeats: it may have values in it.
const PROBLEM: usize = 500;

/// Where templates run: which folder they may include from, and how much they may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sandbox<'a> {
    pub(crate) root: &'a Arc<Folder>,
    pub(crate) limits: &'a Limits,
}

#[derive(Debug, Default)]
pub(crate) struct Rendered {
    pub(crate) text: String,
    /// Names the template and those it included mention.
    pub(crate) mentioned: BTreeSet<String>,
    /// Files it included, with the hash of each.
    pub(crate) files: BTreeMap<String, String>,
}

/// What the loader saw.
#[derive(Debug, Default)]
struct Seen {
    mentioned: BTreeSet<String>,
    files: BTreeMap<String, String>,
    fault: Option<Error>,
}

impl Sandbox<'_> {
    /// `id` is whose template it is, for messages.
    pub(crate) fn render(
        self,
        id: &str,
        source: &str,
        context: &Map<String, serde_json::Value>,
    ) -> Result<Rendered, Error> {
        let hardened = harden(source).map_err(|error| fault(id, &error))?;
        let budget = Arc::new(Budget::new(self.limits.template_work_bytes));
        let seen = Arc::new(Mutex::new(Seen::default()));
        let mut env = self.environment(&budget);
        self.load_from_root(&mut env, &seen, &budget);
        let mut writer = Capped { bytes: Vec::new(), limit: self.limits.template_output_bytes };
        let outcome = env.template_from_named_str(id, &hardened.source).and_then(|template| {
            template.render_captured_to(Value::from(Serde(context)), &mut writer).map(drop)
        });
        let mut seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
        if let Err(error) = outcome {
            return Err(match (seen.fault.take(), error_kind(&error)) {
                (Some(fault), _) => fault,
                (None, ErrorKind::OutOfFuel) => Error::Exhausted { name: "template_fuel" },
                _ if writer.is_full() => Error::Exhausted { name: "template_output_bytes" },
                _ if budget.is_spent() => Error::Exhausted { name: "template_work_bytes" },
                _ => fault(id, &error),
            });
        }
        seen.mentioned.extend(hardened.mentioned);
        let text = String::from_utf8(writer.bytes).unwrap_or_default();
        Ok(Rendered { text, mentioned: seen.mentioned, files: seen.files })
    }

    fn environment(self, budget: &Arc<Budget>) -> Environment<'static> {
        let mut env = Environment::new();
        env.set_undefined_behavior(UndefinedBehavior::Strict);
        env.set_auto_escape_callback(|_| AutoEscape::None);
        env.set_fuel(Some(self.limits.template_fuel));
        env.set_recursion_limit(self.limits.template_recursion);
        // So that errors say which value is undefined.
        env.set_debug(true);
        env.remove_global("debug");
        env.remove_global("dict");
        let paid = budget.clone();
        env.set_formatter(move |out, state, value| {
            paid.spend_value(value)?;
            minijinja::escape_formatter(out, state, value)
        });
        operators::register(&mut env, budget);
        filters::register(&mut env, budget);
        env
    }

    /// Includes are read from the workspace and hardened like the template itself.
    fn load_from_root(
        self,
        env: &mut Environment<'_>,
        seen: &Arc<Mutex<Seen>>,
        budget: &Arc<Budget>,
    ) {
        let (root, seen, budget) = (self.root.clone(), seen.clone(), budget.clone());
        let max = self.limits.max_content_size_bytes;
        env.set_loader(move |name| {
            budget.spend(LOOKUP)?;
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            let text = match root.read(name, max) {
                Ok(Some(text)) => text,
                Ok(None) => return Ok(None),
                Err(error) => {
                    let problem = error.to_string();
                    seen.fault = Some(error);
                    return Err(minijinja::Error::new(ErrorKind::BadInclude, problem));
                }
            };
            budget.spend(text.len() as u64)?;
            let hardened = match harden(&text) {
                Ok(hardened) => hardened,
                Err(error) => {
                    seen.fault = Some(fault(name, &error));
                    return Err(error);
                }
            };
            seen.mentioned.extend(hardened.mentioned);
            seen.files.insert(name.to_owned(), blake3::hash(text.as_bytes()).to_hex().to_string());
            Ok(Some(hardened.source))
        });
    }
}

/// The innermost error: an include's is wrapped in that of the template.
fn innermost(error: &minijinja::Error) -> &minijinja::Error {
    let mut inner = error;
    while let Some(next) = std::error::Error::source(inner).and_then(|e| e.downcast_ref()) {
        inner = next;
    }
    inner
}

fn error_kind(error: &minijinja::Error) -> ErrorKind {
    innermost(error).kind()
}

fn fault(id: &str, error: &minijinja::Error) -> Error {
    let inner = innermost(error);
    let kind = inner.kind().to_string();
    let problem = match inner.detail() {
        Some(detail) if inner.kind() == ErrorKind::InvalidOperation => detail.to_owned(),
        Some(detail) => format!("{kind}: {detail}"),
        None => kind,
    };
    let problem = match inner.name().filter(|name| *name != id && !name.starts_with('<')) {
        Some(file) => format!("`{file}`: {problem}"),
        None => problem,
    };
    Error::Template {
        id: id.to_owned(),
        line: inner.line(),
        problem: shortened_to(&problem, PROBLEM),
    }
}

/// Takes bytes up to a limit and then no more.
struct Capped {
    bytes: Vec<u8>,
    limit: usize,
}

impl Capped {
    fn is_full(&self) -> bool {
        self.limit == 0
    }
}

impl Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.limit {
            self.limit = 0;
            return Err(std::io::Error::other("the output is too long"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
