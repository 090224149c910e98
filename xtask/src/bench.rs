//! Measures, and writes down what was measured, and on what.

use std::fs;

use anyhow::Result;

use crate::run::{cargo_command, read, root};

pub(crate) fn run() -> Result<()> {
    let table = read(&mut cargo_command(&["bench", "--package", "kenning-knowledge"]))?;
    let lines: Vec<&str> = table.lines().skip_while(|line| !line.contains("fastest")).collect();
    let text = format!(
        "# Benchmarks\n\n\
         Measured by `cargo xtask bench`, which writes this page.\n\n\
         Machine: {}.\n\n\
         2,000 files with 16,000 sections ([the benchmark](../crates/knowledge/benches/index.rs)): \
         `open` reads and indexes all of them from nothing, `sync_nothing` finds that nothing \
         changed, `sync_one_edit` takes in one edited file, `search_keyword` answers one query.\n\n\
         ```text\n{}\n```\n",
        machine(),
        lines.join("\n").trim_end()
    );
    fs::write(root().join("docs/benchmarks.md"), text)?;
    Ok(())
}

fn machine() -> String {
    let of = |path: &str, key: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        line.split(':').nth(1).unwrap_or("unknown").trim().to_owned()
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let processor = of("/proc/cpuinfo", "model name");
    let memory = of("/proc/meminfo", "MemTotal");
    format!("{cores} cores of {processor}, {memory} of memory, {}", std::env::consts::OS)
}
