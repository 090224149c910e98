//! A process and all that it started: what they use, and their end.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::run::resident_kb;

const LOOK: Duration = Duration::from_millis(5);

/// What a command took until its end, with all that it started.
pub(super) struct Run {
    pub(super) wall_s: f64,
    pub(super) cpu_s: f64,
    pub(super) peak_mb: f64,
}

/// Runs a command; what it says goes to a file, whose end is told if it fails.
pub(super) fn run(command: &mut Command, said: &Path, limit: Duration) -> Result<Run> {
    eprintln!("$ {}", command.get_program().to_string_lossy());
    let file = File::create(said)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let began = Instant::now();
    let mut child = command.spawn().context("it did not start")?;
    let watchdog = Watchdog::of(child.id(), limit);
    let mut peak_mb = 0.0_f64;
    // A process that has ended, but was not waited for, still says what it took.
    let cpu_s = loop {
        let stat = Stat::of(child.id()).context("it is not in /proc")?;
        if stat.has_ended {
            break stat.cpu_s;
        }
        peak_mb = peak_mb.max(memory_mb(child.id()));
        std::thread::sleep(LOOK);
    };
    let wall_s = began.elapsed().as_secs_f64();
    drop(watchdog);
    let status = child.wait()?;
    let end = || {
        let said = fs::read_to_string(said).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    };
    ensure!(status.success(), "it failed: {status}\n{}", end());
    Ok(Run { wall_s, cpu_s, peak_mb })
}

/// Memory of a process and of all that it started.
pub(super) fn memory_mb(process: u32) -> f64 {
    let kb: u64 = members(process).into_iter().filter_map(resident_kb).sum();
    kb as f64 / 1024.0
}

/// What a process and all that it started have used of the processors so far.
pub(super) fn cpu_s(process: u32) -> f64 {
    members(process).into_iter().filter_map(Stat::of).map(|stat| stat.cpu_s).sum()
}

/// Ends a process and all that it started.
pub(super) fn end(process: u32) {
    let members = members(process);
    let ids = members.iter().map(ToString::to_string);
    let _ = Command::new("kill").arg("-9").args(ids).stderr(Stdio::null()).status();
}

fn members(process: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for id in entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        if let Some(stat) = Stat::of(id) {
            children.entry(stat.parent).or_default().push(id);
        }
    }
    let mut members = vec![process];
    let mut next = 0;
    while let Some(id) = members.get(next) {
        members.extend(children.remove(id).unwrap_or_default());
        next += 1;
    }
    members
}

/// What the kernel says of a process.
struct Stat {
    has_ended: bool,
    parent: u32,
    /// Its own, and that of the children it has waited for.
    cpu_s: f64,
}

impl Stat {
    fn of(process: u32) -> Option<Self> {
        /// What the kernel counts in, on every Linux.
        const TICKS_PER_S: f64 = 100.0;
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let (_, after_name) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = after_name.split(' ').collect();
        let ticks = fields.get(11..15)?.iter().filter_map(|field| field.parse::<f64>().ok());
        Some(Self {
            has_ended: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            cpu_s: ticks.sum::<f64>() / TICKS_PER_S,
        })
    }
}

/// Ends a process that takes longer than any should, so that whoever waits for it goes on.
pub(super) struct Watchdog(#[expect(dead_code, reason = "its end is what is heard")] Sender<()>);

impl Watchdog {
    pub(super) fn of(process: u32, limit: Duration) -> Self {
        let (alive, gone) = mpsc::channel();
        std::thread::spawn(move || {
            if gone.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                end(process);
            }
        });
        Self(alive)
    }
}
