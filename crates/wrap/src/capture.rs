//! Recorded calls on their way to a sink. The thread of the [`shipper`] redacts and sends them, so
//! that no call waits for either.

mod shipper;

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kenning_gaps::{Identity, Redactor};

use self::shipper::Shipper;
use crate::call::{Answer, Call, Finished};
use crate::sink::Sink;

const FLUSH_AT: usize = 20;
/// Events in the queue; beyond it the oldest are dropped.
const MAX_EVENTS: usize = 10_000;
/// Bytes of text in the queue, before redaction.
const MAX_BYTES: usize = 32 * 1024 * 1024;
const MAX_BATCH: usize = 200;

/// Queues finished calls for the shipper's thread.
#[derive(Debug)]
pub(crate) struct Capture {
    project_id: String,
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    finished: VecDeque<Finished>,
    bytes: usize,
    /// When the oldest of them came.
    since: Option<Instant>,
    identity: Identity,
    listed: BTreeSet<String>,
    listed_changed: bool,
    phase: Phase,
    recorded: u64,
    delivered: u64,
    dropped: u64,
    /// How many dropped calls the log tells of.
    dropped_logged: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    #[default]
    Open,
    /// The shipper sends what is left.
    Closing,
    /// The shipper still does, but nothing waits for it any more.
    Abandoned,
    /// The shipper's thread has ended.
    Ended,
}

/// What the shipper wakes up for.
struct Work {
    finished: Vec<Finished>,
    identity: Identity,
    listed: Option<Vec<String>>,
    closing: bool,
}

/// What became of the calls so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub recorded: u64,
    /// Of them, those that did not fit in the queue, that the sink refused, or that it had not
    /// taken at shutdown.
    pub dropped: u64,
}

impl Queue {
    fn tally(&self) -> Tally {
        // A sink that takes a batch after all, late, corrects the count.
        let is_over = self.phase >= Phase::Abandoned;
        let dropped = if is_over { self.recorded - self.delivered } else { self.dropped };
        Tally { recorded: self.recorded, dropped }
    }

    fn drain(&mut self) -> Work {
        self.bytes = 0;
        self.since = None;
        let listed = std::mem::take(&mut self.listed_changed);
        Work {
            finished: self.finished.drain(..).collect(),
            identity: self.identity.clone(),
            listed: listed.then(|| self.listed.iter().cloned().collect()),
            closing: self.phase >= Phase::Closing,
        }
    }
}

impl Capture {
    pub(crate) fn start(
        project_id: String,
        identity: Identity,
        redactor: Redactor,
        sink: Arc<dyn Sink>,
    ) -> Arc<Self> {
        let capture = Arc::new(Self::new(project_id, identity));
        let shipper = Shipper::new(capture.clone(), redactor, sink);
        let started = std::thread::Builder::new().name("capture".into()).spawn(|| shipper.run());
        if let Err(error) = started {
            tracing::error!(%error, "cannot start the capture thread; no call is recorded");
        }
        capture
    }

    fn new(project_id: String, identity: Identity) -> Self {
        let queue = Mutex::new(Queue { identity, ..Queue::default() });
        Self { project_id, queue, wake: Condvar::new() }
    }

    pub(crate) fn knows_client(&self) -> bool {
        self.queue().identity.client.is_some()
    }

    pub(crate) fn note_client(&self, name: &str) {
        self.queue().identity.client = Some(name.to_owned());
    }

    pub(crate) fn note_server(&self, version: &str) {
        self.queue().identity.server_version = Some(version.to_owned());
    }

    /// Notes the server's own version, unless the identity names one already.
    pub(crate) fn suggest_server(&self, version: &str) {
        self.queue().identity.server_version.get_or_insert_with(|| version.to_owned());
    }

    pub(crate) fn listed<T: AsRef<str>>(&self, tools: impl IntoIterator<Item = T>) {
        let mut queue = self.queue();
        for tool in tools {
            let tool = tool.as_ref();
            if !queue.listed.contains(tool) && queue.listed.len() < MAX_EVENTS {
                queue.listed.insert(tool.to_owned());
                queue.listed_changed = true;
            }
        }
    }

    pub(crate) fn requested(&self, call: Call) {
        self.push(Finished::acknowledged(call));
    }

    pub(crate) fn answered(&self, call: Call, answer: Answer<'_>) {
        if let Some(finished) = Finished::answered(call, answer) {
            self.push(finished);
        }
    }

    pub(crate) fn push(&self, finished: Finished) {
        let mut queue = self.queue();
        queue.recorded += 1;
        if queue.phase == Phase::Ended {
            return;
        }
        queue.bytes += finished.size();
        queue.finished.push_back(finished);
        while queue.finished.len() > MAX_EVENTS || queue.bytes > MAX_BYTES {
            let Some(oldest) = queue.finished.pop_front() else { break };
            queue.bytes -= oldest.size();
            queue.dropped += 1;
        }
        queue.since.get_or_insert_with(Instant::now);
        // The first call starts the shipper's timer, the others may end its wait.
        let count = queue.finished.len();
        drop(queue);
        if matches!(count, 1 | FLUSH_AT | MAX_BATCH) {
            self.wake.notify_all();
        }
    }

