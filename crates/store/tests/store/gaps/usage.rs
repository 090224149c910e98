//! Usage counts of nodes.

use kenning_knowledge::usage::{DAY, Period, Usage, UsageKind, UsageLog, Used};

use super::fixture::NOW;
use crate::fixture::Fixture;

fn used(node: &str, kind: UsageKind, times: u64, last_at: u64) -> Used {
    Used { node: node.into(), kind, times, last_at }
}

pub(crate) fn counts_nodes_by_day(fixture: &Fixture) {
    let (store, other) = (fixture.store(), fixture.store());
    let note = |kind, nodes: &[&str], at| store.note(&Usage { kind, nodes: nodes.to_vec(), at });
    note(UsageKind::Discovered, &["a", "b"], NOW);
    note(UsageKind::Discovered, &["a"], NOW + 5);
    note(UsageKind::Retrieved, &["a"], NOW + 2 * DAY);
    note(UsageKind::Searched, &[], NOW);
    other.note(&Usage { kind: UsageKind::Discovered, nodes: vec!["a"], at: NOW + 1 });
    other.flush_usage().unwrap();
    let of = |from, until| store.used(&Period { from, until }).unwrap();
    let found = [
        used("a", UsageKind::Discovered, 3, NOW + 5),
        used("a", UsageKind::Retrieved, 1, NOW + 2 * DAY),
        used("b", UsageKind::Discovered, 1, NOW),
    ];
    assert_eq!(of(None, None), found);
    assert_eq!(of(Some(NOW + DAY), None), [found[1].clone()]);
    assert_eq!(of(Some(NOW), Some(NOW + 1)), [found[0].clone(), found[2].clone()]);
    std::thread::scope(|scope| {
        for store in [&store, &store, &other] {
            scope.spawn(move || {
                for _ in 0..200 {
                    store.note(&Usage {
                        kind: UsageKind::Searched,
                        nodes: vec!["a", "b"],
                        at: NOW,
                    });
                }
                store.flush_usage().unwrap();
            });
        }
    });
    other.flush_usage().unwrap();
    let searched: u64 = of(None, None)
        .iter()
        .filter(|used| used.kind == UsageKind::Searched)
        .map(|used| used.times)
        .sum();
    assert_eq!(searched, 1_200, "none is lost");
    assert_eq!(store.forget_usage_before(NOW + DAY).unwrap(), 4);
    assert_eq!(of(None, None), [found[1].clone()]);
}
