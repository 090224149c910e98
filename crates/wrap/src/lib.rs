//! A transparent proxy around any MCP server, which hears what agents could not do.
//!
//! Somebody's own server needs no proxy: a [`Recorder`] takes down what its tools did, and
//! [`layer::Heard`] puts the contract into a server made with the SDK.
//!
//! [`run`] puts itself between a client on our standard streams and a server that is a program
//! ([`child`]) or an address ([`remote`]). Lines go by as they are ([`relay`]), except where the
//! contract of `kenning-gaps` needs it ([`front`], [`inject`], on JSON that stays [`raw`]). What was
//! called goes to a [`Sink`] beside the traffic ([`capture`]). A [`guard`] outlives us if we are
//! killed, so that the server does not.
//!
//! Nothing here prints or reads the environment.

mod awaited;
mod bounded;
mod call;
mod capture;
mod child;
mod exchange;
mod front;
pub mod guard;
mod inject;
pub mod layer;
mod message;
mod raw;
mod recorder;
mod relay;
mod remote;
mod reply;
mod seen;
mod session;
mod sink;
mod sse;
mod stdio;
pub mod trial;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use kenning_gaps::contract::Offer;
use kenning_gaps::native::NativeIntent;
use kenning_gaps::{Identity, Redactor};

use crate::capture::Capture;
pub use crate::capture::Tally;
use crate::front::Front;
pub use crate::recorder::{Caller, Intent, Observed, Recorder};
pub use crate::sink::{Ingest, LogSink, Nowhere, Sink, SinkError};

/// What one message may weigh: more is not held in memory.
const MAX_MESSAGE: usize = 64 * 1024 * 1024;
/// How long the last report may hold up the end.
const LAST_REPORT: Duration = Duration::from_secs(3);

/// What to wrap, and how.
#[derive(Debug, Clone)]
pub struct Options {
    pub target: Target,
    /// Whose calls these are, for the report.
    pub project_id: String,
    /// Who calls; client and server are filled in from what they say of themselves.
    pub identity: Identity,
    pub offer: Offer,
    pub native_intent: NativeIntent,
    pub redactor: Redactor,
    /// How long a server that should end may be silent before it is told to, and again before it
    /// is made to.
    pub grace: Duration,
}

impl Options {
    pub fn new(target: Target, project_id: &str) -> Self {
        Self {
            target,
            project_id: project_id.to_owned(),
            identity: Identity::default(),
            offer: Offer::default(),
            native_intent: NativeIntent::default(),
            redactor: Redactor::default(),
            grace: Duration::from_secs(5),
        }
    }
}

/// The server.
#[derive(Debug, Clone)]
pub enum Target {
    Program {
        /// The program and its arguments.
        command: Vec<OsString>,
        /// A command that does nothing but call [`guard::keep`].
        guard: Vec<OsString>,
    },
    Url {
        url: String,
        /// Sent with every request.
        headers: Vec<(String, String)>,
    },
}

/// How the server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(u8),
    Signal(i32),
}

impl Exit {
    /// The exit code that says the same, as shells have it.
    pub fn code(self) -> u8 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WrapError {
    #[error("there is no command to wrap")]
    NoCommand,
    #[error("`{program}` cannot be started: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("the guard `{program}` cannot be started: {source}")]
    Guard { program: String, source: std::io::Error },
    #[error("`{url}` is not an address of a server: {reason}")]
    Url { url: String, reason: String },
    #[error("`{name}` is not a header: {reason}")]
    Header { name: String, reason: String },
    #[error("the standard streams cannot be used: {0}")]
    Streams(std::io::Error),
    #[error("signals cannot be received: {0}")]
    Signals(std::io::Error),
}

/// Wraps a server until it ends, or the client is gone. Best run on a runtime with one thread:
/// there is little to do, and a line that changes threads is late.
pub async fn run(options: Options, sink: Arc<dyn Sink>) -> Result<Exit, WrapError> {
    let Options { target, project_id, identity, offer, native_intent, redactor, grace } = options;
    let capture = Capture::start(project_id, identity, redactor, sink);
    let front = Arc::new(Front::new(offer, native_intent, capture.clone()));
    let streams = stdio::open().map_err(WrapError::Streams)?;
    let ended = match target {
        Target::Program { command, guard } => {
            child::run(&command, &guard, streams, front, grace).await
        }
        Target::Url { url, headers } => remote::run(&url, &headers, streams, front).await,
    };
    // Not on an async thread for longer than it takes: nothing else is left to do there.
    capture.finish(LAST_REPORT);
    ended
}

/// Chooses how connections are encrypted, unless the program has chosen already.
fn choose_encryption() {
    // An error means that it has.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
