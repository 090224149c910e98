//! Stored vectors: what it takes to start without computing any.

use std::time::Duration;

use kenning_knowledge::semantic::{Embedded, TextKey, VectorCache};
use serde_json::json;

use crate::fixture::Fixture;
use crate::{Figures, Random, memory_mb, milliseconds, time};

const MODEL: &str = "bench";
const BATCH: usize = 1_000;

pub(crate) fn measure(fixture: &Fixture, size: usize) -> Figures {
    let mut random = Random(42);
    let mut keys = Vec::with_capacity(size);
    let mut saving = Duration::ZERO;
    for first in (0..size).step_by(BATCH) {
        let made: Vec<(TextKey, Embedded)> = (first..size.min(first + BATCH))
            .map(|_| (key(&mut random), embedded(&mut random)))
            .collect();
        let entries: Vec<(TextKey, &Embedded)> = made.iter().map(|(key, it)| (*key, it)).collect();
        saving += time(|| fixture.store.save(MODEL, &entries).expect("vectors"));
        keys.extend(made.iter().map(|(key, _)| *key));
    }
    let disk_mb = fixture.disk_mb();
    let before = memory_mb("VmRSS:");
    let mut found = 0;
    let mut held = 0.0;
    let load = time(|| {
        let loaded = fixture.store.load(MODEL, &keys).expect("vectors");
        (found, held) = (loaded.len(), memory_mb("VmRSS:"));
    });
    assert_eq!(found, size);
    json!({
        "save_ms": milliseconds(saving),
        "load_ms": milliseconds(load),
        "memory_mb": held - before,
        "disk_mb": disk_mb,
    })
}

fn key(random: &mut Random) -> TextKey {
    let bytes: Vec<u8> = (0..2).flat_map(|_| random.below(usize::MAX).to_le_bytes()).collect();
    TextKey::from_bytes(&bytes).expect("16 bytes")
}

fn embedded(random: &mut Random) -> Embedded {
    Embedded { windows: std::iter::once(0..1).collect(), vectors: random.vector() }
}
