//! `batch_generate_content`: generates several contents, some of them concurrently.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Compose;
use crate::error::{Error, ErrorBody, Result};
use crate::generate::{GenerateResponse, GenerationStatus};
use crate::id::{MAX_ID, PATTERN, check_id};
use crate::limits::check_range;
use crate::model::{Context, yes};

pub const MAX_PARALLEL: usize = 16;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchRequest {
    /// Ids of content configs, each once
    #[schemars(length(min = 1), inner(length(max = MAX_ID), regex(pattern = PATTERN)))]
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

#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchStatus {
    Generated,
    Regenerated,
    Skipped,
    Failed,
    #[default]
    NotRun,
}

/// Reported after each content of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress<'a> {
    pub done: usize,
    pub total: usize,
    pub content_id: &'a str,
    pub status: BatchStatus,
}

impl Compose {
    /// Calls `progress` after every content. If it breaks, contents that have not begun are not run.
    pub fn batch_generate_content(
        &self,
        request: &BatchRequest,
        progress: &(dyn Fn(Progress<'_>) -> ControlFlow<()> + Sync),
    ) -> Result<BatchResponse> {
        self.check_batch(request)?;
        let total = request.content_ids.len();
        let results: Mutex<Vec<Option<BatchResult>>> = Mutex::new(vec![None; total]);
        let (next, done, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(id) = request.content_ids.get(index) else { break };
                let mut result = BatchResult { content_id: id.clone(), ..BatchResult::default() };
                if !stop.load(Ordering::Acquire) {
                    result.set(self.generate(id, context(request, id), request.force, None));
                }
                let status = result.status;
                if status == BatchStatus::Failed && !request.continue_on_error {
                    stop.store(true, Ordering::Release);
                }
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                results[index] = Some(result);
                // Counted under the lock, so that `done` grows monotonically for the callback.
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
        Ok(response(results.into_iter().flatten().collect()))
    }

    fn check_batch(&self, request: &BatchRequest) -> Result<()> {
        self.inner.limits.check_batch(request.content_ids.len())?;
        if request.content_ids.is_empty() {
            return Err(Error::invalid("content_ids", "is empty"));
        }
        check_range("max_parallel", request.max_parallel, MAX_PARALLEL)?;
        let mut known = BTreeSet::new();
        for id in &request.content_ids {
            check_id(id)?;
            if !known.insert(id) {
                return Err(Error::invalid("content_ids", format!("`{id}` is named twice")));
            }
        }
        let mut individual = request.individual_contexts.iter().flat_map(BTreeMap::keys);
        match individual.find(|id| !known.contains(id)) {
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

impl BatchResult {
    fn set(&mut self, outcome: Result<GenerateResponse>) {
        match outcome {
            Ok(generated) => {
                self.status = match generated.status {
                    GenerationStatus::Generated => BatchStatus::Generated,
                    GenerationStatus::Regenerated => BatchStatus::Regenerated,
                    GenerationStatus::Skipped => BatchStatus::Skipped,
                };
                self.version = Some(generated.version);
                self.size_bytes = Some(generated.size_bytes);
            }
            Err(error) => {
                self.status = BatchStatus::Failed;
                self.error = Some(error.body());
            }
        }
    }
}

fn response(results: Vec<BatchResult>) -> BatchResponse {
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
