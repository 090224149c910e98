//! What was measured, and whether the run passed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use super::{Interval, Options, Profile, load};
use crate::server::Build;

/// From this length on, a run is also judged by what a busy machine may delay: memory and times.
const LONG_RUN: Duration = Duration::from_mins(2);
/// A server waits up to a second for files to be quiet, and then reads them.
const MAX_LAG_MS: f64 = 10_000.0;
const MAX_REFUSAL_MS: f64 = 15_000.0;
const MAX_GROWTH_PERCENT: f64 = 5.0;
/// Of a lookup over MCP while the server has hundreds of connections.
const MAX_LOOKUP_P99_MS: f64 = 250.0;
/// Calls of the clients in the run with faults, each of which must have been answered.
const CALLS: [&str; 9] = [
    "deactivate_capability",
    "discover_context",
    "gaps",
    "get_agent_capabilities",
    "ingest",
    "lookup_capability",
    "register_agent_capabilities",
    "retrieve_knowledge",
    "search_knowledge",
];
/// Problems that are printed; all are counted.
const PRINTED: usize = 20;

/// Whether a call may be refused while the database is away. Knowledge and catalog may not.
pub(super) fn needs_store(call: &str) -> bool {
    let without =
        ["retrieve_knowledge", "search_knowledge", "discover_context", "lookup_capability"];
    !without.contains(&call)
}

/// All times are in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Measurements {
    calls: BTreeMap<&'static str, Times>,
    lags: Vec<f64>,
    problems: Vec<String>,
    pub(super) file_changes: usize,
    /// Connections on which half a head was sent.
    pub(super) half_opened: usize,
    verified: BTreeMap<&'static str, u64>,
    /// Resident megabytes of each process over time.
    memory: BTreeMap<&'static str, Vec<(Duration, f64)>>,
}

#[derive(Debug, Default)]
struct Times {
    answered: Vec<f64>,
    answered_during_outages: usize,
    refused: Vec<f64>,
}

impl Measurements {
    pub(super) fn problem(&mut self, problem: String) {
        if self.problems.len() < PRINTED {
            eprintln!("PROBLEM: {problem}");
        }
        self.problems.push(problem);
    }

    pub(super) fn answered(&mut self, call: &'static str, interval: Interval, during_outage: bool) {
        let times = self.calls.entry(call).or_default();
        times.answered.push(ms(interval.until.saturating_sub(interval.from)));
        times.answered_during_outages += usize::from(during_outage);
    }

    pub(super) fn refused(&mut self, call: &'static str, interval: Interval) {
        let took = ms(interval.until.saturating_sub(interval.from));
        self.calls.entry(call).or_default().refused.push(took);
    }

    /// How long a file had been changed when an answer did not show it yet.
    pub(super) fn lag(&mut self, lag: Duration) {
        self.lags.push(ms(lag));
    }

    /// Something that was found as it must be at the end of the run.
    pub(super) fn verified(&mut self, what: &'static str, count: u64) {
        *self.verified.entry(what).or_default() += count;
    }

    pub(super) fn memory(&mut self, process: &'static str, now: Duration, mb: f64) {
        self.memory.entry(process).or_default().push((now, mb));
    }

    /// Prints the results, writes them to a file as JSON, and returns why the run failed, if it did.
    pub(super) fn finish(
        &self,
        options: Options,
        (outages, away): (usize, Duration),
        path: &Path,
    ) -> Result<Vec<String>> {
        let (seconds, build) = (options.length.as_secs(), options.build.name());
        let (changes, away_s) = (self.file_changes, away.as_secs_f64());
        let besides = match options.profile {
            Profile::Faults => {
                format!("the database away {outages} times for {away_s:.1} s in all")
            }
            Profile::Load => format!("{} connections with half a request", self.half_opened),
        };
        println!(
            "{seconds} s of the {build} build: {changes} changes of files, {besides}\n\n{:<28}{:>9}{:>9}{:>9}{:>10}{:>12}{:>9}{:>12}",
            "call", "answered", "p50 ms", "p99 ms", "max ms", "while away", "refused", "slowest ms"
        );
        let (mut rows, mut growths) = (Vec::new(), Vec::new());
        for (call, times) in &self.calls {
            let (answered, refused) =
                (Percentiles::of(&times.answered), Percentiles::of(&times.refused));
            let during_outages = times.answered_during_outages;
            println!(
                "{call:<28}{:>9}{:>9.1}{:>9.1}{:>10.1}{during_outages:>12}{:>9}{:>12.0}",
                answered.count,
                answered.p50,
                answered.p99,
                answered.max,
                refused.count,
                refused.max
            );
            rows.push(json!({"call": call, "answered": answered, "refused": refused,
                "answered_during_outages": during_outages}));
        }
        let lag = Percentiles::of(&self.lags);
        println!(
            "\nof {} versions shown, the oldest was {:.0} ms behind the files (p99 {:.0} ms)",
            lag.count, lag.max, lag.p99
        );
        for (what, count) in &self.verified {
            println!("{count} {what}: all there at the end");
        }
        for (process, samples) in &self.memory {
            let Some(growth) = Growth::of(process, samples, options.length) else { continue };
            let Growth { settled_mb, end_mb, percent, .. } = growth;
            println!(
                "{process}: {settled_mb:.1} MB when settled, {end_mb:.1} MB at the end, {percent:+.1} %"
            );
            growths.push(growth);
        }
        let mut failures = self.failures(options.profile, outages);
        if options.length >= LONG_RUN {
            failures.extend(self.delays(lag.max, &growths));
            failures.extend(self.slow_lookups(options));
        } else {
            println!("the run was too short to judge memory and times; they were only measured");
        }
        println!("{} problems", self.problems.len());
        let report = json!({"seconds": seconds, "build": build, "file_changes": changes,
            "outages": outages, "outage_seconds": away_s, "half_opened": self.half_opened, "calls": rows, "lag": lag,
            "verified": self.verified, "memory": growths, "problems": self.problems,
            "failures": failures});
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        fs::write(path, serde_json::to_string_pretty(&report)?)?;
        println!("written to {}", path.display());
        Ok(failures)
    }

