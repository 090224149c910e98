//! The thread that redacts recorded calls and sends them to the sink.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use kenning_gaps::{Batch, Event, Identity, Redactor};

use super::{Capture, FLUSH_AT, MAX_BATCH, MAX_EVENTS, Phase, Work};
use crate::sink::{Sink, SinkError};

const FLUSH_AFTER: Duration = Duration::from_secs(5);
/// Under load, batches grow rather than come more often than this.
const MIN_INTERVAL: Duration = Duration::from_millis(100);
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LAST_RETRY: Duration = Duration::from_mins(1);

/// The state of the thread.
pub(super) struct Shipper {
    capture: Arc<Capture>,
    redactor: Redactor,
    sink: Arc<dyn Sink>,
    /// Redacted, and not taken by the sink so far.
    unsent: VecDeque<Unsent>,
    retry: Duration,
    refusal_logged: bool,
}

/// An event, and its client where that is not the same for all.
struct Unsent {
    client: Option<String>,
    event: Event,
}

impl Drop for Shipper {
    /// However the thread ends, nothing must wait for it.
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!("the sink panicked; no more calls are recorded");
        }
        self.capture.queue().phase = Phase::Ended;
        self.capture.wake.notify_all();
    }
}

impl Shipper {
    pub(super) fn new(capture: Arc<Capture>, redactor: Redactor, sink: Arc<dyn Sink>) -> Self {
        let (unsent, retry) = (VecDeque::new(), FIRST_RETRY);
        Self { capture, redactor, sink, unsent, retry, refusal_logged: false }
    }

    pub(super) fn run(mut self) {
        loop {
            let work = self.wait();
            if let Some(tools) = work.listed {
                self.sink.tools(&self.capture.project_id, &tools);
            }
            let redactor = &self.redactor;
            self.unsent.extend(work.finished.into_iter().map(|finished| Unsent {
                client: finished.client().map(str::to_owned),
                event: finished.event(redactor),
            }));
            let too_many = self.unsent.len().saturating_sub(MAX_EVENTS);
            self.unsent.drain(..too_many);
            self.capture.queue().dropped += too_many as u64;
            self.ship(&work.identity);
            if work.closing {
                return;
            }
        }
    }

    /// Waits for twenty events, or five seconds after the first, or a retry, or the end; and rests
    /// before that, unless a whole batch is there.
    fn wait(&self) -> Work {
        let begun = Instant::now();
        let mut queue = self.capture.queue();
        loop {
            let now = Instant::now();
            let due = match queue.finished.len() {
                // While the sink is down there is no hurry.
                _ if !self.unsent.is_empty() => Some(begun + self.retry),
                MAX_BATCH.. => Some(now),
                FLUSH_AT.. => Some(begun + MIN_INTERVAL),
                _ => queue.since.map(|since| since + FLUSH_AFTER),
            };
            if queue.phase >= Phase::Closing || due.is_some_and(|due| due <= now) {
                return queue.drain();
            }
            let timeout = due.map_or(Duration::MAX, |due| due - now);
            let woken = self.capture.wake.wait_timeout(queue, timeout);
            queue = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn ship(&mut self, identity: &Identity) {
        while let Some((client, events)) = self.next_batch() {
            let count = events.len() as u64;
            let mut identity = identity.clone();
            identity.client = client.clone().or(identity.client);
            let batch = Batch { project_id: self.capture.project_id.clone(), identity, events };
            match self.sink.send(&batch) {
                Ok(()) => {
                    self.capture.queue().delivered += count;
                    self.retry = FIRST_RETRY;
                }
                Err(SinkError::Refused(reason)) => {
                    self.capture.queue().dropped += count;
                    self.log_refusal(&reason, count);
                }
                Err(SinkError::Unavailable(reason)) => {
                    let project = batch.project_id.as_str();
                    tracing::warn!(project, reason, count, "sink unavailable; calls stay queued");
                    for event in batch.events.into_iter().rev() {
                        self.unsent.push_front(Unsent { client: client.clone(), event });
                    }
                    self.retry = (self.retry * 2).min(LAST_RETRY);
                    return;
                }
            }
        }
    }

    /// Logs the first refusal only: the next batch will fare no better, and `finish` logs the sum.
    fn log_refusal(&mut self, reason: &str, count: u64) {
        if !std::mem::replace(&mut self.refusal_logged, true) {
            let project = self.capture.project_id.as_str();
            tracing::error!(
                project,
                reason,
                count,
                "the sink refused calls, which are lost; later refusals are only counted"
            );
        }
    }

    /// The next events of one client: a batch has one identity.
    fn next_batch(&mut self) -> Option<(Option<String>, Vec<Event>)> {
        let client = self.unsent.front()?.client.clone();
        let (mut events, mut left) = (Vec::new(), VecDeque::new());
        for unsent in self.unsent.drain(..) {
            if unsent.client == client && events.len() < MAX_BATCH {
                events.push(unsent.event);
            } else {
                left.push_back(unsent);
            }
        }
        self.unsent = left;
        Some((client, events))
    }
}
