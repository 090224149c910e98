//! A place for calls that does not want them.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::borrow::Cow;
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use axum::http::StatusCode;
use axum::routing::post;
use kenning_gaps::{Identity, Redactor};
use kenning_wrap::{Caller, Ingest, Observed, Recorder};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// What was said to people, at whatever level.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<(Level, String)>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl Subscriber for Said {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("kenning_wrap")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push((*event.metadata().level(), text.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn observed() -> Observed<'static> {
    Observed {
        tool: "t".to_owned(),
        arguments: json!({}),
        intent: None,
        missed: None,
        outcome: Ok(Cow::Owned(json!({}))),
        started: SystemTime::now(),
        duration: Duration::ZERO,
        caller: Caller::default(),
    }
}

#[test]
fn a_refusal_is_said_once_and_clearly() {
    let said = Said::default();
    tracing::subscriber::set_global_default(said.clone()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let refuse = || async { (StatusCode::UNAUTHORIZED, "who are you?") };
    let app = axum::Router::new().route("/ingest", post(refuse));
    runtime.spawn(async move { axum::serve(listener, app).await });

    let sink = Arc::new(Ingest::new(&base, Some("wrong".to_owned())));
    let recorder = Recorder::start("p", Identity::default(), Redactor::default(), sink);
    for _ in 0..1_000 {
        recorder.record(observed());
    }
    recorder.finish(Duration::from_mins(1));

    let said = said.0.lock().unwrap();
    let [(first, why), (second, sum)] = &said[..] else { panic!("said twice: {said:?}") };
    assert_eq!((*first, *second), (Level::ERROR, Level::ERROR));
    let reason = format!("{base}/ingest answered 401 Unauthorized: who are you?");
    assert!(why.contains(&reason) && why.contains("is the secret right?"), "{why}");
    assert!(sum.contains("count=1000"), "{sum}");
}
