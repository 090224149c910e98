//! Several threads and processes at once.

use std::sync::Barrier;

use kenning_gaps::Gaps;
use kenning_gaps::ports::{EventStore, GapStore, Window};

use super::fixture::{HOUR, NOW, all, batch, call, extracted, ingest, request};
use crate::fixture::Fixture;

const CALLERS: u64 = 8;

/// Half of the threads share a store, as in a server; the others open one each, as processes do.
fn at_once(fixture: &Fixture, run: impl Fn(u64, &kenning_store::Store) + Sync) {
    let shared = fixture.store();
    let start = Barrier::new(usize::try_from(CALLERS).unwrap());
    std::thread::scope(|scope| {
        for n in 0..CALLERS {
            let (shared, start, run) = (&shared, &start, &run);
            scope.spawn(move || {
                let store = if n % 2 == 0 { shared.clone() } else { fixture.store() };
                start.wait();
                run(n, &store);
            });
        }
    });
}

/// Batches overlap, and half of them are in reverse order, to provoke deadlocks.
pub(crate) fn overlapping_batches(fixture: &Fixture) {
    let new = std::sync::atomic::AtomicUsize::new(0);
    at_once(fixture, |n, store| {
        for round in 0..5 {
            let first = (n + round) * 50;
            let mut events: Vec<_> = (first..first + 100).map(|n| call(n, "open")).collect();
            if n % 2 == 0 {
                events.reverse();
            }
            let appended = store.append(&batch("ann", events)).unwrap();
            new.fetch_add(appended.new, std::sync::atomic::Ordering::Relaxed);
        }
    });
    let kept = fixture.store().events(&Window::default()).unwrap().len();
    assert_eq!((kept, new.into_inner()), (50 * 13, 50 * 13));
}

pub(crate) fn parallel_extraction_counts_each_ask_once(fixture: &Fixture) {
    let gaps = fixture.gaps();
    for n in 0..60 {
        let texts = ["export as PDF", "translate a page", "delete an account"];
        let events = (0..20).map(|k| request(n * 20 + k, texts[usize::try_from(k % 3).unwrap()]));
        ingest(&gaps, &batch("ann", events.collect()));
    }
    let total = std::sync::atomic::AtomicUsize::new(0);
    let stores: Vec<Gaps> = (0..3).map(|_| fixture.gaps()).collect();
    std::thread::scope(|scope| {
        for gaps in &stores {
            let total = &total;
            scope.spawn(move || {
                let extracted = gaps.extract_asks(NOW + HOUR).unwrap();
                total.fetch_add(extracted.asks, std::sync::atomic::Ordering::Relaxed);
            });
        }
    });
    let found = all(&gaps);
    assert_eq!(found.len(), 3);
    assert_eq!(found.iter().map(|gap| gap.asks).sum::<u64>(), 1_200);
    assert_eq!(found.iter().map(|gap| gap.requests).sum::<u64>(), 1_200);
    assert_eq!(total.into_inner(), 1_200);
}

pub(crate) fn parallel_changes_lose_no_update(fixture: &Fixture) {
    let gaps = fixture.gaps();
    let id = extracted(&gaps, &[("ann", "export as PDF")])[0].id.clone();
    at_once(fixture, |_, store| {
        for _ in 0..10 {
            store
                .change_gaps("shop", &mut |gaps| {
                    gaps[0].asks += 1;
                    Ok(())
                })
                .unwrap();
        }
    });
    assert_eq!(fixture.store().gap(&id).unwrap().unwrap().asks, 1 + CALLERS * 10);
}
