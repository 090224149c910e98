//! A recorder in a server that does not use MCP's SDK, and sinks that fail it.

use std::borrow::Cow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use axum::http::StatusCode;
use kenning_gaps::event::IntentSource;
use kenning_gaps::{Batch, Identity, Redactor};
use kenning_testkit::{DEADLINE, eventually};
use kenning_wrap::{Caller, IngestSink, Intent, Observed, Recorder, Sink, SinkError, Tally};
use serde_json::{Value, json};
use tracing::Level;

use crate::sink::{MemorySink, logged, serve_ingest};

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

fn start(project: &str, sink: Arc<dyn Sink>) -> Recorder {
    assert_eq!(logged(project), []);
    let identity = Identity { client: Some("everyone".to_owned()), ..Identity::default() };
    Recorder::start(project, identity, Redactor::default(), sink)
}

fn record(recorder: &Recorder, calls: usize) {
    for _ in 0..calls {
        recorder.record(observed(Ok(Value::Null)));
    }
}

/// The last line of the log must tell of the loss, once, with its number.
fn check_loss(project: &str, recorder: &Recorder, calls: u64, timed_out: bool) {
    assert_eq!(recorder.tally(), Tally { recorded: calls, dropped: calls });
    // A second `finish` and the drop of the recorder log nothing more.
    recorder.finish(Duration::ZERO);
    let log = logged(project);
    let lost: Vec<_> = log.iter().filter(|(_, text)| text.contains("not delivered")).collect();
    let [(level, text)] = lost[..] else { panic!("logged once: {log:?}") };
    assert_eq!(*level, Level::ERROR);
    let numbers = format!("dropped={calls} recorded={calls} timed_out={timed_out}");
    assert!(text.contains(&numbers), "{text}");
}

#[test]
fn dropping_the_last_recorder_ships_redacted_calls() {
    let sink = Arc::new(MemorySink::default());
    let recorder = start("p", sink.clone());
    let other = recorder.clone();
    recorder.record(observed(Ok(json!({"sent": "to a@b.co"}))));
    drop(recorder);
    other.record(observed(Err("no printer at 10.0.0.1, ask a@b.co".to_owned())));
    drop(other);
    let batches = sink.batches.lock().unwrap();
    let [batch] = &batches[..] else { panic!("one batch: {batches:?}") };
    assert_eq!(batch.project_id, "p");
    assert_eq!(batch.identity.client.as_deref(), Some("everyone"));
    let [done, failed] = &batch.events[..] else { panic!("two calls: {batch:?}") };
    assert_eq!(done.tool_name, "export");
    assert_eq!((done.timestamp, done.duration_ms), (1_700_000_000_123, 7));
    let arguments = json!({"to": "[REDACTED_EMAIL]", "password": "[REDACTED_FIELD]"});
    assert_eq!(done.arguments, arguments);
    assert_eq!(done.intent.as_deref(), Some("wanted a PDF for [REDACTED_EMAIL]"));
    assert_eq!(done.missed.as_deref(), Some("a PDF for [REDACTED_EMAIL]"));
    assert_eq!(done.intent_source, Some(IntentSource::Native));
    assert_eq!(done.result, Some(json!({"sent": "to [REDACTED_EMAIL]"})));
    assert_eq!(done.user_id.as_deref(), Some("u1"));
    assert!(failed.is_error && failed.result.is_none());
    let message = failed.error_message.as_deref().unwrap();
    assert_eq!(message, "no printer at 10.0.0.1, ask [REDACTED_EMAIL]");
}

/// Says when it was given a batch, and blocks until it is released.
struct Hanging {
    given: Sender<()>,
    released: Mutex<Receiver<()>>,
}

impl Sink for Hanging {
    fn send(&self, _: &Batch) -> Result<(), SinkError> {
        let _ = self.given.send(());
        let _ = self.released.lock().unwrap().recv();
        Ok(())
    }
}

#[test]
fn a_sink_that_never_answers_blocks_no_call_and_its_calls_are_counted_and_logged() {
    let ((given, was_given), (release, released)) = (channel(), channel());
    let recorder = start("hangs", Arc::new(Hanging { given, released: Mutex::new(released) }));
    record(&recorder, 20);
    was_given.recv_timeout(DEADLINE).unwrap();
    // More than the queue holds, while nothing is taken from it.
    record(&recorder, 20_000);
    recorder.finish(Duration::ZERO);
    check_loss("hangs", &recorder, 20_020, true);
    // Calls that the sink takes after all are not lost.
    drop(release);
    eventually(DEADLINE, || (recorder.tally().dropped == 10_000).then_some(()));
}

/// Fails always, and says when it did.
struct Unavailable(Sender<()>);

impl Sink for Unavailable {
    fn send(&self, _: &Batch) -> Result<(), SinkError> {
        let _ = self.0.send(());
        Err(SinkError::Unavailable("connection refused".to_owned()))
    }
}

#[test]
fn calls_for_a_sink_that_fails_until_shutdown_are_counted_and_logged() {
    let (failed, has_failed) = channel();
    let recorder = start("fails", Arc::new(Unavailable(failed)));
    record(&recorder, 200);
    has_failed.recv_timeout(DEADLINE).unwrap();
    record(&recorder, 50);
    assert_eq!(recorder.tally().dropped, 0, "some wait for a retry, some for their first attempt");
    recorder.finish(Duration::from_mins(1));
    check_loss("fails", &recorder, 250, false);
    let log = logged("fails");
    assert!(log.iter().any(|(_, text)| text.contains("connection refused")), "{log:?}");
}

struct Panicking;

impl Sink for Panicking {
    fn send(&self, _: &Batch) -> Result<(), SinkError> {
        panic!("as a sink of another crate might");
    }
}

#[test]
fn a_sink_that_panics_harms_no_call_and_its_calls_are_counted_and_logged() {
    let recorder = start("panics", Arc::new(Panicking));
    record(&recorder, 100);
    // Returns at once: the thread has ended.
    recorder.finish(Duration::from_mins(10));
    check_loss("panics", &recorder, 100, false);
    recorder.record(observed(Ok(Value::Null)));
    assert_eq!(recorder.tally(), Tally { recorded: 101, dropped: 101 });
}

#[test]
fn refused_calls_are_counted_and_the_reason_is_logged_once() {
    let (base, _) = serve_ingest(StatusCode::UNAUTHORIZED, "who are you?");
    let sink = Arc::new(IngestSink::new(&base, Some("hush".to_owned())));
    let recorder = start("refused", sink);
    record(&recorder, 1_000);
    recorder.finish(Duration::from_mins(1));
    check_loss("refused", &recorder, 1_000, false);
    let log = logged("refused");
    let [(level, why), _] = &log[..] else { panic!("the reason and the sum: {log:?}") };
    assert_eq!(*level, Level::ERROR);
    let reason = format!("{base}/ingest answered 401 Unauthorized: who are you?");
    assert!(why.contains(&reason) && why.contains("is the secret right?"), "{why}");
}
