//! What one process holds, what several on one database hold, and whether a model of queues would have
//! said so.

mod cpu;
mod load;
mod rig;

use std::path::Path;

use anyhow::{Result, ensure};

use self::cpu::Used;
use self::load::{KINDS, Kind, Load};
use self::rig::{Form, Rig};
use super::Folder;
use crate::outside;
use crate::run::cargo;

const FORMS: [Form; 4] = [Form::File, Form::Shared(1), Form::Shared(2), Form::Shared(4)];
const CONNECTIONS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const SECONDS: u64 = 3;

/// What was measured of one kind of call over so many connections.
struct Point {
    connections: usize,
    load: Load,
    used: Used,
}

/// All points of one kind of call to servers of one form.
struct Series {
    form: Form,
    kind: Kind,
    points: Vec<Point>,
}

pub(super) fn measure() -> Result<String> {
    let folder = Folder::new()?;
    // cargo(&["build", "--release", "--workspace", "--bins"])?;
    outside::wrk()?;
    let mut measured = Vec::new();
    for form in FORMS {
        measure_form(form, folder.path(), &mut measured)?;
    }
    for series in &measured {
        for p in &series.points {
            let n = p.load.calls;
            let us = |s: f64| s / n * 1e6;
            eprintln!("DATA,{},{},{},{:.1},{:.3},{:.3},{:.3},{:.0},{:.0},{:.0},{:.0},{:.2}", series.form.name().replace(',', ""), series.kind.name(), p.connections, n / p.load.seconds, p.load.mean_s*1e3, p.load.p50_s*1e3, p.load.p99_s*1e3, us(p.used.replicas), us(p.used.database), us(p.used.balancer), us(p.used.client), (p.used.machine - p.used.ours()) / p.load.seconds);
        }
    }
    Ok(String::new())
}

fn measure_form(form: Form, folder: &Path, measured: &mut Vec<Series>) -> Result<()> {
    let rig = Rig::start(form, folder)?;
    for kind in KINDS {
        load::check(&rig, kind)?;
        load::run(&rig, kind, 4, 1, folder)?;
        let mut points = Vec::new();
        for connections in CONNECTIONS {
            let before = rig.used()?;
            let load = load::run(&rig, kind, connections, SECONDS, folder)?;
            points.push(Point { connections, load, used: rig.used()? - before });
        }
        measured.push(Series { form, kind, points });
    }
    let failed = rig.metric("kenning_tool_errors_total")?;
    ensure!(failed == 0.0, "{failed} calls failed");
    eprintln!("MEM {} {} heard {} dropped {}", form.name(), rig.memory_mb(), rig.metric("kenning_heard_calls_total")?, rig.metric("kenning_heard_calls_dropped_total")?);
    Ok(())
}
