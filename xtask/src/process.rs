//! CPU time and memory of a process and its descendants, and how they are ended. Linux only: it reads
//! `/proc`.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

const POLL: Duration = Duration::from_millis(5);
/// The unit of the kernel's counters, on every Linux.
const TICKS_PER_S: f64 = 100.0;

/// Resident memory of a process and its descendants; 0 if it has ended.
pub(crate) fn memory_mb(pid: u32) -> f64 {
    let kb = |pid: u32| -> Option<f64> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    tree(pid).into_iter().filter_map(kb).sum::<f64>() / 1024.0
}

/// CPU time of a process and its descendants so far.
pub(crate) fn cpu_s(pid: u32) -> f64 {
    let stats = tree(pid).into_iter().filter_map(|pid| Stat::read(&pid.to_string()));
    stats.map(|stat| stat.own_s + stat.ended_children_s).sum()
}

/// CPU time of the programs that this process has run and waited for.
pub(crate) fn ended_children_cpu_s() -> f64 {
    Stat::read("self").map_or(0.0, |stat| stat.ended_children_s)
}

/// CPU time of everything on the machine.
pub(crate) fn machine_cpu_s() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let first = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks: Vec<f64> = first.filter_map(|field| field.parse().ok()).collect();
    // User, nice, system, interrupts and soft interrupts; between them are idle and I/O wait.
    [0, 1, 2, 5, 6].iter().filter_map(|at| ticks.get(*at)).sum::<f64>() / TICKS_PER_S
}

/// Ends a process and its descendants: a server's own children would stay behind otherwise.
pub(crate) fn kill_tree(pid: u32) {
    let ids = tree(pid);
    let ids = ids.iter().map(ToString::to_string);
    let _ = Command::new("kill").arg("-9").args(ids).stderr(Stdio::null()).status();
}

/// Waits for a process to end by itself, and kills it if it does not.
pub(crate) fn wait_for_exit(child: &mut Child, limit: Duration) -> Result<ExitStatus> {
    let began = Instant::now();
    while began.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(POLL);
    }
    kill_tree(child.id());
    child.wait()?;
    bail!("it was still running after {limit:?}")
}

/// What a command took until its end, with its descendants.
pub(crate) struct Usage {
    pub(crate) wall_s: f64,
    pub(crate) cpu_s: f64,
    pub(crate) peak_mb: f64,
}

/// Runs a command with its output in a file. An error quotes the last lines of it.
pub(crate) fn measure(command: &mut Command, log: &Path, limit: Duration) -> Result<Usage> {
    eprintln!("$ {}", command.get_program().to_string_lossy());
    let file = File::create(log)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let began = Instant::now();
    let mut child = command.spawn().context("it did not start")?;
    let watchdog = Watchdog::start(child.id(), limit);
    let mut peak_mb = 0.0_f64;
    // Until it is waited for, `/proc` still has the total of a process that has ended.
    let stat = loop {
        let stat = Stat::read(&child.id().to_string()).context("it is not in /proc")?;
        if stat.has_ended {
            break stat;
        }
        peak_mb = peak_mb.max(memory_mb(child.id()));
        std::thread::sleep(POLL);
    };
    let wall_s = began.elapsed().as_secs_f64();
    drop(watchdog);
    let status = child.wait()?;
    if !status.success() {
        let log = fs::read_to_string(log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        bail!("it failed: {status}\n{}", lines[lines.len().saturating_sub(5)..].join("\n"));
    }
    Ok(Usage { wall_s, cpu_s: stat.own_s + stat.ended_children_s, peak_mb })
}

/// Kills a process that runs longer than its limit, so that the reader of its output does not wait
/// forever. Dropping it calls that off.
pub(crate) struct Watchdog(#[expect(dead_code, reason = "dropping it ends the thread")] Sender<()>);

impl Watchdog {
    pub(crate) fn start(pid: u32, limit: Duration) -> Self {
        let (alive, dropped) = mpsc::channel();
        std::thread::spawn(move || {
            if dropped.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                kill_tree(pid);
            }
        });
        Self(alive)
    }
}

/// A process and its descendants.
fn tree(pid: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for id in entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        if let Some(stat) = Stat::read(&u32::to_string(&id)) {
            children.entry(stat.parent).or_default().push(id);
        }
    }
    let mut tree = vec![pid];
    let mut next = 0;
    while let Some(id) = tree.get(next) {
        tree.extend(children.remove(id).unwrap_or_default());
        next += 1;
    }
    tree
}

/// The fields of `/proc/PID/stat` that are used here.
struct Stat {
    has_ended: bool,
    parent: u32,
    own_s: f64,
    ended_children_s: f64,
}

impl Stat {
    fn read(process: &str) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The name may hold spaces and parentheses, so fields are counted after it.
        let (_, after_name) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = after_name.split(' ').collect();
        let seconds = |at: usize| -> Option<f64> {
            let ticks: f64 =
                fields.get(at..at + 2)?.iter().filter_map(|field| field.parse::<f64>().ok()).sum();
            Some(ticks / TICKS_PER_S)
        };
        Some(Self {
            has_ended: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            own_s: seconds(11)?,
            ended_children_s: seconds(13)?,
        })
    }
}

/// Asks a process to stop, as an operator or a supervisor does.
pub(crate) fn terminate(pid: u32) -> Result<()> {
    let status = Command::new("kill").args(["-TERM", &pid.to_string()]).status()?;
    ensure!(status.success(), "process {pid} could not be asked to stop");
    Ok(())
}
