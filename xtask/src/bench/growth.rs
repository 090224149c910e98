//! How time and memory grow with the number of nodes, recorded calls and skills, from a thousand to a
//! million of each.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::{Map, Value};

use super::table_head;
use crate::run::{cargo_command, read};

const SIZES: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Environment variable for the largest size, to try out the benchmark on less than all.
const MAX_SIZE: &str = "GROWTH_MAX_SIZE";
/// An exponent above this is reported as steeper than proportional: measurements scatter.
const STEEP: f64 = 1.15;

/// What is counted, and what of it is measured.
struct Subject {
    title: &'static str,
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
    title: "Nodes",
    rows: &[
        took("read_ms", "read and index by keyword"),
        took("load_ms", "read stored vectors"),
        took("edit_keyword_ms", "edit, until found by word"),
        took("edit_meaning_ms", "edit, until by meaning too"),
        took("keyword_ms", "keyword search"),
        took("hybrid_ms", "hybrid search"),
        took("discover_ms", "discover_context"),
        holds("keyword_mb", "memory, keywords alone"),
        holds("memory_mb", "memory, with vectors"),
        holds("peak_mb", "memory, at most"),
        holds("files_mb", "disk, Markdown"),
        holds("disk_mb", "disk, stored vectors"),
    ],
};

const EVENTS: Subject = Subject {
    title: "Calls",
    rows: &[
        Row { key: "fill_per_s", name: "calls recorded, by 1,000", unit: Unit::PerSecond },
        took("append_ms", "record 100 calls"),
        took("extract_ms", "extract asks of 100 calls"),
        took("list_ms", "the first 50 gaps by rank"),
        took("usage_ms", "usage over 30 days"),
        took("report_ms", "report of a day"),
        holds("memory_mb", "memory"),
        holds("disk_mb", "disk"),
    ],
};

const SKILLS: Subject = Subject {
    title: "Skills",
    rows: &[
        Row { key: "fill_per_s", name: "skills imported", unit: Unit::PerSecond },
        took("register_ms", "register 1,000 in one call"),
        took("agent_ms", "one agent's 100"),
        took("name_ms", "agents with a skill, by name"),
        took("page_ms", "the first 100 of all"),
        took("find_ms", "agents with a skill, by a query"),
        holds("memory_mb", "memory"),
        holds("disk_mb", "disk"),
    ],
};

/// The figures of one size, by key.
type Figures = BTreeMap<String, f64>;

/// What was measured on one database, or without one.
struct Series {
    database: &'static str,
    points: BTreeMap<u64, Figures>,
    /// The size that could not be measured, if there was one.
    failed: Option<u64>,
}

pub(super) fn measure() -> Result<String> {
    let nodes = vec![Series::measure("", |size| {
        let mut figures = figures(&["nodes", size])?;
        for (key, value) in self::figures(&["vectors", "SQLite", size])? {
            figures.entry(key).or_insert(value);
        }
        Ok(figures)
    })?];
    let on_both = |what: &'static str| -> Result<Vec<Series>> {
        let both = ["SQLite", "PostgreSQL"].into_iter();
        both.map(|on| Series::measure(on, |size| figures(&[what, on, size]))).collect()
    };
    let tables =
        [NODES.table(&nodes), EVENTS.table(&on_both("events")?), SKILLS.table(&on_both("skills")?)];
    Ok(tables.join("\n\n"))
}

impl Series {
    /// Stops at a size that fails, unless it is the first.
    fn measure(database: &'static str, measure: impl Fn(&str) -> Result<Figures>) -> Result<Self> {
        let max = std::env::var(MAX_SIZE).ok().and_then(|max| max.parse().ok());
        let mut series = Self { database, points: BTreeMap::new(), failed: None };
        for size in SIZES.into_iter().filter(|size| *size <= max.unwrap_or(u64::MAX)) {
            match measure(&size.to_string()) {
                Ok(figures) => drop(series.points.insert(size, figures)),
                Err(error) if series.points.is_empty() => return Err(error),
                Err(error) => {
                    eprintln!("{error:?}");
                    series.failed = Some(size);
                    break;
                }
            }
        }
        Ok(series)
    }
}

/// The figures that the benchmark of the first word prints. With `--workspace`, as everything is built.
fn figures(words: &[&str]) -> Result<Figures> {
    let bench = ["bench", "--workspace", "--bench", "growth", "--"];
    let printed = read(&mut cargo_command(&[&bench, words].concat()))?;
    let line = printed.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    eprintln!("{line}");
    let figures: Map<String, Value> = serde_json::from_str(line)
        .with_context(|| format!("the benchmark of {words:?} printed `{printed}`"))?;
    Ok(figures.into_iter().filter_map(|(key, value)| Some((key, value.as_f64()?))).collect())
}

