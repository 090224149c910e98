//! A recorder in a server that knows nothing of MCP's SDK.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::borrow::Cow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use kenning_gaps::event::IntentSource;
use kenning_gaps::{Batch, Identity, Redactor};
use kenning_wrap::{Caller, Intent, Observed, Recorder, Sink, SinkError};
use serde_json::{Value, json};

fn observed(outcome: Result<Value, String>) -> Observed<'static> {
    Observed {
        tool: "export".to_owned(),
        arguments: json!({"to": "a@b.co", "password": "hush"}),
        intent: Some(Intent {
            text: "wanted a PDF for a@b.co".to_owned(),
            source: IntentSource::Native,
        }),
        missed: Some("a PDF for a@b.co".to_owned()),
        outcome: outcome.map(Cow::Owned),
        started: UNIX_EPOCH + Duration::from_millis(1_700_000_000_123),
        duration: Duration::from_micros(7_900),
        caller: Caller { user_id: Some("u1".to_owned()), ..Caller::default() },
    }
}

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<Batch>>);

impl Sink for Kept {
    fn send(&self, batch: &Batch) -> Result<(), SinkError> {
        self.0.lock().unwrap().push(batch.clone());
        Ok(())
    }
}

fn start(sink: Arc<dyn Sink>) -> Recorder {
    let identity = Identity { client: Some("everyone".to_owned()), ..Identity::default() };
    Recorder::start("p", identity, Redactor::default(), sink)
}

#[test]
fn a_call_is_told_without_its_secrets_when_the_last_recorder_goes() {
    let sink = Arc::new(Kept::default());
    let recorder = start(sink.clone());
    let other = recorder.clone();
    recorder.record(observed(Ok(json!({"sent": "to a@b.co"}))));
    drop(recorder);
    other.record(observed(Err("no printer at 10.0.0.1, ask a@b.co".to_owned())));
    drop(other);
    let batches = sink.0.lock().unwrap();
    let [batch] = &batches[..] else { panic!("one batch: {batches:?}") };
    assert_eq!(batch.project_id, "p");
    assert_eq!(batch.identity.client.as_deref(), Some("everyone"));
    let [done, failed] = &batch.events[..] else { panic!("two calls: {batch:?}") };
    assert_eq!(done.tool_name, "export");
    assert_eq!((done.timestamp, done.duration_ms), (1_700_000_000_123, 7));
    let arguments = json!({"to": "[REDACTED_EMAIL]", "password": "[REDACTED_FIELD]"});
    assert_eq!(done.arguments, arguments);
    assert_eq!(done.intent.as_deref(), Some("wanted a PDF for [REDACTED_EMAIL]"));
    assert_eq!(done.intent_source, Some(IntentSource::Native));
    assert_eq!(done.missed.as_deref(), Some("a PDF for [REDACTED_EMAIL]"));
    assert_eq!(done.result, Some(json!({"sent": "to [REDACTED_EMAIL]"})));
    assert_eq!(done.user_id.as_deref(), Some("u1"));
    assert!(failed.is_error && failed.result.is_none());
    let said = failed.error_message.as_deref().unwrap();
    assert_eq!(said, "no printer at 10.0.0.1, ask [REDACTED_EMAIL]");
}

/// Says when it has been given something, and takes it when it is let.
struct Hanging {
    given: Sender<()>,
    let_go: Mutex<Receiver<()>>,
}

impl Sink for Hanging {
    fn send(&self, _: &Batch) -> Result<(), SinkError> {
        let _ = self.given.send(());
        let _ = self.let_go.lock().unwrap().recv();
        Ok(())
    }
}

#[test]
fn a_sink_that_hangs_holds_nobody_up() {
    let ((given, was_given), (go, let_go)) = (channel(), channel());
    let recorder = start(Arc::new(Hanging { given, let_go: Mutex::new(let_go) }));
    for _ in 0..20 {
        recorder.record(observed(Ok(Value::Null)));
    }
    was_given.recv().unwrap();
    // More than is kept, while nothing is taken.
    for _ in 0..20_000 {
        recorder.record(observed(Ok(Value::Null)));
    }
    recorder.finish(Duration::ZERO);
    drop(go);
}

struct Panicking;

impl Sink for Panicking {
    fn send(&self, _: &Batch) -> Result<(), SinkError> {
        panic!("as a sink of somebody else's might");
    }
}

#[test]
fn a_sink_that_panics_takes_nothing_with_it() {
    let recorder = start(Arc::new(Panicking));
    for _ in 0..100 {
        recorder.record(observed(Ok(Value::Null)));
    }
    // Returns at once: the thread is gone.
    recorder.finish(Duration::from_mins(10));
    recorder.record(observed(Ok(Value::Null)));
}
