//! Recording of the server's own calls, and the background work on them: asks are extracted into
//! gaps, and gaps are closed when something new answers them.

use std::collections::HashSet;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use kenning_app::{CallRecorder, Inventory, RecordedCall, Tally};
use kenning_gaps::event::IntentSource;
use kenning_gaps::gap::{Fresh, Source};
use kenning_gaps::{Gaps, Identity, OWN_PROJECT, Redactor};
use kenning_knowledge::semantic::OnNewNodes;
use kenning_knowledge::usage::UsageLog;
use kenning_registry::Timestamp;
use kenning_registry::store::Skill;
use kenning_store::Store;
use kenning_wrap::{Caller, Intent, Observed, Recorder, StoreSink};
use serde_json::Value;

use crate::commands::Context;
use crate::commands::clock::now;
use crate::failure::Failure;

/// How often asks are extracted from recorded calls.
const EXTRACT_EVERY: Duration = Duration::from_secs(2);
/// How often calls past their retention are deleted.
const DELETE_EVERY: Duration = Duration::from_hours(1);
/// How far the clocks of other machines that register skills may be behind, in milliseconds.
const CLOCK_SKEW: i64 = 60_000;
/// How many of the newest skills are checked after one change.
const MAX_SKILLS: usize = 10_000;
/// How long storing the last calls may delay the end of the process.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct Recording {
    gaps: Option<Gaps>,
    recorder: Option<Recorder>,
    /// The background thread ends when this is dropped.
    _stop: Sender<()>,
}

impl Recording {
    pub(super) fn start(
        context: &Context,
        store: Option<&Arc<Store>>,
        gaps: Option<Gaps>,
    ) -> Result<Self, Failure> {
        let settings = &context.settings.gaps;
        let keep = settings.keep(&context.layers)?;
        let recorder = store.filter(|_| settings.capture).map(|store| {
            let sink = Arc::new(StoreSink::new(store.clone()));
            Recorder::start(OWN_PROJECT, Identity::default(), Redactor::default(), sink)
        });
        let (stop, stopped) = channel();
        if let (Some(gaps), Some(store)) = (gaps.clone(), store.cloned()) {
            let work = move || {
                let mut deleted = None;
                while stopped.recv_timeout(EXTRACT_EVERY) == Err(RecvTimeoutError::Timeout) {
                    extract_asks(&gaps);
                    if deleted.is_none_or(|at: Instant| at.elapsed() >= DELETE_EVERY) {
                        delete_old(&gaps, &store, keep);
                        deleted = Some(Instant::now());
                    }
                }
            };
            std::thread::Builder::new().name("extract-asks".to_owned()).spawn(work)?;
        }
        Ok(Self { gaps, recorder, _stop: stop })
    }

    /// Records which tools the server offers, so that reports can tell which are never called.
    pub(super) fn record_offer(&self, inventory: &Inventory) {
        self.offer_recorder()(inventory);
    }

    /// The same as a function, for tools that only some clients are offered.
    pub(super) fn offer_recorder(&self) -> impl Fn(&Inventory) + Send + Sync + 'static {
        let recorder = self.recorder.clone();
        move |inventory| {
            if let Some(recorder) = &recorder {
                recorder.tools(inventory.tools().map(|tool| tool.name));
            }
        }
    }

    pub(super) fn recorder(&self) -> Option<Arc<dyn CallRecorder>> {
        let recorder = self.recorder.clone()?;
        Some(Arc::new(OwnCalls(recorder)))
    }

    /// Closes gaps that new sections of a knowledge base answer.
    pub(super) fn new_nodes(&self) -> Option<OnNewNodes> {
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

    /// Closes gaps that newly registered skills answer, each time it is called.
    pub(super) fn new_skills(&self, store: &Arc<Store>) -> impl Fn() + Send + Sync + 'static {
        let (gaps, store) = (self.gaps.clone(), store.clone());
        let last = Mutex::new((Timestamp::now(), HashSet::new()));
        move || {
            let Some(gaps) = &gaps else { return };
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            let (since, checked) = &*last;
            let began = Timestamp::now();
            let found = match store.skills_since(Timestamp(since.0 - CLOCK_SKEW), MAX_SKILLS) {
                Ok(found) => found,
                Err(error) => {
                    tracing::warn!(%error, "new skills could not be read; gaps they answer stay open until the next change");
                    return;
                }
            };
            let found: Vec<Fresh> = found.into_iter().map(fresh_skill).collect();
            let ids = found.iter().map(|skill| skill.id.clone()).collect();
            close(gaps, found.into_iter().filter(|skill| !checked.contains(&skill.id)).collect());
            *last = (began, ids);
        }
    }

    /// Stores the last calls.
    pub(super) fn finish(self) {
        if let Some(recorder) = &self.recorder {
            recorder.finish(FLUSH_TIMEOUT);
        }
    }
}

fn extract_asks(gaps: &Gaps) {
    if let Err(error) = gaps.extract_asks(now()) {
        tracing::warn!(%error, "asks could not be extracted from recorded calls; trying again");
    }
}

fn delete_old(gaps: &Gaps, store: &Store, keep: Option<Duration>) {
    let Some(keep) = keep else { return };
    let since = now().saturating_sub(u64::try_from(keep.as_millis()).unwrap_or(u64::MAX));
    if let Err(error) = gaps.forget_before(since, now()) {
        tracing::warn!(%error, "calls past their retention could not be deleted; trying again");
    }
    if let Err(error) = store.forget_usage_before(since) {
        tracing::warn!(%error, "usage counts past their retention could not be deleted; trying again");
    }
}

fn close(gaps: &Gaps, fresh: Vec<Fresh>) {
    match gaps.answered_by(fresh, now()) {
        Ok(answered) => {
            for gap in answered.closed {
                tracing::info!(id = gap.id, "gap closed: {}", gap.label);
            }
        }
        Err(error) => {
            tracing::warn!(%error, "gaps could not be matched against what is new; they stay open");
        }
    }
}

/// A new version of a skill, or new metadata, counts as a new skill.
fn fresh_skill(skill: Skill) -> Fresh {
    let details = skill.metadata.map(|metadata| Value::Object(metadata).to_string());
    let details = details.unwrap_or_default();
    Fresh {
        id: format!("{} {} {details}", skill.skill_name, skill.version).trim_end().to_owned(),
        source: Source::Skill,
        title: skill.skill_name.replace(['-', '_'], " "),
        text: details,
        vectors: Vec::new(),
    }
}

/// Records calls of this server's own tools.
struct OwnCalls(Recorder);

impl CallRecorder for OwnCalls {
    fn record(&self, call: RecordedCall<'_>) {
        let intent = call.intent.map(|text| Intent { text, source: IntentSource::Mcpeye });
        self.0.record(Observed {
            tool: call.tool,
            arguments: Value::Object(call.arguments),
            intent,
            missed: call.missed,
            outcome: call.outcome,
            started: SystemTime::now().checked_sub(call.duration).unwrap_or(SystemTime::UNIX_EPOCH),
            duration: call.duration,
            caller: Caller { client: call.client, ..Caller::default() },
        });
    }

    fn tally(&self) -> Tally {
        let kenning_wrap::Tally { recorded, dropped } = self.0.tally();
        Tally { recorded, dropped }
    }
}
