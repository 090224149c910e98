//! What others send to `/ingest`.

use kenning_gaps::event::MAX_EVENTS;
use kenning_gaps::{Batch, Redactor};

/// A batch is understood or refused; what is kept of it is redacted, and stays as it is when it is
/// sent again.
pub fn ingest(body: &[u8]) {
    let Ok(received) = Batch::read(body) else { return };
    assert!(received.batch.events.len() + received.refused.len() <= MAX_EVENTS);
    let redactor = Redactor::default();
    let kept = received.batch.redacted(&redactor);
    let sent = serde_json::to_vec(&kept).unwrap();
    let again = Batch::read(&sent).expect("what we keep is what we take");
    assert_eq!(again.refused, [], "what was taken once is taken again");
    assert_eq!(again.batch, kept, "a batch that travels is the same batch");
    let twice = again.batch.redacted(&redactor);
    assert_eq!(twice, kept, "what is redacted stays as it is");
}
