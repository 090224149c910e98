//! Records the calls of a server that reports them itself.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use kenning_gaps::event::IntentSource;
use kenning_gaps::{Identity, Redactor};
use serde_json::Value;

use crate::LAST_SHIPMENT;
use crate::call::Finished;
use crate::capture::{Capture, Tally};
use crate::inject::ToolFacts;
use crate::sink::Sink;

/// Tools whose definitions are remembered; the names come from the server.
const MAX_TOOLS: usize = 10_000;

/// A finished tool call, as the server saw it.
#[derive(Debug, Clone)]
pub struct Observed<'a> {
    pub tool: String,
    /// As the tool received them, without the contract's parameter.
    pub arguments: Value,
    pub intent: Option<Intent>,
    /// The query, if it is a call of one of our own tools that found nothing.
    pub missed: Option<String>,
    /// The `result` of the call, or the text of its error.
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

/// The caller. An absent field is as in the recorder's identity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    pub client: Option<String>,
    pub user_id: Option<String>,
    pub user_email: Option<String>,
}

/// Records calls. Clones share one queue; dropping the last clone ships what is left, for which it
/// waits a few seconds at most.
#[derive(Debug, Clone)]
pub struct Recorder {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    capture: Arc<Capture>,
    /// Shared by all sessions: the tools are the server's, whichever client listed them.
    tools: Mutex<HashMap<String, ToolFacts>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.capture.finish(LAST_SHIPMENT);
    }
}

impl Recorder {
    /// Starts a thread that redacts calls and hands them to the sink.
    pub fn start(
        project_id: &str,
        identity: Identity,
        redactor: Redactor,
        sink: Arc<dyn Sink>,
    ) -> Self {
        let capture = Capture::start(project_id.to_owned(), identity, redactor, sink);
        Self { shared: Arc::new(Shared { capture, tools: Mutex::default() }) }
    }

    /// Records a call. It neither blocks nor fails: when the queue is full, the oldest call is
    /// dropped, and counted.
    pub fn record(&self, observed: Observed<'_>) {
        self.capture().push(Finished::observed(observed));
    }

    /// Records which tools the server offers, so that unused ones can be reported.
    pub fn tools<T: AsRef<str>>(&self, names: impl IntoIterator<Item = T>) {
        self.capture().listed(names);
    }

    /// Ships what is left, and waits for the sink no longer than `patience`. Calls that it has not
    /// taken by then are counted as dropped, and logged. Nothing is recorded from then on.
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
        self.tools_by_name().get(name).cloned()
    }

    pub(crate) fn learn(&self, tool: ToolFacts) {
        let mut tools = self.tools_by_name();
        if tools.len() < MAX_TOOLS || tools.contains_key(&tool.name) {
            tools.insert(tool.name.clone(), tool);
        }
    }

    fn tools_by_name(&self) -> MutexGuard<'_, HashMap<String, ToolFacts>> {
        self.shared.tools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
