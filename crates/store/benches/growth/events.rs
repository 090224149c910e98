//! Calls over thirty days, with one gap per hundred calls and one usage count per call.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kenning_gaps::ask::AskKind;
use kenning_gaps::gap::Status;
use kenning_gaps::list::GapsRequest;
use kenning_gaps::ports::{EventStore, GapStore};
use kenning_gaps::reporting::ReportRequest;
use kenning_gaps::{Batch, Event, Gap, Gaps, Identity, contract};
use kenning_knowledge::usage::{DAY, Period, Usage, UsageKind, UsageLog};
use kenning_store::Store;
use serde_json::json;

use crate::fixture::Fixture;
use crate::{Figures, Random, median_ms, memory_mb, milliseconds, time};

const PROJECTS: [&str; 4] = ["shop", "handbook", "billing", "support"];
const DAYS: u64 = 30;
/// Calls for each gap.
const CALLS: usize = 100;
/// Nodes that are found and read.
const NODES: usize = 10_000;
const BATCH: usize = 1_000;
/// Calls in a measured batch, as many as clients send together.
const SENT: usize = 100;
const ROUNDS: usize = 11;
const LISTS: usize = 51;

pub(crate) fn measure(fixture: &Fixture, size: usize) -> Figures {
    let store = &fixture.store;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_millis();
    let now = u64::try_from(now).expect("a time");
    let filled = fill(store, size, now);
    found(store, size, now);
    add_gaps(store, size / CALLS, now);
    fixture.settle();
    let disk_mb = fixture.disk_mb();

    let gaps = Gaps::new(store.clone());
    let list_ms = median_ms(LISTS, || {
        assert!(!gaps.gaps(&GapsRequest::default()).expect("an answer").gaps.is_empty());
    });
    let month = Period { from: Some(now - DAYS * DAY), until: None };
    let usage_ms = median_ms(ROUNDS, || {
        assert!(!store.used(&month).expect("an answer").is_empty());
    });
    let memory = memory_mb("VmRSS:");
    let day = ReportRequest {
        project_id: Some(PROJECTS[0].to_owned()),
        from: Some(now - DAY),
        ..ReportRequest::default()
    };
    let report_ms = milliseconds(time(|| drop(gaps.report(&day).expect("an answer"))));

    let mut next = size;
    let append_ms = median_ms(ROUNDS, || {
        let batch = batch(PROJECTS[1], next..next + SENT, |number| call(number, now - DAY));
        store.append(&batch).expect("an answer");
        next += SENT;
    });
    let extract_ms = extract(store, next, now);
    json!({
        "fill_per_s": (size as f64 / filled.as_secs_f64()).round(),
        "append_ms": append_ms,
        "list_ms": list_ms,
        "usage_ms": usage_ms,
        "report_ms": report_ms,
        "extract_ms": extract_ms,
        "memory_mb": memory,
        "disk_mb": disk_mb,
    })
}

/// Appends the calls, with the projects in turn; returns how long the store took.
fn fill(store: &Store, size: usize, now: u64) -> Duration {
    let (start, pace) = (now - DAYS * DAY, DAYS * DAY / size as u64);
    let together = BATCH * PROJECTS.len();
    let mut took = Duration::ZERO;
    for first in (0..size).step_by(together) {
        let end = size.min(first + together);
        for (place, project) in PROJECTS.iter().enumerate() {
            let numbers = (first + place..end).step_by(PROJECTS.len());
            let batch =
                batch(project, numbers, |number| call(number, start + pace * number as u64));
            took += time(|| {
                let appended = store.append(&batch).expect("an answer");
                assert_eq!(appended.new, batch.events.len());
            });
        }
    }
    took
}

fn batch(
    project: &str,
    numbers: impl Iterator<Item = usize>,
    call: impl Fn(usize) -> Event,
) -> Batch {
    Batch {
        project_id: project.to_owned(),
        identity: Identity { client: Some("agent".to_owned()), ..Identity::default() },
        events: numbers.map(call).collect(),
    }
}

