//! `cargo xtask soak`: real servers under mixed load while files change and the database stops and
//! starts. Every answer is checked when it arrives, and every acknowledged write again at the end;
//! docs/reliability.md lists what is checked.
//!
//! [`documents`] changes the files and knows which version was current when; [`outages`] stops the
//! database; [`servers`] starts the servers; [`worker`] and [`events`] are the load; [`report`] collects
//! the measurements and decides whether the run passed. [`load`] is another scenario: one server with
//! hundreds of connections.

mod documents;
mod events;
mod load;
mod outages;
mod report;
mod servers;
mod worker;

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kenning_testkit::Postgres;

use self::documents::Documents;
use self::outages::Outages;
use self::report::Measurements;
use self::servers::Servers;
use crate::process;
use crate::run::root;
use crate::server::Build;

/// How long servers may take to catch up after the load has ended.
const SETTLE_LIMIT: Duration = Duration::from_mins(2);
const LOCK: &str = "no thread panics while it holds the lock";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Options {
    length: Duration,
    build: Build,
    profile: Profile,
}

/// What a run is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Profile {
    /// Several servers, changing files and a database that stops.
    Faults,
    /// One server with hundreds of connections.
    Load,
}

impl Options {
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let mut options =
            Self { length: Duration::from_mins(30), build: Build::Debug, profile: Profile::Faults };
        if words.contains(&"--load") {
            (options.profile, options.length) = (Profile::Load, Duration::from_mins(10));
        }
        let mut words = words.iter().filter(|word| **word != "--load");
        while let Some(word) = words.next() {
            let mut number = || -> Result<u64> {
                let number = words.next().with_context(|| format!("{word} needs a number"))?;
                number.parse().with_context(|| format!("{word} {number} is not a number"))
            };
            match *word {
                "--minutes" => options.length = Duration::from_secs(60 * number()?),
                "--seconds" => options.length = Duration::from_secs(number()?),
                "--release" => options.build = Build::Release,
                other => {
                    bail!("unknown option `{other}`; use --load, --minutes, --seconds or --release")
                }
            }
        }
        ensure!(options.length >= Duration::from_secs(10), "a soak test takes at least 10 seconds");
        Ok(options)
    }
}

/// When a request was sent and answered, since the start of the run.
#[derive(Debug, Clone, Copy)]
struct Interval {
    from: Duration,
    until: Duration,
}

/// What all threads of a run share.
struct Scenario {
    started: Instant,
    finished: AtomicBool,
    documents: Documents,
    outages: Outages,
    measurements: Mutex<Measurements>,
}

impl Scenario {
    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Relaxed)
    }

    /// Sleeps, but not past the end of the run.
    fn pause(&self, length: Duration) {
        let until = Instant::now() + length;
        while !self.is_finished() && Instant::now() < until {
            thread::sleep((until - Instant::now()).min(Duration::from_millis(100)));
        }
    }

    fn timed<T>(&self, call: impl FnOnce() -> T) -> (T, Interval) {
        let from = self.now();
        let result = call();
        (result, Interval { from, until: self.now() })
    }

    fn record<T>(&self, record: impl FnOnce(&mut Measurements) -> T) -> T {
        record(&mut self.measurements.lock().expect(LOCK))
    }

    fn answered(&self, call: &'static str, interval: Interval) {
        let during_outage = self.outages.cover(interval);
        self.record(|measurements| measurements.answered(call, interval, during_outage));
    }

    /// An error is something that must not happen: it fails the run.
    fn check(&self, outcome: Result<()>) {
        if let Err(error) = outcome {
            self.record(|measurements| measurements.problem(format!("{error:#}")));
        }
    }
}

impl Scenario {
    fn new(documents: Documents) -> Self {
        Self {
            started: Instant::now(),
            finished: AtomicBool::new(false),
            documents,
            outages: Outages::default(),
            measurements: Mutex::default(),
        }
    }

