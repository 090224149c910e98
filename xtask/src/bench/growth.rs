//! How time and memory grow with what is known: nodes, calls and skills, from a thousand to a
//! million of each.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use super::plot::{Axis, Line, Plot, Style};
use crate::run::{cargo_command, read};

const SIZES: [f64; 4] = [1e3, 1e4, 1e5, 1e6];
/// The largest size, for a try-out of less than all.
const MOST: &str = "GROWTH_MOST";
/// An exponent beyond this is said to be steeper than proportional: measurements scatter.
const STEEP: f64 = 1.15;

/// What is counted, and what of it is measured.
struct Subject {
    /// Its plots are called after it.
    name: &'static str,
    title: &'static str,
    about: &'static str,
    rows: &'static [Row],
}

struct Row {
    key: &'static str,
    name: &'static str,
    unit: Unit,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Milliseconds,
    Megabytes,
    PerSecond,
}

const fn took(key: &'static str, name: &'static str) -> Row {
    Row { key, name, unit: Unit::Milliseconds }
}

const fn holds(key: &'static str, name: &'static str) -> Row {
    Row { key, name, unit: Unit::Megabytes }
}

const NODES: Subject = Subject {
    name: "nodes",
    title: "Nodes",
    about: "Markdown files of eight nodes each, some 120 words a node ([the \
            benchmark](../crates/knowledge/benches/growth.rs)), read from the disk; questions are \
            the median of 100, edits of at most three. Every node has a random vector: the times are \
            those of real ones, without the time to compute them. A question by meaning includes \
            its own embedding. The keyword index and the vectors are held in memory; the store \
            keeps the vectors ([the benchmark](../crates/store/benches/growth/vectors.rs)), so \
            that a start reads them rather than computing them.",
    rows: &[
        took("read_ms", "read and index by keyword"),
        took("load_ms", "read kept vectors"),
        took("edit_keyword_ms", "edit, until found by word"),
        took("edit_meaning_ms", "edit, until by meaning too"),
        took("keyword_ms", "keyword search"),
        took("hybrid_ms", "hybrid search"),
        took("discover_ms", "discover_context"),
        holds("keyword_mb", "memory, keywords alone"),
        holds("memory_mb", "memory, with vectors"),
        holds("peak_mb", "memory, at most"),
        holds("files_mb", "disk, Markdown"),
        holds("disk_mb", "disk, kept vectors"),
    ],
};

const EVENTS: Subject = Subject {
    name: "events",
    title: "Calls",
    about: "Calls reported over thirty days in four projects, for every hundred of them one gap, \
            and as many times that one of 10,000 nodes was found ([the \
            benchmark](../crates/store/benches/growth/events.rs)). Asks are extracted from 100 \
            new calls of one project, of which half are requests and half failed. The \
            report is one project's last day, which has a hundred and twentieth of all calls.",
    rows: &[
        Row { key: "fill_per_s", name: "calls taken in, by 1,000", unit: Unit::PerSecond },
        took("append_ms", "take in 100 calls"),
        took("extract_ms", "asks of 100 calls"),
        took("list_ms", "the first 50 gaps by rank"),
        took("usage_ms", "usage over 30 days"),
        took("report_ms", "report of a day"),
        holds("memory_mb", "memory"),
        holds("disk_mb", "disk"),
    ],
};

const SKILLS: Subject = Subject {
    name: "skills",
    title: "Skills",
    about: "Agents with a hundred skills each, and each skill with a version and a description \
            that ten agents have ([the benchmark](../crates/store/benches/growth/skills.rs)). A \
            question is answered by its words here; with the model, the meaning of every \
            different skill is compared besides.",
    rows: &[
        Row { key: "fill_per_s", name: "skills imported", unit: Unit::PerSecond },
        took("register_ms", "register 1,000 in one call"),
        took("agent_ms", "one agent's 100"),
        took("name_ms", "who has one, by name"),
        took("page_ms", "the first 100 of all"),
        took("find_ms", "who can, by a question"),
        holds("memory_mb", "memory"),
        holds("disk_mb", "disk"),
    ],
};

/// The figures of one size, by key.
type Figures = BTreeMap<String, f64>;

/// What was measured on one database, or without one.
struct Series {
    on: &'static str,
    points: Vec<(f64, Figures)>,
    /// Why it ends before the last size, if it does.
    end: Option<String>,
}

