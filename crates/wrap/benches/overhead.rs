//! What the proxy costs beside a direct connection to the same server: time per call, and memory
//! per 10,000 calls. Both run side by side in turns, so that a busy machine is busy for both.
//!
//! `cargo bench -p kenning-wrap` with the servers of the tests installed.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up must fail")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use support::{Process, around, call, direct, servers};

const WARM_UP: u64 = 2_000;
const CALLS: u64 = 10_000;
/// Calls before the other takes its turn.
const TURN: u64 = 100;

struct Side {
    name: &'static str,
    process: Process,
    times: Vec<Duration>,
    memory: [u64; 2],
}

impl Side {
    fn start(name: &'static str, mut process: Process) -> Self {
        process.initialize();
        Self { name, process, times: Vec::new(), memory: [0; 2] }
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
        Side::start("direct", Process::start(&mut direct(&command))),
        Side::start("wrapped", Process::start(&mut around(&command))),
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
        let (half, most) = (side.percentile(50), side.percentile(99));
        println!("{:8} p50 {half:7.1} µs, p99 {most:7.1} µs", side.name);
    }
    let [direct, wrapped] = &mut sides;
    let added = wrapped.percentile(50) - direct.percentile(50);
    // Wrapped, the process is the proxy itself; the server is its child.
    let growth = wrapped.memory[1].saturating_sub(wrapped.memory[0]);
    println!("added    p50 {added:7.1} µs");
    println!(
        "memory of the proxy {} KiB, growth over {CALLS} calls {growth} KiB",
        wrapped.memory[1]
    );
    for side in sides {
        side.process.close();
    }
}
