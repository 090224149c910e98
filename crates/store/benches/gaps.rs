//! Appending batches of calls durably, of the size that clients send and of a large one; and reading
//! an hour among a million calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use divan::Bencher;
use divan::counter::ItemsCount;
use kenning_gaps::ports::{Detail, EventStore, Window};
use kenning_gaps::{Batch, Event, Identity};
use kenning_store::{Location, Store};
use kenning_testkit::Postgres;
use serde_json::json;
use tempfile::TempDir;

const MILLION: u64 = 1_000_000;
const HOUR: u64 = 60 * 60 * 1_000;
/// Between two calls, in milliseconds.
const PACE: u64 = 500;

fn main() {
    divan::main();
}

#[derive(Clone, Copy, Debug)]
enum On {
    Sqlite,
    Postgres,
}

/// A store with the folder or server that it needs.
struct Fixture {
    store: Arc<Store>,
    _folder: Option<TempDir>,
    _server: Option<Postgres>,
}

impl Fixture {
    fn new(on: On) -> Self {
        let (location, folder, server) = match on {
            On::Sqlite => {
                let folder = TempDir::new().expect("a folder");
                (folder.path().to_str().expect("a path").to_owned(), Some(folder), None)
            }
            On::Postgres => {
                // With the server's default settings, by which commits reach the disk.
                let server = Postgres::start(&[]);
                (server.database(), None, Some(server))
            }
        };
        let location: Location = location.parse().expect("a location");
        let store = Arc::new(Store::connect(&location).expect("a store"));
        Self { store, _folder: folder, _server: server }
    }
}

/// A call as agents make them; one in twenty fails, one in fifty asks for something.
fn event(number: u64) -> Event {
    let failed = number.is_multiple_of(20);
    let asks = number.is_multiple_of(50);
    let tool = if asks { "mcpeye_request_capability" } else { "search_invoices" };
    Event {
        call_id: format!("{number:08x}-0000-4000-8000-{:012x}", number.wrapping_mul(0x9e37_79b9)),
        tool_name: tool.to_owned(),
        arguments: json!({"capability": "export as PDF", "query": "invoices of last year"}),
        is_error: failed,
        timestamp: 1_700_000_000_000 + number * PACE,
        duration_ms: 40,
        result: (!failed).then(|| json!({"content": [{"type": "text", "text": "x".repeat(400)}]})),
        error_message: failed.then(|| "no route to 10.0.0.7".to_owned()),
        intent: Some("The user is trying to find last year's invoices for an audit".to_owned()),
        intent_source: None,
        user_id: Some(format!("user-{}", number % 97)),
        user_email: None,
        missed: None,
    }
}

fn batch(first: u64, size: u64) -> Batch {
    Batch {
        project_id: "shop".to_owned(),
        identity: Identity { client: Some("agent".to_owned()), ..Identity::default() },
        events: (first..first + size).map(event).collect(),
    }
}

#[divan::bench(
    args = [(On::Sqlite, 20), (On::Sqlite, 1_000), (On::Postgres, 20), (On::Postgres, 1_000)],
    sample_count = 200,
    sample_size = 1,
    max_time = 20,
)]
fn append(bencher: Bencher, (on, size): (On, u64)) {
    let fixture = Fixture::new(on);
    let next = AtomicU64::new(0);
    bencher
        .counter(ItemsCount::new(size))
        .with_inputs(|| batch(next.fetch_add(size, Ordering::Relaxed), size))
        .bench_values(|batch| fixture.store.append(&batch).expect("an answer"));
}

#[divan::bench(args = [On::Sqlite, On::Postgres], sample_count = 20, sample_size = 1)]
fn an_hour_among_a_million(bencher: Bencher, on: On) {
    let fixture = Fixture::new(on);
    for first in (0..MILLION).step_by(1_000) {
        fixture.store.append(&batch(first, 1_000)).expect("an answer");
    }
    let from = 1_700_000_000_000 + MILLION / 2 * PACE;
    let window = Window {
        project_id: Some("shop".to_owned()),
        from: Some(from),
        until: Some(from + HOUR),
        detail: Detail::Outline,
        last: None,
        ..Window::default()
    };
    bencher.bench(|| {
        let events = fixture.store.events(&window).expect("an answer");
        assert_eq!(events.len() as u64, HOUR / PACE);
    });
}
