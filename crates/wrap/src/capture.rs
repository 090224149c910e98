//! What was called and how it ended, on its way to a sink, beside the traffic and never in it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kenning_gaps::{Batch, Event, Identity, Redactor};

use crate::call::{Answer, Call, Finished};
use crate::sink::{Sink, SinkError};

const FLUSH_AT: usize = 20;
const FLUSH_AFTER: Duration = Duration::from_secs(5);
/// Events that wait at most; the oldest go first.
const MAX_EVENTS: usize = 10_000;
/// Bytes that wait at most, in texts that are not redacted yet.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// Events in one batch.
const MAX_BATCH: usize = 200;
/// Where many come, batches grow instead of coming more often than this.
const REST: Duration = Duration::from_millis(100);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_mins(1);

/// Collects what was called, and ships it from a thread of its own.
#[derive(Debug)]
pub(crate) struct Capture {
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Debug)]
struct Queue {
    finished: VecDeque<Finished>,
    bytes: usize,
    /// When the oldest of them came.
    since: Option<Instant>,
    identity: Identity,
    listed: BTreeSet<String>,
    listed_changed: bool,
    closing: bool,
    done: bool,
    tally: Tally,
}

/// What became of the calls so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Calls that were taken down.
    pub heard: u64,
    /// Those of them that were forgotten, or that the sink would not have.
    pub dropped: u64,
}

