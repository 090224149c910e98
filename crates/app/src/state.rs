//! The application while it runs: what is offered, what it draws on, and how a call is made.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::call::{Answer, Call, CallError, Context};
use crate::operation::Operation;

use crate::inventory::Inventory;
use crate::limit::Limit;
use crate::limiter::{Capacity, Limiter, Refused, Workload};
use crate::metrics::{Metrics, OperationFigures, Typical};

use crate::recording::{RecordedCall, Tally};
use crate::resource::{Contents, MAX_COMPLETIONS, Page, ReadError, Resource};
use crate::services::Services;

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Resources on one page of a list.
const PAGE: usize = 100;

/// What holds for lists and completions of all resource families.
pub(crate) fn limits() -> Vec<Limit> {
    vec![
        Limit::of_server("resource_page_size", PAGE),
        Limit::of_server("max_completion_values", MAX_COMPLETIONS),
    ]
}

/// An inventory and the services behind it. All clients share one; those that are offered something
/// else get a state of their own over the same services, limiter and metrics.
#[derive(Debug, Clone)]
pub struct AppState {
    pub inventory: Arc<Inventory>,
    pub services: Arc<Services>,
    pub limiter: Limiter,
    pub(crate) protocol: Arc<Protocol>,
    metrics: Arc<Metrics>,
}

/// What the server tells of the protocol it speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protocol {
    /// The newest version of MCP.
    pub mcp_version: String,
    /// The version of the SDK.
    pub sdk_version: String,
}

impl AppState {
    pub fn new(
        inventory: Inventory,
        services: Services,
        capacity: Capacity,
        protocol: Protocol,
    ) -> Self {
        let metrics = Arc::new(Metrics::new(&inventory.operations));
        Self {
            inventory: Arc::new(inventory),
            services: Arc::new(services),
            limiter: Limiter::new(capacity),
            protocol: Arc::new(protocol),
            metrics,
        }
    }

    /// The same application with something else on offer, behind a queue of its own.
    #[must_use]
    pub fn offering(&self, inventory: Inventory) -> Self {
        let limiter = self.limiter.with_own_queue();
        Self { inventory: Arc::new(inventory), limiter, ..self.clone() }
    }

    /// The same application without operations that write.
    #[must_use]
    pub fn read_only(&self) -> Self {
        self.offering(self.inventory.read_only())
    }

    /// Runs an operation: parses the arguments, waits for a permit, runs, sanitises, measures and
    /// records.
    pub async fn call(&self, operation: &Operation, call: Call) -> Result<Answer, CallError> {
        let began = Instant::now();
        let recorder = self.services.recorder.as_ref().filter(|_| operation.tool.is_some());
        let record = recorder.map(|to| (to, RecordedCall::begin(operation.name, &call)));
        let outcome = self.run(operation, call).await;
        let took = began.elapsed();
        match &outcome {
            Ok(_) => self.metrics.record(operation.name, took),
            Err(_) => self.metrics.record_error(operation.name),
        }
        match (&outcome, record) {
            // A full queue says nothing about what agents need, and a flood must not fill the store.
            (Err(CallError::Refused(Refused::Busy(_))), _) | (_, None) => {}
            (_, Some((recorder, record))) => recorder.record(record.finish(took, &outcome)),
        }
        outcome
    }

    /// Records a call of a tool that does not exist: an agent wanted something that is missing.
    pub fn record_unknown(&self, tool: &str, call: &Call, message: &str) {
        if let Some(recorder) = &self.services.recorder {
            let outcome = Err(message.to_owned());
            recorder.record(RecordedCall { outcome, ..RecordedCall::begin(tool, call) });
        }
    }

    async fn run(&self, operation: &Operation, call: Call) -> Result<Answer, CallError> {
        let Call { surface, arguments, expected, progress, .. } = call;
        let context = Context { expected, progress, ..Context::default() };
        let services = self.services.clone();
        let done = if operation.has_quick_calls {
            let work = operation.prepare(&services, arguments, surface);
            let work = work.map_err(|fault| CallError::Fault(fault.sanitized()))?;
            let is_quick = work.is_quick;
            let run = move || (work.run)(&services, context);
            if is_quick {
                self.limiter.run_inline(operation.workload, run).await
            } else {
                self.limiter.run(operation.workload, run).await
            }
        } else {
            let workload = operation.workload;
            let operation = operation.clone();
            let run = move || {
                let work = operation.prepare(&services, arguments, surface)?;
                (work.run)(&services, context)
            };
            self.limiter.run(workload, run).await
        };
        let done = done.map_err(|refused| CallError::Refused(refused.about(operation.effect)))?;
        done.map_err(|fault| CallError::Fault(fault.sanitized()))
    }