pub(super) fn measure() -> Result<String> {
    let nodes = vec![Series::measured("", |size| {
        let mut figures = figures(&["nodes", &size.to_string()])?;
        for (key, value) in figures_of_store("vectors", "SQLite", size)? {
            figures.entry(key).or_insert(value);
        }
        Ok(figures)
    })?];
    let of_both = |what: &'static str| -> Result<Vec<Series>> {
        let both = ["SQLite", "PostgreSQL"].into_iter();
        both.map(|on| Series::measured(on, |size| figures_of_store(what, on, size))).collect()
    };
    let (events, skills) = (of_both("events")?, of_both("skills")?);
    let mut text = "Each size is a process of its own, so that the memory is that size's. \
         PostgreSQL has its own settings and has looked at what it was filled with (`VACUUM \
         ANALYZE`); memory is Kenning's alone, without the server's. The exponent is the slope \
         between the last two sizes when both axes are logarithmic: 0 does not grow, 1 is \
         proportional, 2 is the square.\n\n"
        .to_owned();
    for (subject, series) in [(NODES, nodes), (EVENTS, events), (SKILLS, skills)] {
        text += &told(&subject, &series);
        for (unit, what) in [(Unit::Milliseconds, "time"), (Unit::Megabytes, "memory")] {
            text += &plot(&subject, &series, unit).draw(&format!("{}-{what}", subject.name))?;
            text += "\n";
        }
    }
    Ok(text)
}

impl Series {
    /// Goes on until a size cannot be had. The first one has to be.
    fn measured(on: &'static str, measure: impl Fn(u64) -> Result<Figures>) -> Result<Self> {
        let most = std::env::var(MOST).ok().and_then(|most| most.parse::<f64>().ok());
        let mut series = Self { on, points: Vec::new(), end: None };
        for size in SIZES.into_iter().filter(|size| *size <= most.unwrap_or(f64::INFINITY)) {
            match measure(whole(size)) {
                Ok(figures) => series.points.push((size, figures)),
                Err(error) if series.points.is_empty() => return Err(error),
                Err(error) => {
                    eprintln!("{error:?}");
                    series.end = Some(format!("{} could not be measured", named(size)));
                    break;
                }
            }
        }
        Ok(series)
    }

    fn of(&self, key: &str) -> Vec<(f64, f64)> {
        let points = self.points.iter();
        points.filter_map(|(size, figures)| Some((*size, *figures.get(key)?))).collect()
    }
}

fn figures_of_store(what: &str, on: &str, size: u64) -> Result<Figures> {
    figures(&[what, on, &size.to_string()])
}

/// Of the benchmark that the first word is for. With `--workspace`, as everything is built.
fn figures(words: &[&str]) -> Result<Figures> {
    let bench = ["bench", "--workspace", "--bench", "growth", "--"];
    let printed = read(&mut cargo_command(&[&bench, words].concat()))?;
    let line = printed.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    eprintln!("{line}");
    let figures: Map<String, Value> = serde_json::from_str(line)
        .with_context(|| format!("the benchmark of {words:?} printed `{printed}`"))?;
    Ok(figures.into_iter().filter_map(|(key, value)| Some((key, value.as_f64()?))).collect())
}

/// The subject's text and table.
fn told(subject: &Subject, series: &[Series]) -> String {
    let sizes: Vec<f64> = series.iter().flat_map(|one| one.points.iter().map(|it| it.0)).collect();
    let sizes: Vec<f64> = SIZES.into_iter().filter(|size| sizes.contains(size)).collect();
    let mut text = format!("### {}\n\n{}\n\n| |", subject.title, subject.about);
    for size in &sizes {
        let _ = write!(text, " {} |", named(*size));
    }
    let _ = writeln!(text, " exponent |\n|---|{}", "---|".repeat(sizes.len() + 1));
    let mut steep = Vec::new();
    for row in subject.rows {
        for one in series {
            let points = one.of(row.key);
            let name = name(row, one);
            let _ = write!(text, "| {name} |");
            for size in &sizes {
                let value =
                    points.iter().find(|(at, _)| (at - size).abs() < 0.5).map(|(_, value)| *value);
                let _ =
                    write!(text, " {} |", value.map_or("–".to_owned(), |it| row.unit.shown(it)));
            }
            let exponent = exponent(&points).filter(|_| row.unit != Unit::PerSecond);
            let _ =
                writeln!(text, " {} |", exponent.map_or(String::new(), |it| format!("{it:.2}")));
            if exponent.is_some_and(|it| it > STEEP) {
                steep.push(name);
            }
        }
    }
    text += &match steep.as_slice() {
        [] => format!("\nNothing here is steeper than proportional (above {STEEP}).\n"),
        rows => format!("\nSteeper than proportional (above {STEEP}): {}.\n", rows.join("; ")),
    };
    for (one, end) in series.iter().filter_map(|one| Some((one, one.end.as_ref()?))) {
        let on = if one.on.is_empty() { "here" } else { one.on };
        let _ = writeln!(text, "\nIt ends early: {end} ({on}).");
    }
    text + "\n"
}

fn name(row: &Row, series: &Series) -> String {
    if series.on.is_empty() { row.name.to_owned() } else { format!("{}, {}", row.name, series.on) }
}

