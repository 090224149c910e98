//! What the measured costs mean for machines that were not measured.

use super::load::{KINDS, Kind};
use super::model::Demand;
use super::report::{Report, head};
use super::rig::Form;
use crate::bench::queueing::{Station, open};

/// Cores of each replica, of the database and of the balancer, as fast as those that were measured.
const REPLICA: usize = 4;
const DATABASE: usize = 16;
const BALANCER: usize = 4;
/// How busy a part may be kept: beyond it, waiting grows faster than work.
const BUSY: f64 = 0.7;
/// What an agent that works is taken to ask for.
const CALLS_A_MINUTE: f64 = 4.0;
const REPLICAS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// What a server of `PostgreSQL` allows unless told otherwise, and what a replica may open.
const DEFAULT_CONNECTIONS: usize = 100;
const CONNECTIONS: usize = 16;

/// How often each of [`KINDS`] is called, of a hundred.
struct Mix {
    name: &'static str,
    parts: [f64; 4],
}

const MIXES: [Mix; 2] = [
    Mix { name: "reads mostly", parts: [25.0, 24.0, 50.0, 1.0] },
    Mix { name: "writes much", parts: [10.0, 30.0, 20.0, 40.0] },
];

pub(super) fn text(report: &Report<'_>) -> String {
    let mut text = format!(
        "Nothing below was measured. It takes the costs of a call from above, and puts each replica on \
         {REPLICA} cores of its own, PostgreSQL on {DATABASE} and the balancer on {BALANCER}, all as fast as \
         those of this machine, with callers elsewhere and no network in between. A call costs what \
         it costs with 1, 2 and 4 replicas on average, but for the processors' part of a write: every replica \
         is told of it, and that part lies on the line through the three. A part is kept {:.0} % busy at most; `held by` is the part that is. \
         The latency is the mean of an open network of queues at that rate. An agent that works is taken to \
         call {CALLS_A_MINUTE:.0} times a minute. The commit is one queue for all: it is as quick as this \
         disk.\n",
        BUSY * 1e2,
    );
    for mix in &MIXES {
        text += &mix.text(report);
    }
    text
}

impl Mix {
    fn text(&self, report: &Report<'_>) -> String {
        let parts = KINDS.iter().zip(self.parts);
        let parts: Vec<String> =
            parts.map(|(kind, part)| format!("{part:.0} % {}", kind.name())).collect();
        let columns = ["calls/s", "held by", "PostgreSQL busy", "commit busy", "latency", "agents"];
        let mut text = format!(
            "\n**{}**: {}.\n\n{}",
            self.name,
            parts.join(", "),
            head(&["replicas"], columns.map(str::to_owned)),
        );
        for replicas in REPLICAS {
            let demand = self.demand(report, replicas);
            let parts = parts_of(&demand, replicas);
            let limits = parts.iter().map(|part| (part.limit(), part.name));
            let (rate, held_by) =
                limits.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are parts");
            let latency = latency(&parts, rate) + demand.wait;
            text += &format!(
                "| {replicas} | {rate:.0} | {held_by} | {:.0} % | {:.0} % | {:.1} ms | {:.0} |\n",
                rate * demand.database / DATABASE as f64 * 1e2,
                rate * demand.commit * 1e2,
                latency * 1e3,
                rate * 60.0 / CALLS_A_MINUTE,
            );
        }
        text + &self.end(report)
    }

    /// Where more replicas stop to help.
    fn end(&self, report: &Report<'_>) -> String {
        let rate_with = |replicas: usize| {
            let demand = self.demand(report, replicas);
            parts_of(&demand, replicas).iter().map(Part::limit).fold(f64::INFINITY, f64::min)
        };
        let rates: Vec<f64> = (1..=REPLICAS[REPLICAS.len() - 1]).map(rate_with).collect();
        let most = rates.iter().copied().fold(0.0, f64::max);
        let enough = rates.iter().position(|rate| *rate >= most * 0.99).unwrap_or_default() + 1;
        let demand = self.demand(report, enough);
        let parts = parts_of(&demand, enough);
        let held_by = parts.iter().min_by(|a, b| a.limit().total_cmp(&b.limit()));
        let held_by = held_by.map_or("nothing", |part| part.name);
        let connections = enough * CONNECTIONS;
        let allowed = if connections > DEFAULT_CONNECTIONS {
            format!("more than the {DEFAULT_CONNECTIONS} that it allows unless told otherwise")
        } else {
            format!("of the {DEFAULT_CONNECTIONS} that it allows unless told otherwise")
        };
        format!(
            "\nUp to {} replicas, the most that one gets is {most:.0} calls/s, {:.0} agents, with \
             {enough} of them; what holds it then is: {held_by}. They may open {connections} connections \
             to PostgreSQL, {allowed}.\n",
            REPLICAS[REPLICAS.len() - 1],
            most * 60.0 / CALLS_A_MINUTE,
        )
    }

