//! What readiness probes and metrics ask of the server as a whole.

use std::sync::Arc;
use std::time::Duration;

use kenning_mcp::ChangeFeed;
use kenning_store::{NotReady, Store};
use kenning_web::{Health, StoreHealth};

/// A store that takes longer than this counts as down.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct ServerHealth {
    pub(super) changes: ChangeFeed,
    pub(super) store: Option<Arc<Store>>,
    /// Why the store could not be opened when the server started. It runs without one until it is
    /// started again.
    pub(super) store_failure: Option<NotReady>,
}

impl Health for ServerHealth {
    fn store(&self) -> StoreHealth {
        let checked = match (&self.store, self.store_failure) {
            (Some(store), _) => store.check(STORE_TIMEOUT),
            (None, Some(failure)) => Err(failure),
            (None, None) => return StoreHealth::None,
        };
        match checked {
            Ok(()) => StoreHealth::Ready,
            Err(not_ready) => StoreHealth::NotReady(not_ready.reason()),
        }
    }

    fn subscribers(&self) -> usize {
        self.changes.subscribers()
    }
}