/// A typical successful call.
fn call(number: usize, timestamp: u64) -> Event {
    let mut random = Random(number as u64 * 7_919 + 1);
    Event {
        call_id: format!("{number:08x}-0000-4000-8000-{:012x}", random.below(1 << 48)),
        tool_name: ["search_invoices", "list_orders", "get_shipment", "refund"][number % 4].into(),
        arguments: json!({"query": random.words(4)}),
        is_error: false,
        timestamp,
        duration_ms: 40,
        result: Some(json!({"content": [{"type": "text", "text": random.words(60)}]})),
        error_message: None,
        intent: Some(format!("The user is trying to find the {}", random.words(3))),
        intent_source: None,
        user_id: Some(format!("user-{}", number % 97)),
        user_email: None,
        missed: None,
    }
}

/// Counts the use of a node once per call, as the server does.
fn found(store: &Store, size: usize, now: u64) {
    let mut random = Random(11);
    let kinds = [UsageKind::Searched, UsageKind::Discovered, UsageKind::Retrieved];
    let pace = DAYS * DAY / size as u64;
    for number in 0..size {
        let node = format!("doc{}", random.below(NODES));
        let at = now - pace * (size - number) as u64;
        store.note(&Usage { kind: kinds[random.below(3)], nodes: vec![&node], at });
        if number % 10_000 == 0 {
            store.flush_usage().expect("counts");
        }
    }
    store.flush_usage().expect("counts");
}

/// Adds gaps.
fn add_gaps(store: &Store, count: usize, now: u64) {
    for (place, project) in PROJECTS.iter().enumerate() {
        let mut put = |gaps: &mut Vec<Gap>| {
            gaps.extend((place..count).step_by(PROJECTS.len()).map(|it| gap(it, project, now)));
            Ok(())
        };
        store.change_gaps(project, &mut put).expect("gaps");
    }
}

fn gap(number: usize, project: &str, now: u64) -> Gap {
    let mut random = Random(number as u64 * 104_729 + 1);
    let label = format!("{} number {number}", random.words(4));
    Gap {
        id: format!("g-{number:010x}"),
        project_id: project.to_owned(),
        kind: AskKind::Explicit,
        status: Status::Open,
        asks: random.below(50) as u64 + 1,
        requests: 1,
        first_asked: now - DAYS * DAY,
        last_asked: now - random.below(1_000_000) as u64,
        centroid: random.vector(),
        wordings: vec![label.clone()],
        label,
    }
}

/// Extracts asks from a hundred calls of one project: half are requests, half failed.
fn extract(store: &Arc<Store>, first: usize, now: u64) -> f64 {
    let model = |text: &str| {
        let seed = text.bytes().fold(1_u64, |seed, byte| seed.wrapping_mul(31) ^ u64::from(byte));
        Some(Random(seed | 1).vector())
    };
    let gaps = Gaps::new(store.clone()).with_embedder(Arc::new(model));
    let mut times: Vec<f64> = (0..3)
        .map(|round| {
            let first = first + round * SENT;
            let batch =
                batch(PROJECTS[0], first..first + SENT, |number| missing(number, now - DAY));
            store.append(&batch).expect("an answer");
            milliseconds(time(|| {
                let extracted = gaps.extract_asks(now).expect("an answer");
                assert_eq!(extracted.asks, SENT, "each call holds an ask");
            }))
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[1]
}

fn missing(number: usize, timestamp: u64) -> Event {
    let mut event = call(number, timestamp + number as u64);
    let wish = format!("{} number {number}", Random(number as u64 * 31 + 1).words(4));
    if number.is_multiple_of(2) {
        contract::TOOL_NAME.clone_into(&mut event.tool_name);
        event.arguments = json!({"capability": wish});
    } else {
        event.is_error = true;
        event.result = None;
        event.error_message = Some("it was not found".to_owned());
        event.intent = Some(wish);
        event.user_id = Some(format!("user-{number}"));
    }
    event
}