    fn demand(&self, report: &Report<'_>, replicas: usize) -> Demand {
        let mut mean = Demand::default();
        for (kind, part) in KINDS.iter().zip(self.parts) {
            let one = with_replicas(report, *kind, replicas);
            let part = part / 100.0;
            mean.replica += part * one.replica;
            mean.database += part * one.database;
            mean.balancer += part * one.balancer;
            mean.commit += part * one.commit;
            mean.wait += part * one.wait;
        }
        mean
    }
}

struct Part {
    name: &'static str,
    station: Station,
    /// How many alike share the calls.
    among: f64,
}

impl Part {
    /// Calls a second that keep it as busy as it may be.
    fn limit(&self) -> f64 {
        let servers = self.station.servers.unwrap_or(1) as f64;
        BUSY * servers * self.among / self.station.demand.max(f64::MIN_POSITIVE)
    }
}

fn parts_of(demand: &Demand, replicas: usize) -> [Part; 4] {
    let part = |name, servers, demand, among| {
        let station = Station::queue(servers, demand);
        Part { name, station, among }
    };
    [
        part("replicas", REPLICA, demand.replica, replicas as f64),
        part("PostgreSQL", DATABASE, demand.database, 1.0),
        part("commit", 1, demand.commit, 1.0),
        part("balancer", BALANCER, demand.balancer, 1.0),
    ]
}

/// Seconds that a call takes at all parts together, none of which is too busy.
fn latency(parts: &[Part], rate: f64) -> f64 {
    parts.iter().filter_map(|part| open(&[part.station], rate / part.among)).sum()
}

/// What a call costs with so many replicas: what it costs with those that were measured, on average,
/// and for the processors of a write, which every replica is told of, on the line through them.
fn with_replicas(report: &Report<'_>, kind: Kind, replicas: usize) -> Demand {
    let measured = [1, 2, 4].map(|count| (count as f64, report.demand(Form::Shared(count), kind)));
    let points = |of: fn(&Demand) -> f64| measured.map(|(count, demand)| (count, of(&demand)));
    let average = |of| mean(&points(of)).1;
    let worked = |of| match kind {
        Kind::Write => on_line(&points(of), replicas as f64),
        _ => average(of),
    };
    Demand {
        replica: worked(|demand| demand.replica),
        database: worked(|demand| demand.database),
        balancer: average(|demand| demand.balancer),
        client: 0.0,
        commit: average(|demand| demand.commit),
        wait: average(|demand| demand.wait),
        crowd: 1.0,
    }
}

/// By least squares; never falling, and never below all that was measured.
fn on_line(points: &[(f64, f64)], at: f64) -> f64 {
    let (x, y) = mean(points);
    let least = points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    (y + slope(points).max(0.0) * (at - x)).max(least)
}

fn mean(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let sum = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
    (sum.0 / count, sum.1 / count)
}

fn slope(points: &[(f64, f64)]) -> f64 {
    let (x, y) = mean(points);
    let over: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let under: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    over / under
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_and_never_falls() {
        let rising = [(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)];
        assert!((on_line(&rising, 10.0) - 23.0).abs() < 1e-9);
        assert!((on_line(&rising, 0.0) - 5.0).abs() < 1e-9, "not below what was measured");
        assert!((on_line(&[(1.0, 3.0), (2.0, 2.0), (4.0, 1.0)], 64.0) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_line_has_its_slope() {
        assert!((slope(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]) - 2.0).abs() < 1e-12);
        assert!(slope(&[(1.0, 3.0), (2.0, 3.0), (4.0, 3.0)]).abs() < 1e-12);
    }

    #[test]
    fn the_part_with_least_room_is_what_holds() {
        let demand = Demand { replica: 0.004, database: 0.001, commit: 0.01, ..Demand::default() };
        let limits = parts_of(&demand, 2).map(|part| (part.name, part.limit()));
        assert!((limits[0].1 - BUSY * 2_000.0).abs() < 1e-6, "two replicas of four cores");
        assert!((limits[1].1 - BUSY * 16_000.0).abs() < 1e-6);
        assert!((limits[2].1 - BUSY * 100.0).abs() < 1e-6, "one at a time");
    }
}
