//! A transparent proxy around any MCP server, which records tool calls to find capability gaps.
//!
//! [`run`] is the proxy, between a client on our standard streams and a server that is a program
//! ([`child`]) or a URL ([`remote`]). [`lines`] pass as they are ([`relay`]), except where the
//! contract of `kenning-gaps` changes them ([`interceptor`], [`inject`], on [`raw`] JSON). Recorded
//! calls go to a [`Sink`] from a thread of their own ([`capture`]). A [`watchdog`] process ends the
//! server if the wrapper is killed.
//!
//! A server under one's own control needs no proxy: it reports its calls to a [`Recorder`], and
//! [`layer::Recorded`] adds the contract to a server made with the SDK.
//!
//! Nothing here prints or reads the environment.

mod bounded_json;
mod call;
mod capture;
mod child;
pub mod fuzz;
mod inject;
mod interceptor;
pub mod layer;
pub mod lines;
mod raw;
mod recorder;
mod relay;
mod remote;
mod sanitize;
mod sink;
mod stdio;
pub mod watchdog;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use kenning_gaps::contract::Offer;
use kenning_gaps::native::NativeIntent;
use kenning_gaps::{Identity, Redactor};

use crate::capture::Capture;
pub use crate::capture::Tally;
use crate::interceptor::Interceptor;
pub use crate::recorder::{Caller, Intent, Observed, Recorder};
pub use crate::sink::{IngestSink, NullSink, Sink, SinkError, StoreSink};

/// Bytes of one message; a larger one is not held in memory.
const MAX_MESSAGE: usize = 64 * 1024 * 1024;
/// How long the last recorded calls may delay the exit.
const LAST_SHIPMENT: Duration = Duration::from_secs(3);

/// What to wrap, and how.
#[derive(Debug, Clone)]
pub struct Options {
    pub target: Target,
    /// The project that the calls are recorded for.
    pub project_id: String,
    /// The caller. Client and server version are filled in from the traffic.
    pub identity: Identity,
    pub offer: Offer,
    pub native_intent: NativeIntent,
    pub redactor: Redactor,
    /// How long a server whose input is closed may be silent before SIGTERM, and then before
    /// SIGKILL.
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
        /// A command that does nothing but call [`watchdog::run`].
        watchdog: Vec<OsString>,
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
    /// The exit code a shell would report.
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
    #[error("the watchdog process `{program}` cannot be started: {source}")]
    Watchdog { program: String, source: std::io::Error },
    #[error("`{url}` is not the URL of a server: {reason}")]
    Url { url: String, reason: String },
    #[error("`{name}` is not a header: {reason}")]
    Header { name: String, reason: String },
    #[error("the standard streams cannot be used: {0}")]
    Streams(std::io::Error),
    #[error("signals cannot be received: {0}")]
    Signals(std::io::Error),
}

/// Wraps a server until it exits or the client is gone. Best run on a current-thread runtime:
/// there is little to do, and moving a line between threads takes time.
pub async fn run(options: Options, sink: Arc<dyn Sink>) -> Result<Exit, WrapError> {
    let Options { target, project_id, identity, offer, native_intent, redactor, grace } = options;
    let capture = Capture::start(project_id, identity, redactor, sink);
    let interceptor = Arc::new(Interceptor::new(offer, native_intent, capture.clone()));
    let streams = stdio::open().map_err(WrapError::Streams)?;
    let ended = match target {
        Target::Program { command, watchdog } => {
            child::run(&command, &watchdog, streams, interceptor, grace).await
        }
        Target::Url { url, headers } => remote::run(&url, &headers, streams, interceptor).await,
    };
    // Blocks an async thread, which has nothing else left to do.
    capture.finish(LAST_SHIPMENT);
    ended
}

/// Installs the TLS provider, unless the program has installed one.
fn choose_encryption() {
    // An error means that the program has.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
