//! What the process tells of itself: lines on standard error, and, if there is a collector, spans
//! ([`spans`]).

mod spans;

use std::io::IsTerminal;

use kenning_settings::{LogFormat, LogLevel, Server};
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Layer, Registry};

pub(crate) use spans::adopt;

use spans::Spans;

/// Those of the adapters, for collectors and nobody else.
const SPANS: &str = "kenning::span";

/// Ends with [`Self::finish`], which sends what is left.
pub(crate) struct Telemetry(Option<Spans>);

/// Whether requests are traced: only a server has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tracing {
    AsVariablesSay,
    Off,
}

impl Telemetry {
    pub(crate) fn start(settings: &Server, tracing: Tracing) -> Self {
        let spans = match tracing {
            Tracing::AsVariablesSay => Spans::start(),
            Tracing::Off => Ok(None),
        };
        let (spans, problem) = match spans {
            Ok(spans) => (spans, None),
            Err(problem) => (None, Some(problem)),
        };
        let exported = spans.as_ref().map(Spans::layer);
        let logged = stderr(settings.log_format).with_filter(filter(settings.log_level));
        // A second call, as in tests, keeps the first subscriber.
        let _ = tracing_subscriber::registry().with(exported).with(logged).try_init();
        if let Some(problem) = problem {
            tracing::warn!("requests are not traced: {problem}");
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
    // Libraries speak only when somebody is looking for a fault.
    let others = if level >= Level::DEBUG { level } else { Level::ERROR };
    let targets = Targets::new().with_default(others).with_target("kenning", level);
    targets.with_target(SPANS, LevelFilter::OFF)
}

/// The layers lie on each other; the lowest is this.
type Ground = Registry;
