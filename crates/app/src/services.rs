//! What operations, resources and pages draw on.

use std::sync::Arc;

use chrono::{NaiveDate, Utc};
use kenning_catalog::Catalog;
use kenning_compose::Compose;
use kenning_gaps::Gaps;
use kenning_knowledge::Library;
use kenning_knowledge::discover::Discovery;
use kenning_knowledge::usage::{Usage, UsageLog};
use kenning_registry::Registry;

use crate::recording::CallRecorder;

/// The domain crates behind the operations. What needs a store or a workspace is `None` without one.
#[derive(Clone)]
pub struct Services {
    pub library: Arc<Library>,
    pub discovery: Arc<Discovery>,
    pub catalog: Arc<Catalog>,
    pub registry: Option<Registry>,
    pub gaps: Option<Gaps>,
    pub compose: Option<Compose>,
    /// Counts which nodes are found and read.
    pub usage: Option<Arc<dyn UsageLog>>,
    /// Records calls of tools, from which gaps are extracted.
    pub recorder: Option<Arc<dyn CallRecorder>>,
}

#[derive(Debug, thiserror::Error)]
#[error("there is no store to keep {0} in")]
struct NoStore(&'static str);

impl Services {
    /// Services without a store or a workspace: nothing is kept or recorded.
    pub fn new(library: Arc<Library>, discovery: Arc<Discovery>, catalog: Arc<Catalog>) -> Self {
        Self {
            library,
            discovery,
            catalog,
            registry: None,
            gaps: None,
            compose: None,
            usage: None,
            recorder: None,
        }
    }

    pub fn registry(&self) -> Result<&Registry, kenning_registry::Error> {
        let no_store = || kenning_registry::Error::database(NoStore("a registry"));
        self.registry.as_ref().ok_or_else(no_store)
    }

    pub fn gaps(&self) -> Result<&Gaps, kenning_gaps::Error> {
        let no_store = || kenning_gaps::ports::PortError::new(NoStore("gaps")).into();
        self.gaps.as_ref().ok_or_else(no_store)
    }

    pub fn compose(&self) -> Result<&Compose, kenning_compose::Error> {
        self.compose.as_ref().ok_or(kenning_compose::Error::NoWorkspace)
    }

    pub(crate) fn note_usage(&self, usage: &Usage<'_>) {
        if let Some(log) = &self.usage {
            log.note(usage);
        }
    }

    /// Milliseconds since 1970.
    pub fn now() -> u64 {
        u64::try_from(Utc::now().timestamp_millis()).unwrap_or_default()
    }

    pub(crate) fn today() -> NaiveDate {
        Utc::now().date_naive()
    }
}

impl std::fmt::Debug for Services {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Services").field("library", &self.library).finish_non_exhaustive()
    }
}
