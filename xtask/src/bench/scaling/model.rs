//! The model: what a call asks of each part, and what follows for many at once.

use super::load::Kind;
use super::rig::Form;
use super::{Point, Series};
use crate::bench::cpu::Used;
use crate::bench::queueing::{Station, closed};

/// What one call asks for, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Demand {
    pub(super) replica: f64,
    pub(super) database: f64,
    pub(super) balancer: f64,
    pub(super) client: f64,
    /// What only one call can do at a time.
    pub(super) commit: f64,
    /// No processor works, and nobody waits for another.
    pub(super) wait: f64,
    /// How much longer the processors take because others use them too.
    pub(super) crowd: f64,
}

/// The point that demands of processors are taken from.
pub(super) const BUSY_AT: usize = 8;

impl Demand {
    /// From two points: what a call costs processors with as many as keep them busy; and alone, where
    /// whatever that does not explain is waiting. A commit takes as long as the database says that the
    /// disk does; where none says so, as much longer as a write waits than `read` does.
    pub(super) fn of(series: &Series, read: &Series, cores: usize) -> Self {
        let busy = per_call(series.at(BUSY_AT));
        let idle = series.idle(cores);
        let commit = match (series.kind, series.flush_s) {
            (Kind::Write, Some(flush)) => flush.min(idle),
            (Kind::Write, None) => (idle - read.idle(cores)).max(0.0),
            _ => 0.0,
        };
        Self {
            replica: busy.replicas,
            database: busy.database,
            balancer: busy.balancer,
            client: busy.client,
            commit,
            wait: idle - commit,
            crowd: crowd(series.rest(), cores),
        }
    }

    pub(super) fn processors(&self) -> f64 {
        self.replica + self.database + self.balancer + self.client
    }

    /// With all of it on one machine of so many cores.
    fn here(&self, cores: usize) -> [Station; 3] {
        [
            Station::queue(cores, self.processors() * self.crowd),
            Station::queue(1, self.commit),
            Station::delay(self.wait),
        ]
    }
}

fn per_call(point: &Point) -> Used {
    let Used { replicas, database, balancer, client, machine } = point.used;
    let each = |used: f64| used / point.load.calls;
    Used {
        replicas: each(replicas),
        database: each(database),
        balancer: each(balancer),
        client: each(client),
        machine: each(machine),
    }
}

impl Series {
    /// Seconds of a lonely call that the processors do not explain.
    fn idle(&self, cores: usize) -> f64 {
        let worked = per_call(self.at(BUSY_AT)).ours() * crowd(self.rest(), cores);
        (1.0 / self.at(1).calls_per_s() - worked).max(0.0)
    }
}

fn crowd(rest: f64, cores: usize) -> f64 {
    cores as f64 / (cores as f64 - rest).max(0.1)
}

/// What a client is told to expect.
#[derive(Debug, Clone, Copy)]
pub(super) struct Predicted {
    pub(super) calls_per_s: f64,
    /// As the client sees it, whose own work is not part of it.
    pub(super) latency_s: f64,
}

pub(super) fn predict(
    demand: &Demand,
    kind: Kind,
    form: Form,
    cores: usize,
    connections: usize,
) -> Predicted {
    // The others wait before the gate and ask nothing of anybody.
    let inside = connections.min(kind.at_once() * form.replicas());
    let solved = closed(&demand.here(cores), inside);
    let own = solved.residence[0] * demand.client / demand.processors();
    Predicted {
        calls_per_s: solved.throughput,
        latency_s: connections as f64 / solved.throughput - own,
    }
}
