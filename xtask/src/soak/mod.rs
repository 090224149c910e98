//! `cargo xtask soak`: real servers under mixed traffic for a while, with files that change and a
//! database that goes away and comes back, and an account of every promise at the end.
//!
//! [`shelf`] holds the files and knows which version was current when; [`client`] speaks to the
//! servers of [`servers`]; [`worker`] and [`ingest`] are the traffic, with [`ledger`]s of what was
//! acknowledged; [`outage`] takes the database away; [`memory`] watches the processes;
//! [`account`] adds it all up. [`closing`] looks at the end whether everything is there.

mod account;
mod client;
mod closing;
mod ingest;
mod ledger;
mod memory;
mod outage;
mod random;
mod servers;
mod shelf;
mod worker;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kenning_testkit::Postgres;

use self::account::Account;
use self::outage::Outages;
use self::servers::Fleet;
use self::shelf::Shelf;
use crate::run::root;

/// From here on a run is long enough to judge what a busy machine may delay: memory, and how soon
/// changes are seen.
const LONG: Duration = Duration::from_mins(2);

/// What a run is asked to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    length: Duration,
    release: bool,
}

/// What all who take part share.
struct Field {
    began: Instant,
    over: AtomicBool,
    shelf: Shelf,
    outages: Outages,
    account: Account,
}

impl Field {
    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Sleeps, but not past the end.
    fn pause(&self, length: Duration) {
        let until = Instant::now() + length;
        while !self.is_over() && Instant::now() < until {
            thread::sleep((until - Instant::now()).min(Duration::from_millis(100)));
        }
    }
}

impl Plan {
    /// As part of the tests: long enough for one outage.
    pub(crate) fn short() -> Self {
        Self { length: Duration::from_secs(25), release: false }
    }

    pub(crate) fn read(words: &[&str]) -> Result<Self> {
        let mut plan = Self { length: Duration::from_mins(30), release: false };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut number = || -> Result<u64> {
                let number = words.next().with_context(|| format!("{word} needs a number"))?;
                number.parse().with_context(|| format!("{word} {number} is no number"))
            };
            match *word {
                "--minutes" => plan.length = Duration::from_secs(60 * number()?),
                "--seconds" => plan.length = Duration::from_secs(number()?),
                "--release" => plan.release = true,
                other => bail!("`{other}` is not known; there is --minutes, --seconds, --release"),
            }
        }
        ensure!(plan.length >= Duration::from_secs(10), "a soak takes 10 seconds at least");
        Ok(plan)
    }

    fn is_long(self) -> bool {
        self.length >= LONG
    }

    fn program(self) -> PathBuf {
        let profile = if self.release { "release" } else { "debug" };
        crate::run::target().join(profile).join("kenning")
    }
}

/// Builds the program and soaks it.
pub(crate) fn run(plan: Plan) -> Result<()> {
    if plan.release {
        crate::build_release()?;
    } else {
        crate::build()?;
    }
    check(plan)
}

/// Soaks the program that was built. Fails when a promise was broken.
pub(crate) fn check(plan: Plan) -> Result<()> {
    let folder = tempfile::tempdir()?;
    // What a power cut would lose may be lost: there is none. What is committed may not.
    let postgres = Postgres::start(&["fsync=off"]);
    let store = postgres.database();
    let shelf = Shelf::fill(&folder.path().join("base"))?;
    let mut fleet = Fleet::start(&plan.program(), folder.path(), shelf.folder(), &store)?;
    let field = Arc::new(Field {
        began: Instant::now(),
        over: AtomicBool::new(false),
        shelf,
        outages: Outages::default(),
        account: Account::default(),
    });
    field.shelf.starts(field.began);
    let (done, taken_in, memory) = traffic(&field, &mut fleet, &postgres, plan)?;
    closing::check(&field, &fleet, done, &taken_in, (&postgres, &store));
    let processes = fleet.processes();
    fleet.end(&field.account);
    drop(postgres);
    let summary = field.account.summary(plan, &field, &memory, &processes);
    println!("{}", summary.text());
    let written = write(&summary)?;
    println!("as JSON in {}", written.display());
    if summary.is_kept() {
        return Ok(());
    }
    keep_logs(folder.path())?;
    bail!("a promise was broken: {}", summary.broken().join("; "))
}

type Harvest = (Vec<worker::Done>, Vec<ingest::TakenIn>, memory::Samples);

/// Lets everybody loose until the time is up, and gathers what they know.
fn traffic(
    field: &Arc<Field>,
    fleet: &mut Fleet,
    postgres: &Postgres,
    plan: Plan,
) -> Result<Harvest> {
    let workers = fleet.workers()?;
    let senders = fleet.senders()?;
    let processes = fleet.processes();
    let mut memory = memory::Samples::default();
    let gathered = thread::scope(|scope| {
        let workers: Vec<_> =
            workers.into_iter().map(|worker| scope.spawn(|| worker.work(field))).collect();
        let senders: Vec<_> =
            senders.into_iter().map(|sender| scope.spawn(|| sender.send_all(field))).collect();
        scope.spawn(|| field.shelf.change(field));
        scope.spawn(|| field.outages.cause(field, postgres, plan.length));
        while field.now() < plan.length {
            memory.take(field.now(), &processes);
            field.pause(Duration::from_secs(1));
        }
        field.over.store(true, Ordering::Relaxed);
        let gone = "whoever takes part says what went wrong";
        let done = workers.into_iter().map(|worker| worker.join().expect(gone)).collect();
        let taken_in = senders.into_iter().map(|sender| sender.join().expect(gone)).collect();
        (done, taken_in)
    });
    let (done, taken_in) = gathered;
    Ok((done, taken_in, memory))
}

fn write(summary: &account::Summary) -> Result<PathBuf> {
    let path = root().join("target/soak.json");
    std::fs::create_dir_all(root().join("target"))?;
    std::fs::write(&path, serde_json::to_string_pretty(summary)?)?;
    Ok(path)
}

/// What the servers said is worth reading only when something went wrong.
fn keep_logs(folder: &Path) -> Result<()> {
    let kept = root().join("target/soak-logs");
    std::fs::create_dir_all(&kept)?;
    for entry in std::fs::read_dir(folder)?.flatten() {
        let log = entry.path();
        if let Some(name) = log.file_name().filter(|_| log.extension().is_some_and(|e| e == "log"))
        {
            std::fs::copy(&log, kept.join(name))?;
        }
    }
    eprintln!("what the servers said is in {}", kept.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_from_words() {
        let plan = |length, release| Plan { length, release };
        assert_eq!(Plan::read(&[]).unwrap(), plan(Duration::from_mins(30), false));
        let words = ["--seconds", "20", "--release"];
        assert_eq!(Plan::read(&words).unwrap(), plan(Duration::from_secs(20), true));
        for wrong in
            [&["--minutes"][..], &["--minutes", "x"], &["--hours", "1"], &["--seconds", "1"]]
        {
            assert!(Plan::read(wrong).is_err(), "{wrong:?}");
        }
    }
}
