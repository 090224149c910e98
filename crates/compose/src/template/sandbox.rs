//! One run of one template.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};
use serde_json::Map;

use super::{Budget, filters, harden, operators};
use crate::error::{Error, Result, shortened_to};
use crate::folder::Folder;
use crate::generator::Generated;
use crate::limits::Limits;
use crate::model::hash;

/// What a lookup of a file costs: a template can include a list of names, in a loop.
const LOOKUP: u64 = 10_000;
/// Characters of the engine's message in an error: it may quote values.
const MAX_PROBLEM: usize = 500;

/// Which folder templates may include from, and how much they may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sandbox<'a> {
    pub(crate) root: &'a Arc<Folder>,
    pub(crate) limits: &'a Limits,
}

/// What the loader of includes leaves behind: an output without text, and the error it failed with.
type Loaded = Arc<Mutex<(Generated, Option<Error>)>>;

impl Sandbox<'_> {
    /// `id` names the owner of the template in errors.
    pub(crate) fn render(
        self,
        id: &str,
        source: &str,
        context: &Map<String, serde_json::Value>,
    ) -> Result<Generated> {
        let hardened = harden(source).map_err(|error| template_error(id, &error))?;
        let budget = Arc::new(Budget::new(self.limits.template_work_bytes));
        let loaded = Loaded::default();
        let mut env = self.environment(&budget);
        self.load_from_root(&mut env, &loaded, &budget);
        let mut writer = Capped { bytes: Vec::new(), limit: self.limits.template_output_bytes };
        let outcome = env.template_from_named_str(id, &hardened.source).and_then(|template| {
            template.render_captured_to(Value::from(Serde(context)), &mut writer).map(drop)
        });
        let (mut generated, load_error) =
            std::mem::take(&mut *loaded.lock().unwrap_or_else(PoisonError::into_inner));
        if let Err(error) = outcome {
            return Err(match (load_error, innermost(&error).kind()) {
                (Some(load_error), _) => load_error,
                (None, ErrorKind::OutOfFuel) => Error::Exhausted { name: "template_fuel" },
                _ if writer.is_full() => Error::Exhausted { name: "template_output_bytes" },
                _ if budget.is_spent() => Error::Exhausted { name: "template_work_bytes" },
                _ => template_error(id, &error),
            });
        }
        generated.mentioned.extend(hardened.mentioned);
        generated.text = String::from_utf8(writer.bytes).unwrap_or_default();
        Ok(generated)
    }

    fn environment(self, budget: &Arc<Budget>) -> Environment<'static> {
        let mut env = Environment::new();
        env.set_undefined_behavior(UndefinedBehavior::Strict);
        env.set_auto_escape_callback(|_| AutoEscape::None);
        env.set_fuel(Some(self.limits.template_fuel));
        env.set_recursion_limit(self.limits.template_recursion);
        // With it, errors name the undefined value.
        env.set_debug(true);
        env.remove_global("debug");
        env.remove_global("dict");
        let charged = budget.clone();
        env.set_formatter(move |out, state, value| {
            charged.spend_value(value)?;
            minijinja::escape_formatter(out, state, value)
        });
        operators::register(&mut env, budget);
        filters::register(&mut env, budget);
        env
    }

    /// Includes are read from the workspace and hardened like the template itself.
    fn load_from_root(self, env: &mut Environment<'_>, loaded: &Loaded, budget: &Arc<Budget>) {
        let (root, loaded, budget) = (self.root.clone(), loaded.clone(), budget.clone());
        let max = self.limits.max_content_size_bytes;
        env.set_loader(move |name| {
            budget.spend(LOOKUP)?;
            let mut loaded = loaded.lock().unwrap_or_else(PoisonError::into_inner);
            let text = match root.read(name, max) {
                Ok(Some(text)) => text,
                Ok(None) => return Ok(None),
                Err(error) => {
                    let problem = error.to_string();
                    loaded.1 = Some(error);
                    return Err(minijinja::Error::new(ErrorKind::BadInclude, problem));
                }
            };
            budget.spend(text.len() as u64)?;
            let hardened =
                harden(&text).inspect_err(|error| loaded.1 = Some(template_error(name, error)))?;
            loaded.0.mentioned.extend(hardened.mentioned);
            loaded.0.files.insert(name.to_owned(), hash(&text));
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

fn template_error(id: &str, error: &minijinja::Error) -> Error {
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
        problem: shortened_to(&problem, MAX_PROBLEM),
    }
}

/// Accepts bytes up to a limit, then fails. A limit of zero marks that it was exceeded.
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
