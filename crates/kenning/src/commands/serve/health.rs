//! What readiness probes and metrics ask of the server as a whole.

use std::sync::Arc;
use std::time::Duration;

use kenning_mcp::ChangeFeed;
use kenning_store::Store;
use kenning_web::Health;

/// A store that takes longer than this counts as down.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct ServerHealth {
    pub(super) changes: ChangeFeed,
    pub(super) store: Option<Arc<Store>>,
}

impl Health for ServerHealth {
    fn store_answers(&self) -> Option<bool> {
        self.store.as_ref().map(|store| store.answers(STORE_TIMEOUT))
    }

    fn subscribers(&self) -> usize {
        self.changes.subscribers()
    }
}
