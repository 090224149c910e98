//! What happened, added up.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Serialize;

use super::memory::{Growth, Samples};
use super::servers::Process;
use super::shelf::Span;
use super::{Field, Plan};

/// How late a long run may see a change, at most. A server waits for a second at most until files
/// are quiet, and reads them.
const LATEST: Duration = Duration::from_secs(10);
/// How long a refusal may take while the database is away.
const PROMPT: Duration = Duration::from_secs(15);
/// How much a process may grow between the settled point and the end, in percent.
const GROWTH: f64 = 5.0;
/// Wrongs that are shown; all are counted.
const SHOWN: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Retrieve,
    Search,
    Discover,
    Lookup,
    Register,
    Deactivate,
    Skills,
    Gaps,
    Ingest,
}

impl Kind {
    /// Knowledge and catalog go on without one.
    pub(super) fn needs_store(self) -> bool {
        !matches!(self, Self::Retrieve | Self::Search | Self::Discover | Self::Lookup)
    }
}

#[derive(Debug, Default)]
struct Tally {
    answered_us: Vec<u32>,
    answered_while_away: usize,
    refused_us: Vec<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Account {
    calls: Mutex<BTreeMap<Kind, Tally>>,
    late_us: Mutex<Vec<u32>>,
    wrong: Mutex<Vec<String>>,
    wrongs: AtomicUsize,
    changes: AtomicUsize,
    kept: Mutex<BTreeMap<&'static str, u64>>,
}

const WHOLE: &str = "no one panics while adding up";

impl Account {
    pub(super) fn wrong(&self, what: String) {
        self.wrongs.fetch_add(1, Ordering::Relaxed);
        let mut wrong = self.wrong.lock().expect(WHOLE);
        if wrong.len() < SHOWN {
            eprintln!("WRONG: {what}");
            wrong.push(what);
        }
    }

    pub(super) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn answered(&self, kind: Kind, span: Span, away: bool) {
        let mut calls = self.calls.lock().expect(WHOLE);
        let tally = calls.entry(kind).or_default();
        tally.answered_us.push(micros(span.length()));
        tally.answered_while_away += usize::from(away);
    }

    pub(super) fn refused(&self, kind: Kind, span: Span) {
        let mut calls = self.calls.lock().expect(WHOLE);
        calls.entry(kind).or_default().refused_us.push(micros(span.length()));
    }

    pub(super) fn late(&self, by: Duration) {
        self.late_us.lock().expect(WHOLE).push(micros(by));
    }

    /// Something that was acknowledged and is there at the end.
    pub(super) fn kept(&self, what: &'static str, count: u64) {
        *self.kept.lock().expect(WHOLE).entry(what).or_default() += count;
    }

