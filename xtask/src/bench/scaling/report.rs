//! What is written down of it.

use anyhow::Result;

use super::extrapolate;
use super::load::{KINDS, Kind};
use super::model::{BUSY_AT, Demand, Predicted, predict};
use super::rig::Form;
use super::{CONNECTIONS, Death, FORMS, Facts, MOURNERS, Point, SECONDS, Series};
use crate::bench::plot::{Axis, Line, Plot, Style};

/// Everything that was measured, with what the model makes of it.
pub(super) struct Report<'a> {
    pub(super) series: &'a [Series],
    pub(super) facts: &'a [Facts],
    pub(super) death: &'a Death,
    pub(super) cores: usize,
}

impl Report<'_> {
    pub(super) fn text(&self) -> Result<String> {
        Ok(format!(
            "### Measured: what is held\n\n{}\n### Measured: what a call costs\n\n{}\n\
             ### Measured: a replica is killed\n\n{}\n### The model beside what was measured\n\n{}\n\
             ### Extrapolated: machines that were not measured\n\n{}",
            self.held(),
            self.costs(),
            self.killed(),
            self.compared()?,
            extrapolate::text(self),
        ))
    }

    pub(super) fn of(&self, form: Form, kind: Kind) -> &Series {
        let found = self.series.iter().find(|series| series.form == form && series.kind == kind);
        found.expect("every kind is measured in every form")
    }

    pub(super) fn demand(&self, form: Form, kind: Kind) -> Demand {
        Demand::of(self.of(form, kind), self.of(form, Kind::Read), self.cores)
    }

    fn predicted(&self, series: &Series, connections: usize) -> Predicted {
        let demand = self.demand(series.form, series.kind);
        predict(&demand, series.kind, series.form, self.cores, connections)
    }

    /// What was measured first, then what the model says.
    fn pairs<'s>(&'s self, series: &'s Series) -> impl Iterator<Item = (&'s Point, Predicted)> {
        series.points.iter().map(|point| (point, self.predicted(series, point.connections)))
    }

    fn held(&self) -> String {
        let mut table = format!(
            "`wrk` calls for {SECONDS} s over 1 to {} connections, each of which waits for its answer; \
             the best of these, its connections in brackets, and the median and 99th percentile of its \
             latency. Everything runs on the same {} cores, `wrk` and PostgreSQL included, so that \
             more replicas cannot hold more here: the table shows what they cost. On SQLite one process is \
             asked directly; replicas are asked through the balancer, with a token.\n\n{}",
            CONNECTIONS[CONNECTIONS.len() - 1],
            self.cores,
            head(&["call"], FORMS.map(Form::name)),
        );
        for kind in KINDS {
            table += &format!("| `{}` |", kind.tool());
            for form in FORMS {
                let best = self.of(form, kind).best();
                table += &format!(
                    " {:.0}/s ({}), {:.1} / {:.1} ms |",
                    best.calls_per_s(),
                    best.connections,
                    best.load.p50_s * 1e3,
                    best.load.p99_s * 1e3,
                );
            }
            table += "\n";
        }
        table += "| memory of a process afterwards |";
        for facts in self.facts {
            table += &format!(" {:.0} MB |", facts.memory_mb / facts.form.replicas() as f64);
        }
        table += "\n| calls heard for the gaps, of them dropped |";
        for facts in self.facts {
            table += &format!(" {:.0}, {:.0} |", facts.heard, facts.dropped);
        }
        table + "\n"
    }

    fn costs(&self) -> String {
        let mut table = format!(
            "Microseconds for one call: of processors (of all processes of the part, what they do behind \
             the scenes included) at {BUSY_AT} connections; and of waiting, which is what is left of a \
             call over one connection when these are taken off. `commit` is how long \
             PostgreSQL says that the disk takes for one; on SQLite, how much longer a write waits than a read. \
             `rest` is how many of the {} cores everything else on the \
             machine took meanwhile: the nearer to 0, the better the figures.\n\n\
             | call | | replicas | PostgreSQL | balancer | `wrk` | commit | other waiting | rest |\n\
             |---|---|---|---|---|---|---|---|---|\n",
            self.cores,
        );
        for kind in KINDS {
            for form in FORMS {
                let demand = self.demand(form, kind);
                let parts = [
                    demand.replica,
                    demand.database,
                    demand.balancer,
                    demand.client,
                    demand.commit,
                    demand.wait,
                ];
                table += &format!("| {} | {} |", kind.name(), form.name());
                for part in parts {
                    table += &format!(" {:.0} |", part * 1e6);
                }
                table += &format!(" {:.2} |\n", self.of(form, kind).at(BUSY_AT).rest());
            }
        }
        table
    }

    fn killed(&self) -> String {
        let Death { calls, failed, slowest_s } = self.death;
        format!(
            "One of two replicas is killed (`kill -9`) while {MOURNERS} connections look capabilities \
             up through the balancer. Of {calls:.0} calls in {SECONDS} s, {failed:.0} failed, and the \
             slowest took {:.0} ms.\n",
            slowest_s * 1e3,
        )
    }

    fn compared(&self) -> Result<String> {
        let mut text = format!(
            "How far the model is off, as a part of what was measured: mean over the {} numbers of \
             connections above one, and the worst of them (its connections in brackets).\n\n\
             | call | | calls/s, mean | worst | latency, mean | worst |\n|---|---|---|---|---|---|\n",
            CONNECTIONS.len() - 1,
        );
        for kind in KINDS {
            for form in FORMS {
                let series = self.of(form, kind);
                let speed = Errors::of(self.pairs(series).map(|(point, predicted)| {
                    (point.connections, predicted.calls_per_s / point.calls_per_s() - 1.0)
                }));
                let latency = Errors::of(self.pairs(series).map(|(point, predicted)| {
                    (point.connections, predicted.latency_s / point.load.mean_s - 1.0)
                }));
                text += &format!("| {} | {} | {speed} | {latency} |\n", kind.name(), form.name());
            }
        }
        for kind in KINDS {
            text += &format!("\n{}", self.plot(kind)?);
        }
        text +=
            &format!("\n<details><summary>All points</summary>\n\n{}\n</details>\n", self.all());
        Ok(text)
    }

    fn plot(&self, kind: Kind) -> Result<String> {
        let mut lines = Vec::new();
        for form in FORMS {
            let series = self.of(form, kind);
            let pairs: Vec<_> = self.pairs(series).collect();
            let line = |name, style, of: &dyn Fn(&(&Point, Predicted)) -> f64| {
                let points = pairs.iter().map(|pair| (pair.0.connections as f64, of(pair)));
                Line { name, points: points.collect(), style }
            };
            lines.push(line(form.name(), Style::Solid, &|pair| pair.0.calls_per_s()));
            lines.push(line("predicted".to_owned(), Style::Dashed, &|pair| pair.1.calls_per_s));
        }
        let axis = |label: &str| Axis { label: label.to_owned(), log: true };
        let (x, y) = (axis("connections"), axis("calls per second"));
        let title = format!("{}, measured and predicted", kind.tool());
        Plot { title, x, y, lines }.draw(&format!("scaling-{}", kind.name()))
    }

    fn all(&self) -> String {
        let mut table = "Mean latency is `wrk`'s own, and independent of calls per second.\n\n\
            | call | | connections | calls/s | predicted | off by | mean latency | predicted | off by \
            | p50 | p99 |\n|---|---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
        for series in self.series {
            for (point, predicted) in self.pairs(series) {
                let (speed, mean) = (point.calls_per_s(), point.load.mean_s);
                table += &format!(
                    "| {} | {} | {} | {speed:.0} | {:.0} | {:+.0} % | {:.2} ms | {:.2} ms | {:+.0} % \
                     | {:.2} ms | {:.2} ms |\n",
                    series.kind.name(),
                    series.form.name(),
                    point.connections,
                    predicted.calls_per_s,
                    (predicted.calls_per_s / speed - 1.0) * 1e2,
                    mean * 1e3,
                    predicted.latency_s * 1e3,
                    (predicted.latency_s / mean - 1.0) * 1e2,
                    point.load.p50_s * 1e3,
                    point.load.p99_s * 1e3,
                );
            }
        }
        table
    }
}

/// How far a model is off at several points, other than the one that it was made to meet.
struct Errors {
    mean: f64,
    worst: (usize, f64),
}

impl Errors {
    fn of(errors: impl Iterator<Item = (usize, f64)>) -> Self {
        let errors: Vec<_> = errors.filter(|(connections, _)| *connections > 1).collect();
        let sum: f64 = errors.iter().map(|(_, error)| error.abs()).sum();
        let worst = errors.iter().copied().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
        Self { mean: sum / errors.len() as f64, worst: worst.unwrap_or_default() }
    }
}

impl std::fmt::Display for Errors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (connections, worst) = self.worst;
        write!(f, "{:.0} % | {:+.0} % ({connections})", self.mean * 1e2, worst * 1e2)
    }
}

/// The first two lines of a table.
pub(super) fn head(first: &[&str], rest: impl IntoIterator<Item = String>) -> String {
    let names: Vec<String> = first.iter().map(|name| (*name).to_owned()).chain(rest).collect();
    format!("| {} |\n|{}\n", names.join(" | "), "---|".repeat(names.len()))
}