impl Subject {
    fn table(&self, series: &[Series]) -> String {
        let measured = |size: &u64| series.iter().any(|one| one.points.contains_key(size));
        let sizes: Vec<u64> = SIZES.into_iter().filter(measured).collect();
        let columns = sizes.iter().map(|size| size_name(*size)).chain(["exponent".to_owned()]);
        let head = table_head(&columns.collect::<Vec<_>>());
        let mut text = format!("### {}\n\n{head}", self.title);
        let mut steep = Vec::new();
        for row in self.rows {
            for one in series {
                let on = if one.database.is_empty() { "" } else { ", " };
                let name = format!("{}{on}{}", row.name, one.database);
                let value = |size| one.points.get(size)?.get(row.key).copied();
                let values: Vec<Option<f64>> = sizes.iter().map(value).collect();
                let exponent = exponent(&sizes, &values).filter(|_| row.unit != Unit::PerSecond);
                let cells = values
                    .iter()
                    .map(|value| value.map_or("–".to_owned(), |it| row.unit.format(it)));
                let exponent_cell = exponent.map(|it| format!("{it:.2}")).unwrap_or_default();
                let cells: Vec<String> = cells.chain([exponent_cell]).collect();
                text += &format!("| {name} | {} |\n", cells.join(" | "));
                if exponent.is_some_and(|it| it > STEEP) {
                    steep.push(name);
                }
            }
        }
        text += &match steep.as_slice() {
            [] => format!("\nNothing here is steeper than proportional (above {STEEP})."),
            rows => format!("\nSteeper than proportional (above {STEEP}): {}.", rows.join("; ")),
        };
        for (one, size) in series.iter().filter_map(|one| Some((one, one.failed?))) {
            let on = if one.database.is_empty() { "" } else { " on " };
            text += &format!("\n\n{} could not be measured{on}{}.", size_name(size), one.database);
        }
        text
    }
}

/// The slope between the last two sizes, on logarithmic axes.
fn exponent(sizes: &[u64], values: &[Option<f64>]) -> Option<f64> {
    let points =
        sizes.iter().zip(values).filter_map(|(size, value)| Some((*size as f64, (*value)?)));
    let points: Vec<(f64, f64)> = points.collect();
    let [.., (x, y), (next_x, next_y)] = points[..] else { return None };
    (y > 0.0 && next_y > 0.0).then(|| (next_y / y).ln() / (next_x / x).ln())
}

impl Unit {
    fn format(self, value: f64) -> String {
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

fn size_name(size: u64) -> String {
    match size {
        1_000_000.. => format!("{}M", size / 1_000_000),
        _ => format!("{}k", size / 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(database: &'static str, times: [f64; 3]) -> Series {
        let figures = |time| BTreeMap::from([("agent_ms".to_owned(), time)]);
        let points = SIZES.into_iter().zip(times).map(|(size, time)| (size, figures(time)));
        Series { database, points: points.collect(), failed: None }
    }

    #[test]
    fn an_exponent_is_the_slope_of_the_last_two_sizes() {
        let of =
            |last: f64| exponent(&SIZES[..3], &[Some(7.0), Some(1.0), Some(last)]).map(f64::round);
        assert_eq!(of(1.0), Some(0.0));
        assert_eq!(of(10.0), Some(1.0));
        assert_eq!(of(100.0), Some(2.0));
        assert_eq!(exponent(&SIZES[..1], &[Some(1.0)]), None);
    }

    #[test]
    fn the_table_has_a_row_for_each_database_and_names_steep_ones() {
        let both = [series("SQLite", [0.5, 2.0, 20.0]), series("PostgreSQL", [1.0, 2.0, 2000.0])];
        let text = SKILLS.table(&both);
        assert!(text.contains("| | 1k | 10k | 100k | exponent |"), "{text}");
        let sqlite = "| one agent's 100, SQLite | 0.50 ms | 2.00 ms | 20 ms | 1.00 |";
        let postgres = "| one agent's 100, PostgreSQL | 1.00 ms | 2.00 ms | 2.0 s | 3.00 |";
        assert!(text.contains(&format!("{sqlite}\n{postgres}\n")), "{text}");
        let steep = "Steeper than proportional (above 1.15): one agent's 100, PostgreSQL.";
        assert!(text.contains(steep), "{text}");
    }

    #[test]
    fn a_size_that_fails_ends_the_series_unless_it_is_the_first() {
        let until = |max: u64| {
            Series::measure("SQLite", move |size| {
                anyhow::ensure!(size.parse::<u64>()? < max, "too many");
                Ok(BTreeMap::from([("agent_ms".to_owned(), 1.0)]))
            })
        };
        let ended = until(100_000).unwrap();
        assert_eq!(ended.points.len(), 2);
        let text = SKILLS.table(&[ended]);
        assert!(text.contains("100k could not be measured on SQLite."), "{text}");
        assert!(until(1_000).is_err());
    }
}