/// All rows of one unit: the first series solid, the second dashed.
fn plot(subject: &Subject, series: &[Series], unit: Unit) -> Plot {
    let mut lines = Vec::new();
    for row in subject.rows.iter().filter(|row| row.unit == unit) {
        for (one, style) in series.iter().zip([Style::Solid, Style::Dashed]) {
            let name = match style {
                Style::Dashed => format!("… {}", one.on),
                _ => row.name.to_owned(),
            };
            lines.push(Line { name, points: one.of(row.key), style });
        }
    }
    lines.push(proportional(&lines));
    let (what, label) = match unit {
        Unit::Megabytes => ("memory and disk", "MB"),
        _ => ("time", "milliseconds"),
    };
    Plot {
        title: format!("{}: {what}", subject.title),
        x: Axis { label: subject.name.to_owned(), log: true },
        y: Axis { label: label.to_owned(), log: true },
        lines,
    }
}

/// What a tenfold size would take if it took tenfold, from the least there is.
fn proportional(lines: &[Line]) -> Line {
    let points = lines.iter().flat_map(|line| &line.points).filter(|(_, value)| *value > 0.0);
    let from = points.clone().min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let last = points.map(|(size, _)| *size).max_by(f64::total_cmp);
    let points = from.zip(last).map(|(&(x, y), last)| vec![(x, y), (last, y * last / x)]);
    let name = "proportional".to_owned();
    Line { name, points: points.unwrap_or_default(), style: Style::Dots }
}

/// The slope between the last two points, on logarithmic axes.
fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let [.., (x, y), (next_x, next_y)] = points else { return None };
    (*y > 0.0 && *next_y > 0.0).then(|| (next_y / y).ln() / (next_x / x).ln())
}

impl Unit {
    fn shown(self, value: f64) -> String {
        match self {
            Self::Milliseconds if value >= 1e3 => format!("{:.1} s", value / 1e3),
            Self::Milliseconds if value >= 10.0 => format!("{value:.0} ms"),
            Self::Milliseconds => format!("{value:.2} ms"),
            Self::Megabytes if value >= 10.0 => format!("{value:.0} MB"),
            Self::Megabytes => format!("{value:.1} MB"),
            Self::PerSecond => format!("{value:.0}/s"),
        }
    }
}

fn named(size: f64) -> String {
    match whole(size) {
        size if size >= 1_000_000 => format!("{}M", size / 1_000_000),
        size => format!("{}k", size / 1_000),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a size is a whole number above zero"
)]
fn whole(size: f64) -> u64 {
    size as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(on: &'static str, times: [f64; 3]) -> Series {
        let points = SIZES.into_iter().zip(times);
        let figures = |time| BTreeMap::from([("agent_ms".to_owned(), time)]);
        let points = points.map(|(size, time)| (size, figures(time))).collect();
        Series { on, points, end: None }
    }

    #[test]
    fn an_exponent_is_the_slope_of_the_last_two() {
        let of = |last: f64| exponent(&[(1e3, 7.0), (1e4, 1.0), (1e5, last)]).map(f64::round);
        assert_eq!(of(1.0), Some(0.0));
        assert_eq!(of(10.0), Some(1.0));
        assert_eq!(of(100.0), Some(2.0));
        assert_eq!(exponent(&[(1e3, 1.0)]), None);
    }

    #[test]
    fn the_table_has_a_row_for_each_database_and_names_what_is_steep() {
        let both = [series("SQLite", [0.5, 2.0, 20.0]), series("PostgreSQL", [1.0, 2.0, 2000.0])];
        let text = told(&SKILLS, &both);
        assert!(text.contains("| | 1k | 10k | 100k | exponent |"), "{text}");
        let sqlite = "| one agent's 100, SQLite | 0.50 ms | 2.00 ms | 20 ms | 1.00 |";
        let postgres = "| one agent's 100, PostgreSQL | 1.00 ms | 2.00 ms | 2.0 s | 3.00 |";
        assert!(text.contains(&format!("{sqlite}\n{postgres}\n")), "{text}");
        let steep = "Steeper than proportional (above 1.15): one agent's 100, PostgreSQL.";
        assert!(text.contains(steep), "{text}");
    }

    #[test]
    fn a_size_that_fails_ends_the_series_unless_it_is_the_first() {
        let until = |most: u64| {
            Series::measured("SQLite", move |size| {
                anyhow::ensure!(size < most, "too many");
                Ok(BTreeMap::from([("agent_ms".to_owned(), 1.0)]))
            })
        };
        let ended = until(100_000).unwrap();
        assert_eq!(ended.points.len(), 2);
        let text = told(&SKILLS, &[ended]);
        assert!(text.contains("It ends early: 100k could not be measured (SQLite)."), "{text}");
        assert!(until(1_000).is_err());
    }

    #[test]
    fn a_plot_holds_the_rows_of_one_unit_and_what_is_proportional() {
        let both = [series("SQLite", [0.5, 2.0, 20.0]), series("PostgreSQL", [1.0, 2.0, 3.0])];
        let plot = plot(&SKILLS, &both, Unit::Milliseconds);
        let of = |name: &str| plot.lines.iter().find(|line| line.name == name).unwrap();
        assert_eq!(of("one agent's 100").points.len(), 3);
        assert_eq!(of("proportional").points, [(1e3, 0.5), (1e5, 50.0)]);
        assert!(!plot.lines.iter().any(|line| line.name == "memory"));
    }
}
