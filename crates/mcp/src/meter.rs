//! How long tools take, measured while they are used.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::tool::Tool;

/// Four to an octave of microseconds, so that an edge is at most a quarter off; the last one is
/// longer than any call may take.
const BUCKETS: usize = 100;

/// A histogram for every tool of the inventory.
#[derive(Debug, Default)]
pub(crate) struct Meter(HashMap<&'static str, Histogram>);

#[derive(Debug)]
struct Histogram([AtomicU64; BUCKETS]);

/// The middle call, and one that is slower than 19 of 20; displayed in milliseconds, as in `2-15`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Typical {
    p50: Duration,
    p95: Duration,
}

impl Meter {
    pub(crate) fn new(tools: &[Tool]) -> Self {
        Self(tools.iter().map(|tool| (tool.name, Histogram::default())).collect())
    }

    pub(crate) fn record(&self, tool: &str, took: Duration) {
        if let Some(histogram) = self.0.get(tool) {
            histogram.0[bucket(took)].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// `None` before the first call.
    pub(crate) fn typical(&self, tool: &str) -> Option<Typical> {
        let histogram = self.0.get(tool)?;
        let counts: Vec<u64> =
            histogram.0.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let calls: u64 = counts.iter().sum();
        let below = |percent: u64| quantile(&counts, (calls * percent).div_ceil(100));
        (calls > 0).then(|| Typical { p50: below(50), p95: below(95) })
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

fn bucket(took: Duration) -> usize {
    let micros = usize::try_from(took.as_micros()).unwrap_or(usize::MAX);
    if micros < 4 {
        return micros;
    }
    let octave = micros.ilog2() as usize;
    let quarter = (micros >> (octave - 2)) & 3;
    ((octave - 1) * 4 + quarter).min(BUCKETS - 1)
}

/// What every duration in the bucket is shorter than.
fn upper_edge(bucket: usize) -> Duration {
    let micros = match bucket {
        0..4 => bucket as u64 + 1,
        _ => (5 + bucket as u64 % 4) << (bucket / 4 - 1),
    };
    Duration::from_micros(micros)
}

/// The edge that `wanted` calls are below.
fn quantile(counts: &[u64], wanted: u64) -> Duration {
    let mut seen = 0;
    let at = counts.iter().position(|count| {
        seen += count;
        seen >= wanted
    });
    upper_edge(at.unwrap_or(BUCKETS - 1))
}

impl fmt::Display for Typical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", milliseconds(self.p50), milliseconds(self.p95))
    }
}

/// With as many digits as mean something.
fn milliseconds(duration: Duration) -> f64 {
    let ms = duration.as_secs_f64() * 1_000.0;
    let digits = match ms {
        ms if ms >= 10.0 => 1.0,
        ms if ms >= 1.0 => 10.0,
        _ => 100.0,
    };
    (ms * digits).round() / digits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_duration_is_below_its_edge_and_not_far_below(micros in 0_u64..30_000_000) {
            let took = Duration::from_micros(micros);
            let edge = upper_edge(bucket(took));
            prop_assert!(took < edge);
            prop_assert!(edge.as_micros() <= took.as_micros() * 5 / 4 + 1, "{took:?} {edge:?}");
        }
    }

    #[test]
    fn what_is_typical_is_said_in_milliseconds() {
        let histogram = Histogram::default();
        let meter = Meter(HashMap::from([("tool", histogram)]));
        assert_eq!(meter.typical("tool"), None);
        assert_eq!(meter.typical("no tool"), None);
        for _ in 0..90 {
            meter.record("tool", Duration::from_millis(2));
        }
        for _ in 0..10 {
            meter.record("tool", Duration::from_millis(13));
        }
        assert_eq!(meter.typical("tool").unwrap().to_string(), "2-14");
        for _ in 0..1_000 {
            meter.record("tool", Duration::from_micros(70));
        }
        assert_eq!(meter.typical("tool").unwrap().to_string(), "0.08-2");
    }

    #[test]
    fn the_longest_call_has_a_place() {
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
        assert!(upper_edge(BUCKETS - 1) > crate::gate::TIMEOUT);
    }
}
