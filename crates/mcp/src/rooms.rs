//! What tools and resources draw on.

use std::sync::Arc;

use kenning_knowledge::Library;
use kenning_knowledge::discover::{Discovery, MissLog};

/// The rooms of the house that are open to clients.
#[derive(Clone)]
pub struct Rooms {
    pub library: Arc<Library>,
    pub discovery: Arc<Discovery>,
    /// Where questions that found nothing are noted, if there is a place for it.
    pub misses: Option<Arc<dyn MissLog>>,
}

impl std::fmt::Debug for Rooms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rooms").field("library", &self.library).finish_non_exhaustive()
    }
}