    pub(super) fn summary(
        &self,
        plan: Plan,
        field: &Field,
        memory: &Samples,
        processes: &[Process],
    ) -> Summary {
        let calls = self.calls.lock().expect(WHOLE);
        let rows = calls.iter().map(|(kind, tally)| Row::new(*kind, tally)).collect();
        let late = Times::of(&self.late_us.lock().expect(WHOLE));
        let (outages, away) = field.outages.count();
        let mut summary = Summary {
            seconds: plan.length.as_secs(),
            release: plan.release,
            judged_as_long: plan.is_long(),
            calls: rows,
            late,
            outages,
            away_seconds: away.as_secs_f64(),
            changes: self.changes.load(Ordering::Relaxed),
            kept: self.kept.lock().expect(WHOLE).clone(),
            memory: memory.growth(plan.length, processes),
            wrongs: self.wrongs.load(Ordering::Relaxed),
            wrong: self.wrong.lock().expect(WHOLE).clone(),
            broken: Vec::new(),
        };
        summary.judge();
        summary
    }
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

/// In milliseconds.
#[derive(Debug, Default, Serialize)]
struct Times {
    count: usize,
    p50: f64,
    p99: f64,
    max: f64,
}

impl Times {
    fn of(micros: &[u32]) -> Self {
        let mut sorted = micros.to_vec();
        sorted.sort_unstable();
        let at = |share: usize| {
            let place = (sorted.len() * share / 100).min(sorted.len().saturating_sub(1));
            sorted.get(place).map_or(0.0, |micros| f64::from(*micros) / 1e3)
        };
        Self { count: sorted.len(), p50: at(50), p99: at(99), max: at(100) }
    }
}

#[derive(Debug, Serialize)]
struct Row {
    kind: Kind,
    answered: Times,
    answered_while_away: usize,
    refused_while_away: Times,
}

impl Row {
    fn new(kind: Kind, tally: &Tally) -> Self {
        Self {
            kind,
            answered: Times::of(&tally.answered_us),
            answered_while_away: tally.answered_while_away,
            refused_while_away: Times::of(&tally.refused_us),
        }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Summary {
    seconds: u64,
    release: bool,
    /// Whether memory and delays were judged, and not only measured.
    judged_as_long: bool,
    calls: Vec<Row>,
    /// How long a change had been made when an answer did not have it yet, in milliseconds.
    late: Times,
    outages: usize,
    away_seconds: f64,
    changes: usize,
    /// Acknowledged, and there at the end.
    kept: BTreeMap<&'static str, u64>,
    memory: Vec<Growth>,
    wrongs: usize,
    wrong: Vec<String>,
    broken: Vec<String>,
}

impl Summary {
    pub(super) fn is_kept(&self) -> bool {
        self.broken.is_empty()
    }

    pub(super) fn broken(&self) -> &[String] {
        &self.broken
    }

    fn judge(&mut self) {
        let mut broken = Vec::new();
        if self.wrongs > 0 {
            broken.push(format!("{} wrong, the first: {}", self.wrongs, self.wrong[0]));
        }
        if self.outages == 0 {
            broken.push("the database was never away, so nothing is known about that".to_owned());
        }
        let went_on = |row: &Row| row.kind.needs_store() || row.answered_while_away > 0;
        if self.outages > 0 && !self.calls.iter().all(went_on) {
            broken.push("calls that need no store stopped while it was away".to_owned());
        }
        if self.judged_as_long {
            broken.extend(self.delays());
        }
        self.broken = broken;
    }

    fn delays(&self) -> Vec<String> {
        let mut broken = Vec::new();
        if self.late.max > LATEST.as_secs_f64() * 1e3 {
            broken.push(format!("a change was seen only after {:.0} ms", self.late.max));
        }
        let slowest = self.calls.iter().map(|row| row.refused_while_away.max).fold(0.0, f64::max);
        if slowest > PROMPT.as_secs_f64() * 1e3 {
            broken.push(format!("a refusal took {slowest:.0} ms"));
        }
        let grown = self.memory.iter().filter(|growth| growth.percent >= GROWTH);
        broken.extend(grown.map(|growth| {
            format!(
                "{} grew by {:.1} %, from {:.0} MB",
                growth.process, growth.percent, growth.settled_mb
            )
        }));
        broken
    }

    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        let build = if self.release { "release" } else { "debug" };
        let _ = writeln!(
            out,
            "{} s of the {build} build: {} changes of files, the database away {} times for {:.1} s in all\n",
            self.seconds, self.changes, self.outages, self.away_seconds
        );
        let _ = writeln!(
            out,
            "{:<12}{:>9}{:>10}{:>10}{:>11}{:>12}{:>10}{:>12}",
            "call", "answered", "p50 ms", "p99 ms", "max ms", "while away", "refused", "slowest ms"
        );
        for row in &self.calls {
            let (given, refused) = (&row.answered, &row.refused_while_away);
            let _ = writeln!(
                out,
                "{:<12}{:>9}{:>10.1}{:>10.1}{:>11.1}{:>12}{:>10}{:>12.0}",
                format!("{:?}", row.kind).to_lowercase(),
                given.count,
                given.p50,
                given.p99,
                given.max,
                row.answered_while_away,
                refused.count,
                refused.max
            );
        }
        let late = &self.late;
        let _ = writeln!(
            out,
            "\nof {} versions shown, the latest was {:.0} ms behind the files (p99 {:.0} ms)",
            late.count, late.max, late.p99
        );
        for (what, count) in &self.kept {
            let _ = writeln!(out, "{count} {what}, all there at the end");
        }
        for growth in &self.memory {
            let Growth { process, settled_mb, end_mb, percent, .. } = growth;
            let _ = writeln!(
                out,
                "{process}: {settled_mb:.1} MB when settled, {end_mb:.1} MB at the end, {percent:+.1} %"
            );
        }
        if !self.judged_as_long {
            out += "too short a run to judge memory and delays; they are measured only\n";
        }
        let _ = write!(out, "{} wrong", self.wrongs);
        for broken in &self.broken {
            let _ = write!(out, "\nBROKEN: {broken}");
        }
        out
    }
}
