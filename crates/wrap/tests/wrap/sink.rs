//! Sinks that store what they are sent, and the log of the recorder.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, OnceLock};

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use kenning_gaps::{Batch, Event};
use kenning_wrap::{Sink, SinkError};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Metadata, Subscriber};

use crate::support::serve;

/// Stores batches and lists of tools in memory.
#[derive(Debug, Default)]
pub(crate) struct MemorySink {
    pub(crate) batches: Mutex<Vec<Batch>>,
    pub(crate) tools: Mutex<Vec<String>>,
}

impl Sink for MemorySink {
    fn send(&self, batch: &Batch) -> Result<(), SinkError> {
        self.batches.lock().unwrap().push(batch.clone());
        Ok(())
    }

    fn tools(&self, project_id: &str, tools: &[String]) {
        assert_eq!(project_id, "p");
        *self.tools.lock().unwrap() = tools.to_vec();
    }
}

impl MemorySink {
    pub(crate) fn events(&self) -> Vec<Event> {
        self.batches.lock().unwrap().iter().flat_map(|batch| batch.events.clone()).collect()
    }
}

/// Serves `/ingest` with one answer for all, and stores the bodies of the requests.
pub(crate) fn serve_ingest(
    status: StatusCode,
    answer: &'static str,
) -> (String, Arc<Mutex<Vec<Bytes>>>) {
    let bodies: Arc<Mutex<Vec<Bytes>>> = Arc::default();
    let stored = bodies.clone();
    let ingest = async move |headers: HeaderMap, body: Bytes| {
        assert_eq!(headers["x-mcpeye-secret"], "hush");
        stored.lock().unwrap().push(body);
        (status, answer)
    };
    let app = Router::new().route("/ingest", post(ingest)).layer(DefaultBodyLimit::disable());
    (serve(|_| app), bodies)
}

/// What this crate logged, in all tests.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(Level, String)>>>);

/// What was logged about a project. To be called before the project's recorder is started, too.
pub(crate) fn logged(project: &str) -> Vec<(Level, String)> {
    static LOG: OnceLock<Log> = OnceLock::new();
    let log = LOG.get_or_init(|| {
        let log = Log::default();
        tracing::subscriber::set_global_default(log.clone()).unwrap();
        log
    });
    let (log, field) = (log.0.lock().unwrap(), format!("project=\"{project}\""));
    log.iter().filter(|(_, text)| text.contains(&field)).cloned().collect()
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("kenning_wrap")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push((*event.metadata().level(), text.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
