//! Time and memory that a number of calls, skills or vectors takes in a store:
//! `cargo bench --workspace --bench growth -- events PostgreSQL 100000`.
//!
//! One process per number, so that memory can be measured. Prints a line of JSON.

mod events;
mod fixture;
mod skills;
mod vectors;

use std::fs;
use std::time::{Duration, Instant};

use fixture::Fixture;
use serde_json::{Value, json};

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let named = |name: &str| words.iter().any(|word| word == name);
    // `cargo test --all-targets` runs it without a number.
    let Some(size) = words.iter().find_map(|word| word.parse::<usize>().ok()) else { return };
    let measure: fn(&Fixture, usize) -> Figures = if named("events") {
        events::measure
    } else if named("skills") {
        skills::measure
    } else if named("vectors") {
        vectors::measure
    } else {
        return;
    };
    let on = if named("PostgreSQL") { "PostgreSQL" } else { "SQLite" };
    let mut figures = measure(&Fixture::new(on), size);
    figures["size"] = json!(size);
    figures["on"] = json!(on);
    figures["peak_mb"] = json!(memory_mb("VmHWM:"));
    println!("{figures}");
}

/// The median of several rounds in milliseconds, after one to warm up.
fn median_ms(rounds: usize, mut run: impl FnMut()) -> f64 {
    run();
    let mut times: Vec<Duration> = (0..rounds).map(|_| time(&mut run)).collect();
    times.sort_unstable();
    milliseconds(times[rounds / 2])
}

fn time(run: impl FnOnce()) -> Duration {
    let started = Instant::now();
    run();
    started.elapsed()
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// Memory of this process; that of a database server is not included.
fn memory_mb(line: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|found| found.starts_with(line)).unwrap_or_default();
    let kb = line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok());
    (kb.unwrap_or(0.0) / 102.4).round() / 10.0
}

struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 1).expect("64 bits") % most
    }

    fn words(&mut self, count: usize) -> String {
        let drawn: Vec<&str> = (0..count).map(|_| WORDS[self.below(WORDS.len())]).collect();
        drawn.join(" ")
    }

    /// Of length 1, like the model's.
    fn vector(&mut self) -> Vec<f32> {
        let vector: Vec<f32> = (0..384).map(|_| self.below(2_001) as f32 - 1_000.0).collect();
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter().map(|x| x / length).collect()
    }
}

const WORDS: [&str; 64] = [
    "service",
    "request",
    "data",
    "user",
    "cluster",
    "node",
    "container",
    "deployment",
    "storage",
    "volume",
    "network",
    "policy",
    "security",
    "token",
    "secret",
    "key",
    "backup",
    "restore",
    "failure",
    "recovery",
    "retry",
    "timeout",
    "queue",
    "worker",
    "job",
    "schedule",
    "index",
    "query",
    "table",
    "column",
    "migration",
    "schema",
    "tenant",
    "billing",
    "invoice",
    "order",
    "shipment",
    "carrier",
    "parcel",
    "label",
    "webhook",
    "event",
    "stream",
    "log",
    "metric",
    "trace",
    "alert",
    "incident",
    "runbook",
    "release",
    "rollback",
    "canary",
    "feature",
    "flag",
    "test",
    "fixture",
    "snapshot",
    "review",
    "comment",
    "style",
    "error",
    "result",
    "module",
    "package",
];

type Figures = Value;
