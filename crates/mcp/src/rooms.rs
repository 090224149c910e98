//! What tools and resources draw on.

use std::sync::Arc;

use chrono::{NaiveDate, Utc};
use kenning_catalog::Catalog;
use kenning_compose::Compose;
use kenning_gaps::Gaps;
use kenning_knowledge::Library;
use kenning_knowledge::discover::{Discovery, Miss, MissLog};
use kenning_knowledge::usage::{Usage, UsageLog};
use kenning_registry::Registry;

use crate::gaps::Ear;

/// The rooms of the house that are open to clients.
#[derive(Clone)]
pub struct Rooms {
    pub library: Arc<Library>,
    pub discovery: Arc<Discovery>,
    pub catalog: Arc<Catalog>,
    /// `None` without a place to remember it.
    pub registry: Option<Registry>,
    /// `None` without a workspace to work in.
    pub compose: Option<Compose>,
    /// Where questions that found nothing are noted, if there is a place for it.
    pub misses: Option<Arc<dyn MissLog>>,
    /// Where is counted what was found and read.
    pub usage: Option<Arc<dyn UsageLog>>,
    /// What is missing; `None` without a place to remember it.
    pub gaps: Option<Gaps>,
    /// Who hears what tools are called for.
    pub ear: Option<Arc<dyn Ear>>,
}

#[derive(Debug, thiserror::Error)]
#[error("there is no store to keep a registry in")]
struct NoStore;

impl Rooms {
    /// Rooms that remember nothing.
    pub fn new(library: Arc<Library>, discovery: Arc<Discovery>, catalog: Arc<Catalog>) -> Self {
        Self {
            library,
            discovery,
            catalog,
            registry: None,
            misses: None,
            usage: None,
            gaps: None,
            compose: None,
            ear: None,
        }
    }

    pub(crate) fn registry(&self) -> Result<&Registry, kenning_registry::Error> {
        self.registry.as_ref().ok_or_else(|| kenning_registry::Error::database(NoStore))
    }

    pub(crate) fn compose(&self) -> Result<&Compose, kenning_compose::Error> {
        self.compose.as_ref().ok_or(kenning_compose::Error::NoWorkspace)
    }

    pub(crate) fn note_miss(&self, tool: &'static str, query: &str) {
        if let Some(misses) = &self.misses {
            misses.record(&Miss { tool, query });
        }
    }

    pub(crate) fn note_usage(&self, usage: &Usage<'_>) {
        if let Some(log) = &self.usage {
            log.note(usage);
        }
    }

    /// Milliseconds since 1970.
    pub(crate) fn now() -> u64 {
        u64::try_from(Utc::now().timestamp_millis()).unwrap_or_default()
    }

    #[expect(clippy::unused_self, reason = "the day is part of what answers draw on")]
    pub(crate) fn today(&self) -> NaiveDate {
        Utc::now().date_naive()
    }
}

impl std::fmt::Debug for Rooms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rooms").field("library", &self.library).finish_non_exhaustive()
    }
}
