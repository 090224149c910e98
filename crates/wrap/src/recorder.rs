//! What a server saw of its calls, on its way to a sink.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use kenning_gaps::event::IntentSource;
use kenning_gaps::{Identity, Redactor};
use serde_json::Value;

use crate::LAST_REPORT;
use crate::call::Finished;
use crate::capture::{Capture, Tally};
use crate::inject::ToolFacts;
use crate::sink::Sink;

/// Tools whose definitions are remembered.
const MAX_TOOLS: usize = 10_000;

/// A call of a tool, as whoever served it saw it.
#[derive(Debug, Clone)]
pub struct Observed<'a> {
    pub tool: String,
    /// As the tool got them: without the contract's parameter.
    pub arguments: Value,
    pub intent: Option<Intent>,
    /// The query, if it is a call of one of our own tools that found nothing.
    pub missed: Option<String>,
    /// The `result` of the call, or why there is none.
    pub outcome: Result<Cow<'a, Value>, String>,
    pub started: SystemTime,
    pub duration: Duration,
    pub caller: Caller,
}

/// Why a tool was called, in the agent's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    pub text: String,
    pub source: IntentSource,
}

/// Who called. What is absent is as the recorder's identity has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    pub client: Option<String>,
    pub user_id: Option<String>,
    pub user_email: Option<String>,
}

/// Takes down what was called. Clones write to the same record; when the last one goes, what is
/// left is shipped, for which it waits a few seconds at most.
#[derive(Debug, Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    capture: Arc<Capture>,
    /// What one session's list says of the tools holds for the others.
    tools: Mutex<HashMap<String, ToolFacts>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.capture.finish(LAST_REPORT);
    }
}

impl Recorder {
    /// Starts a thread that takes secrets out and hands what was called to the sink.
    pub fn start(
        project_id: &str,
        identity: Identity,
        redactor: Redactor,
        sink: Arc<dyn Sink>,
    ) -> Self {
        let capture = Capture::start(project_id.to_owned(), identity, redactor, sink);
        Self { shared: Arc::new(Shared { capture, tools: Mutex::default() }) }
    }

    /// Takes down a call. It waits for nobody and does not fail: when too much is waiting for the
    /// sink, the oldest is forgotten.
    pub fn record(&self, observed: Observed<'_>) {
        self.capture().push(Finished::observed(observed));
    }

    /// Takes down which tools the server offers, so that those nobody calls can be told.
    pub fn tools<T: AsRef<str>>(&self, names: impl IntoIterator<Item = T>) {
        self.capture().listed(names);
    }

    /// Ships what is left; waits no longer than this for a sink that does not answer. Nothing is
    /// taken down any more.
    pub fn finish(&self, patience: Duration) {
        self.capture().finish(patience);
    }

    /// What became of the calls so far.
    pub fn tally(&self) -> Tally {
        self.capture().tally()
    }

    pub(crate) fn capture(&self) -> &Capture {
        &self.shared.capture
    }

    pub(crate) fn tool(&self, name: &str) -> Option<ToolFacts> {
        self.known().get(name).cloned()
    }

    pub(crate) fn learn(&self, tool: ToolFacts) {
        let mut known = self.known();
        if known.len() < MAX_TOOLS || known.contains_key(&tool.name) {
            known.insert(tool.name.clone(), tool);
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, ToolFacts>> {
        self.shared.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
