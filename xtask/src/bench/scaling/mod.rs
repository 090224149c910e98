//! What one process holds, what several on one database hold, and whether a model of queues would have
//! said so.

mod extrapolate;
mod load;
mod model;
mod report;
mod rig;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use self::load::{KINDS, Kind, Load};
use self::report::Report;
use self::rig::{Form, Rig};
use super::Folder;
use super::cpu::Used;
use crate::outside;

const FORMS: [Form; 4] = [Form::File, Form::Shared(1), Form::Shared(2), Form::Shared(4)];
const CONNECTIONS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const SECONDS: u64 = 3;
/// Over which a replica is killed.
const MOURNERS: usize = 16;

/// What was measured of one kind of call over so many connections.
struct Point {
    connections: usize,
    load: Load,
    used: Used,
}

impl Point {
    fn calls_per_s(&self) -> f64 {
        self.load.calls / self.load.seconds
    }

    /// Cores that everybody else kept busy meanwhile.
    fn rest(&self) -> f64 {
        ((self.used.machine - self.used.ours()) / self.load.seconds).max(0.0)
    }
}

/// All points of one kind of call to servers of one form.
struct Series {
    form: Form,
    kind: Kind,
    points: Vec<Point>,
    /// Seconds that the database waited for the disk each time, while one client called; `None` if it
    /// never did, or there is none.
    flush_s: Option<f64>,
}

impl Series {
    fn at(&self, connections: usize) -> &Point {
        let found = self.points.iter().find(|point| point.connections == connections);
        found.expect("it is among those that are measured")
    }

    fn best(&self) -> &Point {
        let points = self.points.iter();
        points.max_by(|a, b| a.calls_per_s().total_cmp(&b.calls_per_s())).expect("there are points")
    }

    /// Cores that everybody else kept busy, on average.
    fn rest(&self) -> f64 {
        self.points.iter().map(Point::rest).sum::<f64>() / self.points.len() as f64
    }
}

/// What servers of one form said of themselves at the end.
struct Facts {
    form: Form,
    /// Of all processes.
    memory_mb: f64,
    heard: f64,
    dropped: f64,
}

/// What clients saw when one of two replicas was killed.
struct Death {
    calls: f64,
    failed: f64,
    slowest_s: f64,
}

pub(super) fn measure() -> Result<String> {
    let folder = Folder::new()?;
    crate::build_release()?;
    outside::wrk()?;
    let (mut series, mut facts, mut death) = (Vec::new(), Vec::new(), None);
    for form in FORMS {
        let mut rig = Rig::start(form, folder.path())?;
        for kind in KINDS {
            series.push(measure_kind(&rig, form, kind, folder.path())?);
        }
        facts.push(facts_of(&rig, form)?);
        if form == Form::Shared(2) {
            death = Some(kill_one(&mut rig, folder.path())?);
        }
    }
    let cores = std::thread::available_parallelism()?.get();
    let death = death.context("no form has two replicas")?;
    Report { series: &series, facts: &facts, death: &death, cores }.text()
}

fn measure_kind(rig: &Rig, form: Form, kind: Kind, folder: &Path) -> Result<Series> {
    load::check(rig, kind)?;
    load::run(rig, kind, 4, 1, folder)?;
    let mut points = Vec::new();
    let mut flushed = Vec::new();
    for connections in CONNECTIONS {
        // As the first point begins, and when it has ended.
        if flushed.len() < 2 {
            flushed.push(rig.flushed());
        }
        let before = rig.used()?;
        let load = load::run(rig, kind, connections, SECONDS, folder)?;
        let used = rig.used()? - before;
        let failed = load.failed;
        ensure!(failed == 0.0, "{failed} {} failed over {connections} connections", kind.tool());
        points.push(Point { connections, load, used });
    }
    let flush_s = match flushed[..] {
        [Some((times, seconds)), Some((later, until))] if later > times => {
            Some((until - seconds) / (later - times))
        }
        _ => None,
    };
    Ok(Series { form, kind, points, flush_s })
}

fn facts_of(rig: &Rig, form: Form) -> Result<Facts> {
    let failed = rig.metric("kenning_tool_errors_total")?;
    ensure!(failed == 0.0, "{failed} calls were answered with an error");
    Ok(Facts {
        form,
        memory_mb: rig.memory_mb(),
        heard: rig.metric("kenning_heard_calls_total")?,
        dropped: rig.metric("kenning_heard_calls_dropped_total")?,
    })
}

/// Kills a replica in the middle of a load.
fn kill_one(rig: &mut Rig, folder: &Path) -> Result<Death> {
    let mut victim = rig.take_replica().context("there is a replica to kill")?;
    let load = std::thread::scope(|threads| {
        threads.spawn(move || {
            std::thread::sleep(Duration::from_secs(SECONDS / 2));
            victim.child.kill()
        });
        load::run(rig, Kind::Lookup, MOURNERS, SECONDS, folder)
    })?;
    Ok(Death { calls: load.calls, failed: load.failed, slowest_s: load.slowest_s })
}