    /// Counts a call of which nothing could be stored.
    pub(crate) fn missed(&self) {
        let mut queue = self.queue();
        queue.recorded += 1;
        queue.dropped += 1;
    }

    /// Ships what is left, and waits for the sink no longer than `patience`. Calls that it has not
    /// taken by then are counted as dropped, and logged.
    pub(crate) fn finish(&self, patience: Duration) {
        let mut queue = self.queue();
        queue.phase = queue.phase.max(Phase::Closing);
        self.wake.notify_all();
        let is_alive = |queue: &mut Queue| queue.phase < Phase::Ended;
        let waited = self.wake.wait_timeout_while(queue, patience, is_alive);
        let (mut queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        queue.phase = queue.phase.max(Phase::Abandoned);
        let Tally { recorded, dropped } = queue.tally();
        let logged = std::mem::replace(&mut queue.dropped_logged, dropped);
        let timed_out = queue.phase == Phase::Abandoned;
        drop(queue);
        if dropped > logged {
            let project = self.project_id.as_str();
            tracing::error!(
                project,
                dropped,
                recorded,
                timed_out,
                "recorded calls were not delivered to the sink and are lost"
            );
        }
    }

    pub(crate) fn tally(&self) -> Tally {
        self.queue().tally()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sink::SinkError;
    use kenning_gaps::{Batch, Event};
    use kenning_testkit::{DEADLINE, eventually};

    /// Unavailable for the first batches; stores the others.
    struct Flaky {
        failures: Mutex<usize>,
        events: Mutex<Vec<Event>>,
    }

    impl Sink for Flaky {
        fn send(&self, batch: &Batch) -> Result<(), SinkError> {
            let mut failures = self.failures.lock().unwrap();
            if *failures > 0 {
                *failures -= 1;
                return Err(SinkError::Unavailable("not now".to_owned()));
            }
            self.events.lock().unwrap().extend(batch.events.iter().cloned());
            Ok(())
        }
    }

    fn start(failures: usize) -> (Arc<Capture>, Arc<Flaky>) {
        let sink = Flaky { failures: Mutex::new(failures), events: Mutex::default() };
        let (sink, identity, redactor) = (Arc::new(sink), Identity::default(), Redactor::default());
        (Capture::start("p".to_owned(), identity, redactor, sink.clone()), sink)
    }

    #[test]
    fn every_call_arrives_once_and_in_order() {
        let (capture, sink) = start(0);
        for number in 0..1_000 {
            let call = Call::new("t", Some(&format!("{{\"n\":{number}}}")));
            capture.answered(call, Answer::Result("{}"));
        }
        capture.finish(Duration::from_mins(1));
        let events = sink.events.lock().unwrap();
        let numbers = events.iter().map(|event| event.arguments["n"].as_u64().unwrap());
        assert!(numbers.eq(0..1_000));
        assert_eq!(capture.tally(), Tally { recorded: 1_000, dropped: 0 });
    }

    #[test]
    fn a_sink_that_recovers_gets_the_calls_it_missed() {
        let (capture, sink) = start(1);
        for _ in 0..FLUSH_AT {
            capture.answered(Call::new("t", None), Answer::Result("{}"));
        }
        eventually(DEADLINE, || (*sink.failures.lock().unwrap() == 0).then_some(()));
        capture.answered(Call::new("last", None), Answer::Never);
        capture.finish(Duration::from_mins(1));
        let events = sink.events.lock().unwrap();
        assert_eq!(events.len(), FLUSH_AT + 1);
        assert_eq!(events[FLUSH_AT].tool_name, "last");
        assert!(events[FLUSH_AT].is_error);
        assert_eq!(capture.tally(), Tally { recorded: FLUSH_AT as u64 + 1, dropped: 0 });
    }

    #[test]
    fn an_answer_that_asks_for_input_does_not_end_a_call() {
        let (capture, sink) = start(0);
        let question = Answer::Result("{\"resultType\":\"input_required\"}");
        capture.answered(Call::new("t", None), question);
        capture.finish(Duration::from_mins(1));
        assert!(sink.events.lock().unwrap().is_empty());
    }

    #[test]
    fn the_oldest_calls_are_dropped_from_a_full_queue() {
        let capture = Capture::new("p".to_owned(), Identity::default());
        for number in 0..=MAX_EVENTS {
            capture.answered(Call::new(&number.to_string(), None), Answer::Never);
        }
        assert_eq!(capture.tally(), Tally { recorded: MAX_EVENTS as u64 + 1, dropped: 1 });
        let work = capture.queue().drain();
        assert_eq!(work.finished.len(), MAX_EVENTS);
        let first = work.finished.into_iter().next().unwrap().event(&Redactor::default());
        assert_eq!(first.tool_name, "1");
    }
}
