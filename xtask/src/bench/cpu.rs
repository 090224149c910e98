//! What processes have used of the processors.

use std::fs;
use std::ops::Sub;

use anyhow::{Context, Result};

/// What the kernel counts in, on every Linux.
const TICK: f64 = 0.01;

/// Seconds of one processor.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Used {
    pub(super) replicas: f64,
    pub(super) database: f64,
    pub(super) balancer: f64,
    pub(super) client: f64,
    /// Of all there is on the machine.
    pub(super) machine: f64,
}

impl Used {
    pub(super) fn ours(&self) -> f64 {
        self.replicas + self.database + self.balancer + self.client
    }
}

impl Sub for Used {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            replicas: self.replicas - before.replicas,
            database: self.database - before.database,
            balancer: self.balancer - before.balancer,
            client: self.client - before.client,
            machine: self.machine - before.machine,
        }
    }
}

/// By one process, whoever it has waited for left out.
pub(super) fn of(process: u32) -> Result<f64> {
    Ok(Times::read(&process.to_string())?.own)
}

/// By those whom this process started and waited for.
pub(super) fn of_the_ended() -> Result<f64> {
    Ok(Times::read("self")?.ended)
}

/// By a process and those it started.
pub(super) fn of_family(process: u32) -> Result<f64> {
    let parent = Times::read(&process.to_string())?;
    let children = fs::read_dir("/proc")?.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.parse::<u32>().ok()?;
        // One that has ended meanwhile is counted with its parent.
        Times::read(&name).ok().filter(|times| times.parent == process)
    });
    Ok(parent.own + parent.ended + children.map(|child| child.own).sum::<f64>())
}

/// By everybody.
pub(super) fn of_machine() -> Result<f64> {
    let stat = fs::read_to_string("/proc/stat")?;
    let fields = numbers(stat.lines().next().unwrap_or_default());
    // User, nice, system; then idle and waiting; then interrupts, hard and soft.
    let busy = [0, 1, 2, 5, 6].map(|at| fields.get(at).copied().unwrap_or_default());
    Ok(busy.iter().sum::<f64>() * TICK)
}

struct Times {
    parent: u32,
    own: f64,
    ended: f64,
}

impl Times {
    fn read(process: &str) -> Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
        let after_name = stat.rsplit_once(')').context("no name in /proc")?.1;
        let parent = after_name.split_whitespace().nth(1).and_then(|parent| parent.parse().ok());
        let fields = numbers(after_name);
        let sum = |first: usize| fields.iter().skip(first).take(2).sum::<f64>() * TICK;
        Ok(Self { parent: parent.context("no parent in /proc")?, own: sum(10), ended: sum(12) })
    }
}

/// Those of a line, whose first word is none.
fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().skip(1).filter_map(|number| number.parse().ok()).collect()
}
