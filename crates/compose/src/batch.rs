//! `batch_generate_content`: several contents, a few at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Compose;
use crate::error::{Error, ErrorBody};
use crate::generate::{GenerateResponse, GenerationStatus};
use crate::id::check_id;
use crate::model::{Context, yes};

pub const MAX_PARALLEL: usize = 16;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchRequest {
    /// Ids of content configs, each once
    #[schemars(length(min = 1))]
    pub content_ids: Vec<String>,
    /// Values for all of them
    pub shared_context: Option<Context>,
    /// Values for one of them, by its id; they go before shared ones
    pub individual_contexts: Option<BTreeMap<String, Context>>,
    #[serde(default)]
    pub force: bool,
    /// If false, nothing is begun after something has failed
    #[serde(default = "yes")]
    pub continue_on_error: bool,
    /// How many at a time
    #[serde(default = "four")]
    #[schemars(range(min = 1, max = MAX_PARALLEL))]
    pub max_parallel: usize,
}

fn four() -> usize {
    4
}

impl BatchRequest {
    pub fn of(content_ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            content_ids: content_ids.into_iter().map(Into::into).collect(),
            shared_context: None,
            individual_contexts: None,
            force: false,
            continue_on_error: true,
            max_parallel: four(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BatchResponse {
    /// Whether all are there
    pub success: bool,
    /// In the order of the request
    pub results: Vec<BatchResult>,
    pub total: usize,
    pub generated: usize,
    pub regenerated: usize,
    pub skipped: usize,
    pub failed: usize,
    /// Not begun, because something else had failed or nobody waits any more
    pub not_run: usize,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BatchResult {
    pub content_id: String,
    pub status: BatchStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorBody>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchStatus {
    Generated,
    Regenerated,
    Skipped,
    Failed,
    NotRun,
}

/// How far a batch is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress<'a> {
    pub done: usize,
    pub total: usize,
    pub content_id: &'a str,
    pub status: BatchStatus,
}

impl Compose {
    /// Tells `progress` of every content that is done; what it breaks off is not begun any more.
    pub fn batch_generate_content(
        &self,
        request: &BatchRequest,
        progress: &(dyn Fn(Progress<'_>) -> ControlFlow<()> + Sync),
    ) -> Result<BatchResponse, Error> {
        self.check_batch(request)?;
        let total = request.content_ids.len();
        let results: Mutex<Vec<Option<BatchResult>>> = Mutex::new(vec![None; total]);
        let (next, done, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let work = || {
            while let Some(id) = request.content_ids.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = if stop.load(Ordering::Acquire) {
                    not_run(id)
                } else {
                    result(id, self.generate(id, context(request, id), request.force, None))
                };
                if result.status == BatchStatus::Failed && !request.continue_on_error {
                    stop.store(true, Ordering::Release);
                }
                let status = result.status;
                let place = request.content_ids.iter().position(|other| other == id);
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(slot) = place.and_then(|place| results.get_mut(place)) {
                    *slot = Some(result);
                }
                // In the lock, so that `done` only ever grows for those who listen.
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                if progress(Progress { done, total, content_id: id, status }).is_break() {
                    stop.store(true, Ordering::Release);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..request.max_parallel.min(total) {
                scope.spawn(work);
            }
        });
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(summed_up(results.into_iter().flatten().collect()))
    }

    fn check_batch(&self, request: &BatchRequest) -> Result<(), Error> {
        let (count, limit) = (request.content_ids.len(), self.inner.limits.max_batch_size);
        if count > limit {
            return Err(Error::Limit {
                name: "max_batch_size",
                what: "the number of contents in a batch".to_owned(),
                given: count as u64,
                limit: limit as u64,
            });
        }
        if count == 0 {
            return Err(Error::invalid("content_ids", "is empty"));
        }
        if !(1..=MAX_PARALLEL).contains(&request.max_parallel) {
            let problem = format!("is {}; it can be 1 to {MAX_PARALLEL}", request.max_parallel);
            return Err(Error::invalid("max_parallel", problem));
        }
        let mut seen = BTreeSet::new();
        for id in &request.content_ids {
            check_id(id)?;
            if !seen.insert(id) {
                return Err(Error::invalid("content_ids", format!("`{id}` is named twice")));
            }
        }
        let mut individual = request.individual_contexts.iter().flat_map(BTreeMap::keys);
        match individual.find(|id| !seen.contains(id)) {
            None => Ok(()),
            Some(id) => {
                let problem = format!("`{id}` is not one of content_ids");
                Err(Error::invalid("individual_contexts", problem))
            }
        }
    }
}

fn context(request: &BatchRequest, id: &str) -> Context {
    let mut context = request.shared_context.clone().unwrap_or_default();
    let own = request.individual_contexts.as_ref().and_then(|contexts| contexts.get(id));
    context.extend(own.cloned().unwrap_or_default());
    context
}

fn not_run(id: &str) -> BatchResult {
    BatchResult {
        content_id: id.to_owned(),
        status: BatchStatus::NotRun,
        version: None,
        size_bytes: None,
        error: None,
    }
}

fn result(id: &str, outcome: Result<GenerateResponse, Error>) -> BatchResult {
    match outcome {
        Ok(made) => BatchResult {
            status: match made.status {
                GenerationStatus::Generated => BatchStatus::Generated,
                GenerationStatus::Regenerated => BatchStatus::Regenerated,
                GenerationStatus::Skipped => BatchStatus::Skipped,
            },
            version: Some(made.version),
            size_bytes: Some(made.size_bytes),
            ..not_run(id)
        },
        Err(error) => {
            BatchResult { status: BatchStatus::Failed, error: Some(error.body()), ..not_run(id) }
        }
    }
}

fn summed_up(results: Vec<BatchResult>) -> BatchResponse {
    let count = |status| results.iter().filter(|result| result.status == status).count();
    let (failed, not_run) = (count(BatchStatus::Failed), count(BatchStatus::NotRun));
    BatchResponse {
        success: failed + not_run == 0,
        total: results.len(),
        generated: count(BatchStatus::Generated),
        regenerated: count(BatchStatus::Regenerated),
        skipped: count(BatchStatus::Skipped),
        failed,
        not_run,
        results,
    }
}