    /// Records the memory of these processes until the end of the run, which it declares.
    fn watch_memory(&self, processes: &[(u32, &'static str)], length: Duration) {
        while self.now() < length {
            for (pid, name) in processes {
                let mb = process::memory_mb(*pid);
                self.record(|measurements| measurements.memory(name, self.now(), mb));
            }
            self.pause(Duration::from_secs(1));
        }
        self.finished.store(true, Ordering::Relaxed);
    }

    fn finish(&self, options: Options, folder: &Path) -> Result<()> {
        let name = match options.profile {
            Profile::Faults => "soak",
            Profile::Load => "soak-load",
        };
        let path = root().join(format!("target/{name}.json"));
        let failures =
            self.record(|measurements| measurements.finish(options, self.outages.total(), &path))?;
        if failures.is_empty() {
            return Ok(());
        }
        keep_logs(folder)?;
        bail!("the soak test failed: {}", failures.join("; "))
    }
}

pub(crate) fn run(options: Options) -> Result<()> {
    options.build.compile()?;
    let folder = tempfile::tempdir()?;
    match options.profile {
        Profile::Faults => run_faults(options, folder.path()),
        Profile::Load => run_load(options, folder.path()),
    }
}

fn run_load(options: Options, folder: &Path) -> Result<()> {
    let documents = Documents::create(&folder.join("base"))?;
    let server = load::start(options, folder, &documents.folder)?;
    let scenario = Scenario::new(documents);
    load::run(&scenario, &server, options.length)?;
    load::stop(&scenario, server);
    scenario.finish(options, folder)
}

fn run_faults(options: Options, folder: &Path) -> Result<()> {
    // The database stops and crashes, but the machine does not, so nothing has to reach the disk.
    let postgres = Postgres::start(&["fsync=off"]);
    let store = postgres.database();
    let documents = Documents::create(&folder.join("base"))?;
    let (servers, mut workers) = Servers::start(options, folder, &documents.folder, &store)?;
    let mut senders = servers.senders()?;
    let scenario = Scenario::new(documents);
    thread::scope(|scope| {
        for worker in &mut workers {
            scope.spawn(|| worker.work(&scenario));
        }
        for sender in &mut senders {
            scope.spawn(|| scenario.check(sender.send_until_finished(&scenario)));
        }
        scope.spawn(|| scenario.documents.keep_changing(&scenario));
        scope.spawn(|| scenario.outages.cause(&scenario, &postgres, options.length));
        scenario.watch_memory(&servers.processes, options.length);
    });
    for worker in &mut workers {
        scenario.check(worker.verify_documents(&scenario));
        scenario.check(worker.verify_skills(&scenario, &servers));
    }
    for sender in &mut senders {
        scenario.check(sender.verify(&scenario, &postgres, &store));
    }
    servers.stop(&scenario, workers);
    scenario.finish(options, folder)
}

fn keep_logs(folder: &Path) -> Result<()> {
    let kept = root().join("target/soak-logs");
    fs::create_dir_all(&kept)?;
    for entry in fs::read_dir(folder)?.flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "log") {
            fs::copy(entry.path(), kept.join(entry.file_name()))?;
        }
    }
    eprintln!("the servers' logs are in {}", kept.display());
    Ok(())
}

/// Xorshift with a fixed seed: the load of a failed run can be repeated.
struct Random(u64);

impl Random {
    fn new(seed: usize) -> Self {
        Self((seed as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_parsed() {
        let (minutes, profile) = (Duration::from_mins, Profile::Faults);
        let default = Options { length: minutes(30), build: Build::Debug, profile };
        assert_eq!(Options::parse(&[]).unwrap(), default);
        let short = Options { length: Duration::from_secs(20), build: Build::Release, profile };
        assert_eq!(Options::parse(&["--seconds", "20", "--release"]).unwrap(), short);
        let load = Options { length: minutes(10), build: Build::Debug, profile: Profile::Load };
        assert_eq!(Options::parse(&["--load"]).unwrap(), load);
        let short = Options { length: Duration::from_secs(30), ..load };
        assert_eq!(Options::parse(&["--seconds", "30", "--load"]).unwrap(), short);
        for wrong in
            [&["--minutes"][..], &["--minutes", "x"], &["--hours", "1"], &["--seconds", "1"]]
        {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
