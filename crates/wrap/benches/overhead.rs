//! What the proxy costs compared with a direct connection to the same server: time per call, and
//! memory per 10,000 calls. Both run in turns, so that a busy machine is busy for both.
//!
//! `cargo bench -p kenning-wrap` prints one line of JSON.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up must fail")]

#[path = "../tests/wrap/support.rs"]
#[allow(dead_code, reason = "the tests use the rest of it")]
mod support;

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Process, around, call, direct, servers};

const WARM_UP: u64 = 2_000;
const CALLS: u64 = 10_000;
/// Calls before the other takes its turn.
const TURN: u64 = 100;

struct Side {
    process: Process,
    times: Vec<Duration>,
    memory: [u64; 2],
}

impl Side {
    fn start(mut process: Process) -> Self {
        process.initialize();
        Self { process, times: Vec::new(), memory: [0; 2] }
    }

    fn turn(&mut self, first: u64) {
        for id in first..first + TURN {
            let request = call(id, "echo", &json!({"message": "hello"})).to_string();
            let begun = Instant::now();
            self.process.send(&request);
            let answer = self.process.answer();
            self.times.push(begun.elapsed());
            assert!(answer.contains("Echo: hello"));
        }
    }

    /// Of the process's own memory over the measured calls, in KiB.
    fn growth(&self) -> i64 {
        let [before, after] = self.memory.map(|memory| i64::try_from(memory).unwrap());
        after - before
    }

    /// In microseconds.
    fn percentile(&mut self, percent: usize) -> f64 {
        self.times.sort_unstable();
        self.times[(self.times.len() - 1) * percent / 100].as_secs_f64() * 1e6
    }
}

/// Resident memory of a process alone, in KiB.
fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn main() {
    let command = servers().everything();
    let mut sides = [
        Side::start(Process::start(&mut direct(&command))),
        Side::start(Process::start(&mut around(&command))),
    ];
    for first in (0..WARM_UP).step_by(usize::try_from(TURN).unwrap()) {
        for side in &mut sides {
            side.turn(first);
        }
    }
    for side in &mut sides {
        side.times.clear();
        side.memory[0] = memory(side.process.child.id());
    }
    for first in (WARM_UP..WARM_UP + CALLS).step_by(usize::try_from(TURN).unwrap()) {
        for side in &mut sides {
            side.turn(first);
        }
    }
    for side in &mut sides {
        side.memory[1] = memory(side.process.child.id());
    }
    println!("{}", report(&mut sides));
    for side in sides {
        side.process.close();
    }
}

/// One line for `cargo xtask bench`. Wrapped, the process is the proxy itself; the server is its
/// child.
fn report([direct, wrapped]: &mut [Side; 2]) -> Value {
    let [direct_p50, direct_p95] = [50, 95].map(|percent| direct.percentile(percent));
    let [wrapped_p50, wrapped_p95] = [50, 95].map(|percent| wrapped.percentile(percent));
    json!({
        "calls": CALLS,
        "direct_p50_us": direct_p50,
        "direct_p95_us": direct_p95,
        "wrapped_p50_us": wrapped_p50,
        "wrapped_p95_us": wrapped_p95,
        "added_p50_us": wrapped_p50 - direct_p50,
        "added_p95_us": wrapped_p95 - direct_p95,
        "memory_kib": wrapped.memory[1],
        "growth_kib_per_10000_calls": wrapped.growth() * 10_000 / i64::try_from(CALLS).unwrap(),
    })
}
