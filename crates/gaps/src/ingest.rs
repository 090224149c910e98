//! Stores batches of calls that clients send.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Gaps;
use crate::error::Error;
use crate::event::{Batch, Received, Refused};

/// How far a client's clock may be ahead of ours, in milliseconds.
const AHEAD: u64 = 5 * 60 * 1_000;

/// What is answered to a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IngestResponse {
    /// Events that are kept now, whether they came before or not
    pub accepted: usize,
    /// Those among them that were here already
    pub known: usize,
    /// Events that were left out, and why; sending them again would not help
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
}

impl Gaps {
    /// Stores a batch that a client sent as JSON. When this returns, what was accepted is on disk.
    /// [`Gaps::extract_asks`] finds the asks in it later.
    pub fn ingest(&self, body: &[u8], now: u64) -> Result<IngestResponse, Error> {
        self.ingest_received(Batch::read(body)?, now)
    }

    /// Stores a batch that was already parsed.
    pub fn ingest_received(&self, received: Received, now: u64) -> Result<IngestResponse, Error> {
        let Received { batch, refused } = received;
        let mut batch = batch.redacted(&self.redactor);
        for event in &mut batch.events {
            // A call dated in the future would not become due, and not expire.
            event.timestamp = event.timestamp.min(now.saturating_add(AHEAD));
        }
        let appended = self.storage.append(&batch)?;
        let accepted = appended.new + appended.known;
        Ok(IngestResponse { accepted, known: appended.known, refused })
    }
}
