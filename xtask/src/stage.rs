//! Stages of a long chore: each prints its time, and all of them a table at the end.

use std::time::Instant;

use anyhow::{Context, Result};

use crate::process::ended_children_cpu_s;

#[derive(Default)]
pub(crate) struct Stages(Vec<Stage>);

struct Stage {
    name: &'static str,
    wall_s: f64,
    cpu_s: f64,
}

impl Stages {
    /// Runs a stage. An error names it, and the table of the stages before is printed all the same.
    pub(crate) fn run<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        println!("== {name}");
        let (began, cpu) = (Instant::now(), ended_children_cpu_s());
        let done = work();
        let (wall_s, cpu_s) = (began.elapsed().as_secs_f64(), ended_children_cpu_s() - cpu);
        self.0.push(Stage { name, wall_s, cpu_s });
        if done.is_err() {
            self.print();
        }
        done.with_context(|| format!("the stage `{name}` failed"))
    }

    /// Minutes of wall clock and of CPU, by stage. CPU time counts programs that have ended.
    pub(crate) fn print(&self) {
        println!("{:<16} {:>8} {:>8}", "stage", "minutes", "CPU min");
        let total = |of: fn(&Stage) -> f64| self.0.iter().map(of).sum();
        let total = Stage {
            name: "total",
            wall_s: total(|stage| stage.wall_s),
            cpu_s: total(|stage| stage.cpu_s),
        };
        for Stage { name, wall_s, cpu_s } in self.0.iter().chain([&total]) {
            println!("{name:<16} {:>8.1} {:>8.1}", wall_s / 60.0, cpu_s / 60.0);
        }
    }
}
