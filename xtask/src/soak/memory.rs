//! What the processes hold in memory.
//!
//! Growth is the median of the resident set over the last tenth of the run against the median over
//! the tenth after the first quarter: by then caches are filled, and a median does not care about
//! the moment that happens to be looked at.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::servers::Process;
use crate::run::resident_kb;

/// Resident kilobytes by process, over time.
#[derive(Debug, Default)]
pub(super) struct Samples(BTreeMap<u32, Vec<(Duration, u64)>>);

#[derive(Debug, Serialize)]
pub(super) struct Growth {
    pub(super) process: String,
    pub(super) settled_mb: f64,
    pub(super) end_mb: f64,
    pub(super) percent: f64,
    /// The median of every tenth of the run: whether it goes on growing, or has come to rest.
    pub(super) tenths_mb: Vec<f64>,
}

impl Samples {
    pub(super) fn take(&mut self, now: Duration, processes: &[Process]) {
        for process in processes {
            if let Some(kilobytes) = resident_kb(process.id) {
                self.0.entry(process.id).or_default().push((now, kilobytes));
            }
        }
    }

    pub(super) fn growth(&self, length: Duration, processes: &[Process]) -> Vec<Growth> {
        let growth = processes.iter().filter_map(|process| {
            let samples = self.0.get(&process.id)?;
            let settled = median(samples, length.mul_f64(0.25), length.mul_f64(0.35))?;
            let end = median(samples, length.mul_f64(0.9), length)?;
            let tenth = |n: u32| median(samples, length * n / 10, length * (n + 1) / 10);
            Some(Growth {
                process: process.name.clone(),
                settled_mb: settled / 1024.0,
                end_mb: end / 1024.0,
                percent: (end / settled - 1.0) * 100.0,
                tenths_mb: (0..10).filter_map(tenth).map(|size| size / 1024.0).collect(),
            })
        });
        growth.collect()
    }
}

fn median(samples: &[(Duration, u64)], from: Duration, until: Duration) -> Option<f64> {
    let within = samples.iter().filter(|(at, _)| (from..=until).contains(at));
    let mut sizes: Vec<u64> = within.map(|(_, size)| *size).collect();
    sizes.sort_unstable();
    sizes.get(sizes.len() / 2).map(|size| *size as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_between_the_settled_point_and_the_end() {
        let process = Process { id: 1, name: "one".to_owned() };
        let mut samples = Samples::default();
        // It fills its caches in the first quarter, and one sample is out of the ordinary.
        let sizes = (0..=100).map(|second| match second {
            0..25 => 10_000,
            95 => 90_000,
            25..90 => 100_000,
            _ => 103_000,
        });
        let timed = sizes.enumerate().map(|(at, size)| (Duration::from_secs(at as u64), size));
        samples.0.insert(1, timed.collect());
        let growth = samples.growth(Duration::from_secs(100), &[process]);
        assert_eq!(growth.len(), 1);
        assert!((growth[0].percent - 3.0).abs() < 1e-9, "{growth:?}");
    }
}
