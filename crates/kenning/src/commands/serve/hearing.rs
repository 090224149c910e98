//! What a server hears of its own calls, and what it makes of that while it runs: asks become
//! gaps, and gaps close when something new answers them.

use std::collections::HashSet;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use kenning_gaps::event::IntentSource;
use kenning_gaps::gap::{Fresh, Source};
use kenning_gaps::{Gaps, Identity, OWN_PROJECT, Redactor};
use kenning_knowledge::semantic::Tell;
use kenning_knowledge::usage::UsageLog;
use kenning_mcp::Inventory;
use kenning_mcp::gaps::{Called, Ear, Tally};
use kenning_registry::Timestamp;
use kenning_registry::store::Skill;
use kenning_store::Store;
use kenning_wrap::{Caller, Intent, LogSink, Observed, Recorder};
use serde_json::Value;

use crate::commands::Context;
use crate::commands::gaps::now;
use crate::failure::Failure;

/// How often is looked at what was heard.
const LISTEN_EVERY: Duration = Duration::from_secs(2);
/// How often is looked for what is too old.
const FORGET_EVERY: Duration = Duration::from_hours(1);
/// How far the clocks of those who register may be behind, in milliseconds.
const OTHER_CLOCKS: i64 = 60_000;
/// Skills that are looked at after one change, the newest.
const MAX_SKILLS: usize = 10_000;
/// How long the last calls may take to be kept.
const LAST_CALLS: Duration = Duration::from_secs(2);

pub(super) struct Hearing {
    gaps: Option<Gaps>,
    recorder: Option<Recorder>,
    /// The listening thread ends when this goes.
    _stop: Sender<()>,
}

impl Hearing {
    pub(super) fn start(
        context: &Context,
        store: Option<&Arc<Store>>,
        gaps: Option<Gaps>,
    ) -> Result<Self, Failure> {
        let settings = &context.settings.gaps;
        let keep = settings.keep(&context.layers)?;
        let recorder = store.filter(|_| settings.capture).map(|store| {
            let sink = Arc::new(LogSink::new(store.clone()));
            Recorder::start(OWN_PROJECT, Identity::default(), Redactor::default(), sink)
        });
        let (stop, stopped) = channel();
        if let (Some(gaps), Some(store)) = (gaps.clone(), store.cloned()) {
            let listen = move || {
                let mut forgot = None;
                while stopped.recv_timeout(LISTEN_EVERY) == Err(RecvTimeoutError::Timeout) {
                    listen(&gaps);
                    if forgot.is_none_or(|at: Instant| at.elapsed() >= FORGET_EVERY) {
                        forget(&gaps, &store, keep);
                        forgot = Some(Instant::now());
                    }
                }
            };
            std::thread::Builder::new().name("listener".to_owned()).spawn(listen)?;
        }
        Ok(Self { gaps, recorder, _stop: stop })
    }

    /// Takes down what the server offers, so that what nobody calls can be told.
    pub(super) fn offers(&self, inventory: &Inventory) {
        self.offering()(inventory);
    }

    /// The same for what it offers to some clients only.
    pub(super) fn offering(&self) -> impl Fn(&Inventory) + Send + Sync + 'static {
        let recorder = self.recorder.clone();
        move |inventory| {
            if let Some(recorder) = &recorder {
                recorder.tools(inventory.tools.iter().map(|tool| tool.name));
            }
        }
    }

    pub(super) fn ear(&self) -> Option<Arc<dyn Ear>> {
        self.recorder.clone().map(|recorder| Arc::new(OwnEar(recorder)) as Arc<dyn Ear>)
    }

    /// Closes what new sections of a knowledge base answer.
    pub(super) fn new_nodes(&self) -> Option<Tell> {
        let gaps = self.gaps.clone()?;
        Some(Box::new(move |nodes| {
            let fresh = nodes.into_iter().map(|node| Fresh {
                id: node.id,
                source: Source::Node,
                title: node.title,
                text: node.text,
                vectors: node.vectors,
            });
            close(&gaps, fresh.collect());
        }))
    }

    /// Closes what newly registered skills answer, each time it is called.
    pub(super) fn new_skills(&self, store: &Arc<Store>) -> impl Fn() + Send + Sync + 'static {
        let (gaps, store) = (self.gaps.clone(), store.clone());
        let last = Mutex::new((Timestamp::now(), HashSet::new()));
        move || {
            let Some(gaps) = &gaps else { return };
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            let (since, seen) = &*last;
            let began = Timestamp::now();
            let found = match store.skills_since(Timestamp(since.0 - OTHER_CLOCKS), MAX_SKILLS) {
                Ok(found) => found,
                Err(error) => {
                    tracing::warn!(%error, "new skills are looked at later");
                    return;
                }
            };
            let found: Vec<Fresh> = found.into_iter().map(fresh_skill).collect();
            let ids = found.iter().map(|skill| skill.id.clone()).collect();
            close(gaps, found.into_iter().filter(|skill| !seen.contains(&skill.id)).collect());
            *last = (began, ids);
        }
    }

    /// Keeps the last calls.
    pub(super) fn finish(self) {
        if let Some(recorder) = &self.recorder {
            recorder.finish(LAST_CALLS);
        }
    }
}

fn listen(gaps: &Gaps) {
    if let Err(error) = gaps.extract_asks(now()) {
        tracing::warn!(%error, "what was heard is looked at later");
    }
}

fn forget(gaps: &Gaps, store: &Store, keep: Option<Duration>) {
    let Some(keep) = keep else { return };
    let since = now().saturating_sub(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
    if let Err(error) = gaps.forget_before(since, now()) {
        tracing::warn!(%error, "old calls are kept for now");
    }
    if let Err(error) = store.forget_usage_before(since) {
        tracing::warn!(%error, "old counts are kept for now");
    }
}

fn close(gaps: &Gaps, fresh: Vec<Fresh>) {
    match gaps.answered_by(fresh, now()) {
        Ok(answered) => {
            for gap in answered.closed {
                tracing::info!(id = gap.id, "a gap is closed: {}", gap.label);
            }
        }
        Err(error) => tracing::warn!(%error, "gaps stay open for now"),
    }
}

/// A new version of a skill, or more said about it, is something new.
fn fresh_skill(skill: Skill) -> Fresh {
    let said = skill.metadata.map(|metadata| Value::Object(metadata).to_string());
    let said = said.unwrap_or_default();
    Fresh {
        id: format!("{} {} {said}", skill.skill_name, skill.version).trim_end().to_owned(),
        source: Source::Skill,
        title: skill.skill_name.replace(['-', '_'], " "),
        text: said,
        vectors: Vec::new(),
    }
}

/// Takes down what clients call.
struct OwnEar(Recorder);

impl Ear for OwnEar {
    fn heard(&self, call: Called<'_>) {
        let intent = call.intent.map(|text| Intent { text, source: IntentSource::Mcpeye });
        self.0.record(Observed {
            tool: call.tool,
            arguments: Value::Object(call.arguments),
            intent,
            missed: None,
            outcome: call.outcome,
            started: SystemTime::now().checked_sub(call.duration).unwrap_or(SystemTime::UNIX_EPOCH),
            duration: call.duration,
            caller: Caller { client: call.client, ..Caller::default() },
        });
    }

    fn tally(&self) -> Tally {
        let kenning_wrap::Tally { heard, dropped } = self.0.tally();
        Tally { heard, dropped }
    }
}
