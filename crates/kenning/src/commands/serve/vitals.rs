//! How a running server fares, for those who look at it from outside.

use std::sync::Arc;
use std::time::Duration;

use kenning_mcp::Server;
use kenning_store::Store;
use kenning_web::ToolFigures;

/// A store that takes longer than this does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct Vitals {
    server: Server,
    store: Option<Arc<Store>>,
}

impl Vitals {
    pub(super) fn new(server: Server, store: Option<Arc<Store>>) -> Self {
        Self { server, store }
    }
}

impl kenning_web::Vitals for Vitals {
    fn store_answers(&self) -> Option<bool> {
        self.store.as_ref().map(|store| store.answers(PATIENCE))
    }

    fn tools(&self) -> Vec<ToolFigures> {
        let figures = self.server.figures().into_iter();
        figures
            .map(|figures| ToolFigures {
                tool: figures.tool,
                errors: figures.errors,
                seconds: figures.seconds,
                buckets: figures.buckets,
            })
            .collect()
    }

    fn listeners(&self) -> usize {
        self.server.changes().listeners()
    }

    fn heard(&self) -> Option<(u64, u64)> {
        self.server.heard().map(|tally| (tally.heard, tally.dropped))
    }
}