impl Queue {
    fn new(identity: Identity) -> Self {
        Self {
            finished: VecDeque::new(),
            bytes: 0,
            since: None,
            identity,
            listed: BTreeSet::new(),
            listed_changed: false,
            closing: false,
            done: false,
            tally: Tally::default(),
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
        let queue = Queue::new(identity);
        let capture = Arc::new(Self { queue: Mutex::new(queue), wake: Condvar::new() });
        let shipper = Shipper {
            capture: capture.clone(),
            project_id,
            redactor,
            sink,
            unsent: VecDeque::new(),
            retry: FIRST_RETRY,
            refused: Refusals::default(),
        };
        let started = std::thread::Builder::new().name("capture".into()).spawn(|| shipper.run());
        if let Err(error) = started {
            tracing::warn!(%error, "calls are not captured");
            capture.queue().done = true;
        }
        capture
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

    /// What the server says of itself yields to what we were told.
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
        if queue.done {
            return;
        }
        queue.tally.heard += 1;
        queue.bytes += finished.size();
        queue.finished.push_back(finished);
        while queue.finished.len() > MAX_EVENTS || queue.bytes > MAX_BYTES {
            let Some(oldest) = queue.finished.pop_front() else { break };
            queue.bytes -= oldest.size();
            queue.tally.dropped += 1;
        }
        queue.since.get_or_insert_with(Instant::now);
        // The first starts the clock, the others may end the wait.
        let count = queue.finished.len();
        drop(queue);
        if matches!(count, 1 | FLUSH_AT | MAX_BATCH) {
            self.wake.notify_all();
        }
    }

    /// Ships what is left; waits no longer than this for a sink that does not answer.
    pub(crate) fn finish(&self, patience: Duration) {
        let mut queue = self.queue();
        queue.closing = true;
        self.wake.notify_all();
        let waited = self.wake.wait_timeout_while(queue, patience, |queue| !queue.done);
        if waited.is_ok_and(|(_, timeout)| timeout.timed_out()) {
            tracing::warn!("the last calls could not be reported in time");
        }
    }

    pub(crate) fn tally(&self) -> Tally {
        self.queue().tally
    }

    fn dropped(&self, count: usize) {
        self.queue().tally.dropped += count as u64;
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that ships.
struct Shipper {
    capture: Arc<Capture>,
    project_id: String,
    redactor: Redactor,
    sink: Arc<dyn Sink>,
    /// Redacted, and not taken by the sink so far.
    unsent: VecDeque<Told>,
    retry: Duration,
    refused: Refusals,
}

/// An event and who called, if that is not the same for all.
struct Told {
    client: Option<String>,
    event: Event,
}

/// What a sink would not have.
#[derive(Default)]
struct Refusals {
    calls: usize,
}

impl Refusals {
    /// Said once: the next batch will fare no better, and the log is for people.
    fn add(&mut self, reason: &str, count: usize) {
        if self.calls == 0 {
            tracing::error!(
                reason,
                count,
                "calls were refused and are lost; so are more like them"
            );
        }
        self.calls += count;
    }
}

impl Drop for Shipper {
    /// However the thread ends, nobody must wait for it.
    fn drop(&mut self) {
        if self.refused.calls > 0 {
            tracing::error!(count = self.refused.calls, "calls were refused and are lost in all");
        }
        self.capture.queue().done = true;
        self.capture.wake.notify_all();
    }
}

/// What the shipper is woken for.
struct Work {
    finished: Vec<Finished>,
    identity: Identity,
    listed: Option<Vec<String>>,
    closing: bool,
}

impl Shipper {
    fn run(mut self) {
        loop {
            let work = self.wait();
            if let Some(tools) = work.listed {
                self.sink.tools(&self.project_id, &tools);
            }
            let redactor = &self.redactor;
            self.unsent.extend(work.finished.into_iter().map(|finished| Told {
                client: finished.client().map(str::to_owned),
                event: finished.event(redactor),
            }));
            let too_many = self.unsent.len().saturating_sub(MAX_EVENTS);
            self.unsent.drain(..too_many);
            self.capture.dropped(too_many);
            self.ship(&work.identity);
            if work.closing {
                return;
            }
        }
    }

    /// Waits for twenty events, or five seconds after the first, or a retry, or the end; and rests
    /// before that, unless there is enough for a whole batch.
    fn wait(&self) -> Work {
        let begun = Instant::now();
        let mut queue = self.capture.queue();
        loop {
            let now = Instant::now();
            let due = match queue.finished.len() {
                // While the sink is down there is no hurry.
                _ if !self.unsent.is_empty() => Some(begun + self.retry),
                MAX_BATCH.. => Some(now),
                FLUSH_AT.. => Some(begun + REST),
                _ => queue.since.map(|since| since + FLUSH_AFTER),
            };
            if queue.closing || due.is_some_and(|due| due <= now) {
                return take(&mut queue);
            }
            let woken = match due {
                Some(due) => self
                    .capture
                    .wake
                    .wait_timeout(queue, due - now)
                    .map(|(queue, _)| queue)
                    .map_err(|e| e.into_inner().0),
                None => self.capture.wake.wait(queue).map_err(PoisonError::into_inner),
            };
            queue = woken.unwrap_or_else(|queue| queue);
        }
    }

    fn ship(&mut self, identity: &Identity) {
        while let Some((client, events)) = self.next() {
            let count = events.len();
            let mut identity = identity.clone();
            identity.client = client.clone().or(identity.client);
            let batch = Batch { project_id: self.project_id.clone(), identity, events };
            match self.sink.send(&batch) {
                Ok(()) => self.retry = FIRST_RETRY,
                Err(SinkError::Refused(reason)) => {
                    self.refused.add(&reason, count);
                    self.capture.dropped(count);
                }
                Err(SinkError::Unavailable(reason)) => {
                    tracing::warn!(reason, count, "calls are reported later");
                    for event in batch.events.into_iter().rev() {
                        self.unsent.push_front(Told { client: client.clone(), event });
                    }
                    self.retry = (self.retry * 2).min(LAST_RETRY);
                    return;
                }
            }
        }
    }

    /// The next events of one client: a batch has one identity.
    fn next(&mut self) -> Option<(Option<String>, Vec<Event>)> {
        let client = self.unsent.front()?.client.clone();
        let (mut events, mut left) = (Vec::new(), VecDeque::new());
        for told in self.unsent.drain(..) {
            if told.client == client && events.len() < MAX_BATCH {
                events.push(told.event);
            } else {
                left.push_back(told);
            }
        }
        self.unsent = left;
        Some((client, events))
    }
}

fn take(queue: &mut Queue) -> Work {
    queue.bytes = 0;
    queue.since = None;
    let listed = std::mem::take(&mut queue.listed_changed);
    Work {
        finished: queue.finished.drain(..).collect(),
        identity: queue.identity.clone(),
        listed: listed.then(|| queue.listed.iter().cloned().collect()),
        closing: queue.closing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refuses the first batches, and keeps the others.
    struct Reluctant {
        refusals: Mutex<usize>,
        events: Mutex<Vec<Event>>,
    }

    impl Sink for Reluctant {
        fn send(&self, batch: &Batch) -> Result<(), SinkError> {
            let mut refusals = self.refusals.lock().unwrap();
            if *refusals > 0 {
                *refusals -= 1;
                return Err(SinkError::Unavailable("not now".to_owned()));
            }
            self.events.lock().unwrap().extend(batch.events.iter().cloned());
            Ok(())
        }
    }

    fn start(refusals: usize) -> (Arc<Capture>, Arc<Reluctant>) {
        let sink = Reluctant { refusals: Mutex::new(refusals), events: Mutex::default() };
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
    }

    #[test]
    fn a_sink_that_comes_back_gets_what_it_missed() {
        let (capture, sink) = start(1);
        for _ in 0..FLUSH_AT {
            capture.answered(Call::new("t", None), Answer::Result("{}"));
        }
        while *sink.refusals.lock().unwrap() > 0 {
            std::thread::yield_now();
        }
        capture.answered(Call::new("last", None), Answer::Never);
        capture.finish(Duration::from_mins(1));
        let events = sink.events.lock().unwrap();
        assert_eq!(events.len(), FLUSH_AT + 1);
        assert_eq!(events[FLUSH_AT].tool_name, "last");
        assert!(events[FLUSH_AT].is_error);
    }

    #[test]
    fn a_question_back_is_no_end() {
        let (capture, sink) = start(0);
        let question = Answer::Result("{\"resultType\":\"input_required\"}");
        capture.answered(Call::new("t", None), question);
        capture.finish(Duration::from_mins(1));
        assert!(sink.events.lock().unwrap().is_empty());
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let capture =
            Capture { queue: Mutex::new(Queue::new(Identity::default())), wake: Condvar::new() };
        for number in 0..=MAX_EVENTS {
            capture.answered(Call::new(&number.to_string(), None), Answer::Never);
        }
        assert_eq!(capture.tally(), Tally { heard: MAX_EVENTS as u64 + 1, dropped: 1 });
        let work = take(&mut capture.queue());
        assert_eq!(work.finished.len(), MAX_EVENTS);
        let first = work.finished.into_iter().next().unwrap().event(&Redactor::default());
        assert_eq!(first.tool_name, "1");
    }
}
