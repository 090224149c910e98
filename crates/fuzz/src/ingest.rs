//! The body of a request to `/ingest`.

use kenning_gaps::event::MAX_EVENTS;
use kenning_gaps::{Batch, Redactor};

/// A batch is accepted or rejected. What is kept is redacted, and survives being sent again
/// unchanged.
pub(crate) fn ingest(body: &[u8]) {
    let Ok(received) = Batch::read(body) else { return };
    assert!(received.batch.events.len() + received.refused.len() <= MAX_EVENTS);
    let redactor = Redactor::default();
    let kept = received.batch.redacted(&redactor);
    let sent = serde_json::to_vec(&kept).unwrap();
    let again = Batch::read(&sent).expect("a kept batch can be sent");
    assert_eq!(again.refused, [], "an event accepted once is accepted again");
    assert_eq!(again.batch, kept, "sending must not change a batch");
    let twice = again.batch.redacted(&redactor);
    assert_eq!(twice, kept, "redacting twice must change nothing");
}