    fn failures(&self, profile: Profile, outages: usize) -> Vec<String> {
        let mut failures = Vec::new();
        if let Some(first) = self.problems.first() {
            failures.push(format!("{} problems, the first: {first}", self.problems.len()));
        }
        let expected = match profile {
            Profile::Faults => &CALLS[..],
            Profile::Load => &load::CALLS,
        };
        let is_answered =
            |call: &&str| self.calls.get(call).is_some_and(|times| !times.answered.is_empty());
        let silent = expected.iter().filter(|call| !is_answered(call));
        failures.extend(silent.map(|call| format!("{call} was never answered")));
        if profile == Profile::Faults {
            failures.extend(self.outage_failures(outages));
        }
        failures
    }

    fn outage_failures(&self, outages: usize) -> Vec<String> {
        let mut failures = Vec::new();
        if outages == 0 {
            failures.push("the database was never away, so outages were not tested".to_owned());
        }
        let stopped = |(call, times): &(&&str, &Times)| {
            !needs_store(call) && times.answered_during_outages == 0
        };
        for (call, _) in self.calls.iter().filter(stopped) {
            failures.push(format!("{call} was not answered while the database was away"));
        }
        failures
    }

    /// A debug build is several times as slow, so only a release build is judged.
    fn slow_lookups(&self, options: Options) -> Option<String> {
        if options.profile != Profile::Load || options.build != Build::Release {
            return None;
        }
        let p99 = Percentiles::of(&self.calls.get(load::MCP_LOOKUP)?.answered).p99;
        let slow = p99 > MAX_LOOKUP_P99_MS;
        slow.then(|| format!("the p99 of {} is {p99:.0} ms", load::MCP_LOOKUP))
    }

    fn delays(&self, max_lag: f64, growths: &[Growth]) -> Vec<String> {
        let mut failures = Vec::new();
        if max_lag > MAX_LAG_MS {
            failures.push(format!("a change was visible only after {max_lag:.0} ms"));
        }
        let refused = self.calls.values().flat_map(|times| &times.refused);
        let slowest = refused.copied().fold(0.0, f64::max);
        if slowest > MAX_REFUSAL_MS {
            failures.push(format!("a refusal took {slowest:.0} ms"));
        }
        let grown = growths.iter().filter(|growth| growth.percent >= MAX_GROWTH_PERCENT);
        failures.extend(grown.map(|Growth { process, settled_mb, percent, .. }| {
            format!("{process} grew by {percent:.1} %, from {settled_mb:.0} MB")
        }));
        failures
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[derive(Debug, Serialize)]
struct Percentiles {
    count: usize,
    p50: f64,
    p99: f64,
    max: f64,
}

impl Percentiles {
    fn of(times: &[f64]) -> Self {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |percent: usize| {
            let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
            sorted.get(place).copied().unwrap_or_default()
        };
        Self { count: sorted.len(), p50: at(50), p99: at(99), max: at(100) }
    }
}

/// The median over the last tenth of the run against the median over the tenth after the first quarter:
/// by then caches are filled, and a median ignores a single peak.
#[derive(Debug, Serialize)]
struct Growth {
    process: &'static str,
    settled_mb: f64,
    end_mb: f64,
    percent: f64,
    /// The median of every tenth of the run: whether it goes on growing.
    tenths_mb: Vec<f64>,
}

impl Growth {
    fn of(process: &'static str, samples: &[(Duration, f64)], run: Duration) -> Option<Self> {
        let median = |from: f64, until: f64| {
            let range = run.mul_f64(from)..=run.mul_f64(until);
            let within = samples.iter().filter(|(at, _)| range.contains(at));
            let mut sizes: Vec<f64> = within.map(|(_, mb)| *mb).collect();
            sizes.sort_by(f64::total_cmp);
            sizes.get(sizes.len() / 2).copied()
        };
        let (settled_mb, end_mb) = (median(0.25, 0.35)?, median(0.9, 1.0)?);
        let percent = (end_mb / settled_mb - 1.0) * 100.0;
        let tenth = |n: i32| median(f64::from(n) / 10.0, f64::from(n + 1) / 10.0);
        let tenths_mb = (0..10).filter_map(tenth).collect();
        Some(Self { process, settled_mb, end_mb, percent, tenths_mb })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_was_never_answered_fails_the_run() {
        let mut measurements = Measurements::default();
        let interval = Interval { from: Duration::ZERO, until: Duration::from_millis(1) };
        for call in &load::CALLS[1..] {
            measurements.answered(call, interval, false);
        }
        measurements.refused(load::MCP_LOOKUP, interval);
        let failures = measurements.failures(Profile::Load, 0);
        assert_eq!(failures, ["MCP lookup_capability was never answered"]);
        measurements.answered(load::MCP_LOOKUP, interval, false);
        assert!(measurements.failures(Profile::Load, 0).is_empty());
    }

    #[test]
    fn growth_ignores_the_start_and_single_peaks() {
        let size = |second| match second {
            0..25 => 10.0,
            95 => 90.0,
            25..90 => 100.0,
            _ => 103.0,
        };
        let samples: Vec<_> =
            (0..=100).map(|second| (Duration::from_secs(second), size(second))).collect();
        let growth = Growth::of("one", &samples, Duration::from_secs(100)).unwrap();
        assert!((growth.percent - 3.0).abs() < 1e-9, "{growth:?}");
    }
}
