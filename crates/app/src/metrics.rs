//! How long operations take, measured while they are used.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::operation::Operation;

/// Four to an octave of microseconds, so that an edge is at most a quarter off; the last one is
/// longer than any call may take.
const BUCKETS: usize = 100;

/// The edges that are exported: powers of two from 256 microseconds to 34 seconds. All buckets of
/// every operation would be thousands of series.
const EXPORTED_EDGES: std::ops::RangeInclusive<u32> = 8..=25;

/// Latency and errors of every operation of the inventory.
#[derive(Debug, Default)]
pub(crate) struct Metrics(HashMap<&'static str, Series>);

#[derive(Debug, Default)]
struct Series {
    /// Of calls that succeeded: early failures would make it look fast.
    took: Histogram,
    /// The total of `took`, in microseconds.
    sum: AtomicU64,
    errors: AtomicU64,
}

#[derive(Debug)]
struct Histogram([AtomicU64; BUCKETS]);

/// How often an operation was called since the start, and how long it took.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationFigures {
    pub operation: &'static str,
    /// Calls that failed or were refused.
    pub errors: u64,
    /// The total duration of calls that succeeded.
    pub seconds: f64,
    /// Calls that succeeded, by upper edge in seconds, each counted once. The last edge is infinite.
    pub buckets: Vec<(f64, u64)>,
}

/// The median and the 95th percentile, displayed in milliseconds, as in `2-15`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Typical {
    p50: Duration,
    p95: Duration,
}

impl Metrics {
    pub(crate) fn new(operations: &[Operation]) -> Self {
        Self(operations.iter().map(|one| (one.name, Series::default())).collect())
    }

    pub(crate) fn record(&self, operation: &str, took: Duration) {
        if let Some(series) = self.0.get(operation) {
            series.took.0[bucket(took)].fetch_add(1, Ordering::Relaxed);
            let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            series.sum.fetch_add(micros, Ordering::Relaxed);
        }
    }

    pub(crate) fn record_error(&self, operation: &str) {
        if let Some(series) = self.0.get(operation) {
            series.errors.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Of every operation, sorted by name.
    pub(crate) fn figures(&self) -> Vec<OperationFigures> {
        let mut figures: Vec<OperationFigures> = self
            .0
            .iter()
            .map(|(operation, series)| OperationFigures {
                operation,
                errors: series.errors.load(Ordering::Relaxed),
                seconds: Duration::from_micros(series.sum.load(Ordering::Relaxed)).as_secs_f64(),
                buckets: series.took.exported(),
            })
            .collect();
        figures.sort_unstable_by_key(|figures| figures.operation);
        figures
    }

    /// `None` before the first call.
    pub(crate) fn typical(&self, operation: &str) -> Option<Typical> {
        let counts = self.0.get(operation)?.took.counts();
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

impl Histogram {
    fn counts(&self) -> Vec<u64> {
        self.0.iter().map(|count| count.load(Ordering::Relaxed)).collect()
    }

    fn exported(&self) -> Vec<(f64, u64)> {
        let counts = self.counts();
        let mut left = counts.as_slice();
        let edges = EXPORTED_EDGES.map(|power| 1_u64 << power).map(Duration::from_micros);
        let mut exported: Vec<(f64, u64)> = edges
            .map(|edge| {
                let below = bucket(edge) - (counts.len() - left.len());
                let (inside, rest) = left.split_at(below);
                left = rest;
                (edge.as_secs_f64(), inside.iter().sum())
            })
            .collect();
        exported.push((f64::INFINITY, left.iter().sum()));
        exported
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

/// Every duration in the bucket is shorter than this.
fn upper_edge(bucket: usize) -> Duration {
    let micros = match bucket {
        0..4 => bucket as u64 + 1,
        _ => (5 + bucket as u64 % 4) << (bucket / 4 - 1),
    };
    Duration::from_micros(micros)
}

/// The upper edge of the bucket that holds the `wanted`-th call.
fn quantile(counts: &[u64], wanted: u64) -> Duration {
    let mut counted = 0;
    let at = counts.iter().position(|count| {
        counted += count;
        counted >= wanted
    });
    upper_edge(at.unwrap_or(BUCKETS - 1))
}

impl fmt::Display for Typical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", milliseconds(self.p50), milliseconds(self.p95))
    }
}

/// Rounded to about two significant digits.
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
    fn typical_durations_are_displayed_in_milliseconds() {
        let metrics = Metrics(HashMap::from([("tool", Series::default())]));
        assert_eq!(metrics.typical("tool"), None);
        assert_eq!(metrics.typical("no tool"), None);
        for _ in 0..90 {
            metrics.record("tool", Duration::from_millis(2));
        }
        for _ in 0..10 {
            metrics.record("tool", Duration::from_millis(13));
        }
        assert_eq!(metrics.typical("tool").unwrap().to_string(), "2-14");
        for _ in 0..1_000 {
            metrics.record("tool", Duration::from_micros(70));
        }
        assert_eq!(metrics.typical("tool").unwrap().to_string(), "0.08-2");
    }

    #[test]
    fn exported_buckets_count_every_call_once() {
        let metrics = Metrics(HashMap::from([("tool", Series::default())]));
        for micros in [1, 255, 256, 511, 512, 1_000, 33_554_432, 60_000_000] {
            metrics.record("tool", Duration::from_micros(micros));
        }
        metrics.record_error("tool");
        let [figures] = metrics.figures().try_into().unwrap();
        assert_eq!(figures.errors, 1);
        assert!((figures.seconds - 93.556_967).abs() < 1e-9, "{}", figures.seconds);
        let filled: Vec<(f64, u64)> =
            figures.buckets.iter().copied().filter(|(_, count)| *count > 0).collect();
        let expected =
            [(0.000_256, 2), (0.000_512, 2), (0.001_024, 2), (f64::INFINITY, 2)].to_vec();
        assert_eq!(filled, expected);
    }

    #[test]
    fn the_longest_call_has_a_bucket() {
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
        assert!(upper_edge(BUCKETS - 1) > crate::limiter::Capacity::STDIO.timeout);
    }
}
