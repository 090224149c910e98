//! The log on standard error and, if a collector is configured, the export of spans ([`spans`]).

mod spans;

use std::io::IsTerminal;

use kenning_settings::{LogFormat, LogLevel, Server};
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

pub(crate) use spans::adopt;

use spans::Spans;

/// Target of the spans that the adapters make. They are exported and never logged.
const SPANS: &str = "kenning::span";

/// Must end with [`Self::finish`], which sends the spans that are still queued.
pub(crate) struct Telemetry(Option<Spans>);

/// Whether requests are traced. Only servers have requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tracing {
    /// As OpenTelemetry's environment variables say.
    FromEnvironment,
    Off,
}

impl Telemetry {
    pub(crate) fn start(settings: &Server, tracing: Tracing) -> Self {
        let spans = match tracing {
            Tracing::FromEnvironment => Spans::start(),
            Tracing::Off => Ok(None),
        };
        let (spans, problem) = match spans {
            Ok(spans) => (spans, None),
            Err(problem) => (None, Some(problem)),
        };
        let exported = spans.as_ref().map(Spans::layer);
        let logged = stderr(settings.log_format).with_filter(filter(settings.log_level));
        // A second call, as in tests, fails and keeps the first subscriber.
        let _ = tracing_subscriber::registry().with(exported).with(logged).try_init();
        if let Some(problem) = problem {
            tracing::warn!("tracing is off: {problem}");
        }
        Self(spans)
    }

    pub(crate) fn finish(self) {
        if let Some(spans) = self.0 {
            spans.finish();
        }
    }
}

type BoxedLayer<S> = Box<dyn Layer<S> + Send + Sync>;

fn stderr<S>(format: LogFormat) -> BoxedLayer<S>
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    match format {
        LogFormat::Text => {
            lines.with_ansi(std::io::stderr().is_terminal()).with_target(false).boxed()
        }
        LogFormat::Json => {
            let lines = lines.with_ansi(false).json().flatten_event(true);
            lines.with_current_span(false).with_span_list(false).boxed()
        }
    }
}

fn filter(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Error => Level::ERROR,
        LogLevel::Warn => Level::WARN,
        LogLevel::Info => Level::INFO,
        LogLevel::Debug => Level::DEBUG,
        LogLevel::Trace => Level::TRACE,
    };
    // Lines of libraries help only in debugging.
    let others = if level >= Level::DEBUG { level } else { Level::ERROR };
    let targets = Targets::new().with_default(others).with_target("kenning", level);
    targets.with_target(SPANS, LevelFilter::OFF)
}
