//! Calls to put in a store.

use std::sync::{Arc, LazyLock};

use kenning_embed::Embedder;
use kenning_gaps::list::{GapsRequest, ListedGap, Standing};
use kenning_gaps::ports::EventStore;
use kenning_gaps::session::Recorded;
use kenning_gaps::{Batch, Event, Gaps, Identity, OWN_PROJECT, Redactor};
use serde_json::json;

use crate::fixture::Fixture;

/// The time of the tests, in milliseconds since 1970.
pub(crate) const NOW: u64 = 1_800_000_000_000;
pub(crate) const MINUTE: u64 = 60 * 1_000;
pub(crate) const HOUR: u64 = 60 * MINUTE;

static MODEL: LazyLock<Embedder> = LazyLock::new(|| Embedder::bundled().unwrap());

impl Fixture {
    /// Compares asks by their words only.
    pub(crate) fn gaps(&self) -> Gaps {
        Gaps::new(self.store())
    }

    pub(crate) fn gaps_with_meaning(&self) -> Gaps {
        self.gaps().with_embedder(Arc::new(embed))
    }
}

pub(crate) fn embed(text: &str) -> Option<Vec<f32>> {
    MODEL.embed(text).ok()
}

/// A successful call, so many milliseconds after [`NOW`].
pub(crate) fn call(number: u64, tool: &str) -> Event {
    Event {
        call_id: format!("00000000-0000-4000-8000-{number:012}"),
        tool_name: tool.to_owned(),
        arguments: json!({}),
        is_error: false,
        timestamp: NOW + number,
        duration_ms: 1,
        result: Some(json!({"content": []})),
        error_message: None,
        intent: None,
        intent_source: None,
        user_id: None,
        user_email: None,
        missed: None,
    }
}

pub(crate) fn request(number: u64, capability: &str) -> Event {
    Event {
        arguments: json!({"capability": capability}),
        ..call(number, "mcpeye_request_capability")
    }
}

pub(crate) fn failed(number: u64, tool: &str, error: &str) -> Event {
    Event {
        is_error: true,
        result: None,
        error_message: Some(error.to_owned()),
        ..call(number, tool)
    }
}

/// Records a call of one of our own tools that found nothing, as our server does.
pub(crate) fn record_miss(fixture: &Fixture, number: u64, query: &str) {
    let event = Event { missed: Some(query.to_owned()), ..call(number, "discover_context") };
    let batch = Batch {
        project_id: OWN_PROJECT.to_owned(),
        identity: Identity::default(),
        events: vec![event.redacted(&Redactor::default())],
    };
    fixture.store().append(&batch).unwrap();
}

/// A batch of a user of the project `shop`.
pub(crate) fn batch(user: &str, events: Vec<Event>) -> Batch {
    let identity = Identity { user_id: Some(user.to_owned()), ..Identity::default() };
    Batch { project_id: "shop".to_owned(), identity, events }
}

/// Ingests a batch as a client would send it.
pub(crate) fn ingest(gaps: &Gaps, batch: &Batch) -> (usize, usize) {
    let answer = gaps.ingest(&serde_json::to_vec(batch).unwrap(), NOW + HOUR).unwrap();
    assert_eq!(answer.refused, []);
    (answer.accepted, answer.known)
}

/// Ingests requests of one user each, and extracts their asks.
pub(crate) fn extracted(gaps: &Gaps, requests: &[(&str, &str)]) -> Vec<ListedGap> {
    for ((user, text), number) in requests.iter().zip(1..) {
        ingest(gaps, &batch(user, vec![request(number, text)]));
    }
    gaps.extract_asks(NOW + HOUR).unwrap();
    all(gaps)
}

/// All gaps of any status.
pub(crate) fn all(gaps: &Gaps) -> Vec<ListedGap> {
    let request = GapsRequest { status: Standing::All, ..GapsRequest::default() };
    gaps.gaps(&request).unwrap().gaps
}

pub(crate) fn labelled<'a>(gaps: &'a [ListedGap], label: &str) -> &'a ListedGap {
    gaps.iter().find(|gap| gap.label == label).unwrap_or_else(|| panic!("{label}: {gaps:#?}"))
}

pub(crate) fn call_ids(records: &[Recorded]) -> Vec<u64> {
    let number = |record: &Recorded| record.event.call_id.rsplit('-').next().unwrap().parse();
    records.iter().map(|record| number(record).unwrap()).collect()
}