    /// Runs work of an adapter, such as a page, under the same limits as calls.
    pub async fn work<T: Send + 'static>(
        &self,
        workload: Workload,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, Refused> {
        let state = self.clone();
        self.limiter.run(workload, move || work(&state)).await
    }

    pub(crate) fn limits(&self) -> impl Iterator<Item = Limit> {
        let capacity = self.limiter.capacity().limits();
        capacity.into_iter().chain(self.inventory.limits.iter().copied())
    }

    /// How each operation on offer fared so far.
    pub fn figures(&self) -> Vec<OperationFigures> {
        let figures = self.metrics.figures().into_iter();
        figures.filter(|one| self.inventory.tool(one.operation).is_some()).collect()
    }

    pub(crate) fn typical(&self, operation: &str) -> Option<Typical> {
        self.metrics.typical(operation)
    }

    /// How many calls were recorded; `None` if recording is off.
    pub fn recorded_calls(&self) -> Option<Tally> {
        self.services.recorder.as_ref().map(|recorder| recorder.tally())
    }

    /// What reading a URI, or completing it, waits for.
    pub fn workload_of(&self, uri: &str) -> Workload {
        self.inventory.family(uri).map_or(Workload::Local, |family| family.family().workload)
    }

    pub fn read(&self, uri: &str) -> Result<Contents, ReadError> {
        let Some(family) = self.inventory.family(uri) else {
            let families = self.inventory.resources.iter();
            let known: Vec<String> =
                families.map(|one| format!("`{}://`", one.family().scheme)).collect();
            return Err(ReadError {
                message: format!("no resource is called `{uri}`"),
                hint: format!("URIs start with {}", known.join(", ")),
            });
        };
        family.read(self, uri).map(Contents::sanitized).map_err(ReadError::sanitized)
    }

    /// A page of the resources of all families, one after the other. The cursor is the last URI of
    /// the page before.
    pub fn page(&self, cursor: Option<&str>) -> Page {
        let mut resources: Vec<Resource> = Vec::new();
        let at_cursor =
            |scheme: &str| cursor.is_none_or(|uri| uri.split("://").next() == Some(scheme));
        let families = self.inventory.resources.iter();
        for (i, family) in families.skip_while(|one| !at_cursor(one.family().scheme)).enumerate() {
            let after = cursor.filter(|_| i == 0);
            let listed = family.list(&self.services, after, PAGE + 1 - resources.len());
            resources.extend(listed.into_iter().map(Resource::sanitized));
            if resources.len() > PAGE {
                break;
            }
        }
        let more = resources.len() > PAGE;
        resources.truncate(PAGE);
        let next_cursor = resources.last().filter(|_| more).map(|last| last.uri.clone());
        Page { resources, next_cursor }
    }

    /// Values for a variable of the template `uri`, given those chosen already.
    pub fn complete_resource(
        &self,
        uri: &str,
        argument: &str,
        typed: &str,
        chosen: &HashMap<String, String>,
    ) -> Vec<String> {
        let family = self.inventory.family(uri);
        let values = family.map(|family| family.complete(&self.services, argument, chosen));
        matching(values.unwrap_or_default(), typed)
    }

    /// Values for an argument of a prompt.
    pub fn complete_prompt(&self, prompt: &str, argument: &str, typed: &str) -> Vec<String> {
        let prompt = self.inventory.prompt(prompt);
        let argument =
            prompt.and_then(|prompt| prompt.arguments.iter().find(|a| a.name == argument));
        let complete = argument.and_then(|argument| argument.complete);
        matching(complete.map(|values| values(&self.services)).unwrap_or_default(), typed)
    }
}

/// Values that contain the typed text, those that start with it first.
fn matching(values: Vec<String>, typed: &str) -> Vec<String> {
    let typed = typed.to_lowercase();
    let (starting, rest): (Vec<_>, Vec<_>) =
        values.into_iter().partition(|value| value.to_lowercase().starts_with(&typed));
    let containing = rest.into_iter().filter(|value| value.to_lowercase().contains(&typed));
    starting.into_iter().chain(containing).collect()
}
