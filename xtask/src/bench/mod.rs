//! `cargo xtask bench`: runs the benchmarks, and writes the tables of results with the machine they ran
//! on into docs/benchmarks.md and docs/scaling.md. A section of those pages is the text between two
//! comments that name it; what was measured and how is explained around them.

mod corpus;
mod grep;
mod growth;
mod protocol;
mod scaling;
mod servers;
mod sink;
mod stack;
mod start;
mod wrap;

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::run::{cargo_command, read, root, target};
use crate::server::Build;
use crate::{browser, external};

/// Results of a benchmark that prints one line of JSON.
#[derive(Debug, Deserialize)]
struct Scale {
    read_s: f64,
    embed_p50_ms: f64,
    embed_p95_ms: f64,
    discover_p50_ms: f64,
    discover_p95_ms: f64,
    memory_mb: usize,
}

/// Measures a section and returns its tables.
type Measure = fn() -> Result<String>;

const SECTIONS: [(&str, Measure); 14] = [
    ("grep", grep::measure),
    ("start", start::measure),
    ("stack", stack::measure),
    ("servers", servers::measure),
    ("scale", scale),
    ("growth", growth::measure),
    ("steps", || benches(&["index", "embed", "lookup"])),
    ("store", || benches(&["registry", "gaps"])),
    ("description", || benches(&["capabilities", "generate"])),
    ("protocol", protocol::measure),
    ("wrap", wrap::measure),
    ("page", page),
    ("browser", in_browser),
    ("scaling", scaling::measure),
];

fn page_of(section: &str) -> &'static str {
    match section {
        "scaling" => "docs/scaling.md",
        _ => "docs/benchmarks.md",
    }
}

/// Measures the named sections, or all, and writes each into its page.
pub(crate) fn run(wanted: &[&str]) -> Result<()> {
    let known = SECTIONS.map(|(name, _)| name);
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(name)) {
        bail!("unknown section `{unknown}`; the sections are {}", known.join(", "));
    }
    for (name, measure) in SECTIONS {
        if wanted.is_empty() || wanted.contains(&name) {
            let path = root().join(page_of(name));
            let measured = format!("Machine: {}.\n\n{}", machine(), measure()?.trim());
            println!("{measured}");
            fs::write(&path, replaced(&fs::read_to_string(&path)?, name, &measured)?)?;
        }
    }
    Ok(())
}

/// Puts a text into a section of a page.
pub(crate) fn write_section(page: &str, name: &str, text: &str) -> Result<()> {
    let path = root().join(page);
    Ok(fs::write(&path, replaced(&fs::read_to_string(&path)?, name, text.trim())?)?)
}

/// The page with another text in a section.
fn replaced(page: &str, name: &str, text: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("\n<!-- /{name} -->"));
    let parts = page.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let (before, after) = parts.with_context(|| format!("the page has no section `{name}`"))?;
    Ok(format!("{before}{begin}{text}{end}{after}"))
}

fn scale() -> Result<String> {
    let scale: Scale = serde_json::from_str(bench("scale")?.lines().last().unwrap_or_default())?;
    let Scale { read_s, embed_p50_ms, embed_p95_ms, discover_p50_ms, discover_p95_ms, memory_mb } =
        scale;
    Ok(format!(
        "| | |\n|---|---|\n\
         | read and index by keyword | {read_s:.1} s |\n\
         | embed a task, median / 95th percentile | {embed_p50_ms:.1} / {embed_p95_ms:.1} ms |\n\
         | `discover_context` for it, which includes that | {discover_p50_ms:.1} / {discover_p95_ms:.1} ms |\n\
         | the same as a multiple | {:.2} / {:.2} |\n\
         | memory | {memory_mb} MB |\n",
        discover_p50_ms / embed_p50_ms,
        discover_p95_ms / embed_p95_ms,
    ))
}

/// One page of the server, as the benchmark of that name prints it.
#[derive(Debug, Deserialize)]
struct PageTimes {
    page: String,
    p50_ms: f64,
    p99_ms: f64,
    bytes: u64,
}

fn page() -> Result<String> {
    let printed = bench("page")?;
    let mut table = table_head(&["median", "99th percentile", "kB"]);
    for line in printed.lines().filter(|line| line.starts_with('{')) {
        let PageTimes { page, p50_ms, p99_ms, bytes } = serde_json::from_str(line)?;
        let path = page.split('/').map(|part| if part.starts_with("g-") { "ID" } else { part });
        let (path, kb) = (path.collect::<Vec<_>>().join("/"), bytes.div_ceil(1_000));
        table += &format!("| `{path}` | {p50_ms:.1} ms | {p99_ms:.1} ms | {kb} |\n");
    }
    Ok(table)
}

fn in_browser() -> Result<String> {
    let packages = external::test_packages()?;
    Build::Debug.compile()?;
    browser::check(&packages)?;
    browser::table()
}

/// With `--workspace`, as everything is built: another selection compiles every dependency again.
fn bench(name: &str) -> Result<String> {
    read(&mut cargo_command(&["bench", "--workspace", "--bench", name]))
}

/// What benchmarks print, each as a block of text; of divan's output only its table.
fn benches(names: &[&str]) -> Result<String> {
    let block = |name: &&str| {
        let printed = bench(name)?;
        let is_divan = printed.contains("fastest");
        let lines = printed.lines().skip_while(|line| is_divan && !line.contains("fastest"));
        Ok(format!("```text\n{}\n```\n", lines.collect::<Vec<_>>().join("\n").trim()))
    };
    Ok(names.iter().map(block).collect::<Result<Vec<_>>>()?.join("\n"))
}

/// The first lines of a Markdown table.
fn table_head<T: AsRef<str>>(columns: &[T]) -> String {
    let names: Vec<&str> = columns.iter().map(AsRef::as_ref).collect();
    format!("| | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(names.len()))
}

/// The given percentile of sorted times.
fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    sorted[(sorted.len() - 1) * percent / 100].as_secs_f64()
}

fn machine() -> String {
    let of = |path: &str, key: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        line.split(':').nth(1).unwrap_or("unknown").trim().to_owned()
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let processor = of("/proc/cpuinfo", "model name");
    let memory = of("/proc/meminfo", "MemTotal");
    format!("{cores} cores of {processor}, {memory} of memory, {}", std::env::consts::OS)
}

/// A temporary folder on the disk of the build, because `/tmp` may be in memory.
fn folder() -> Result<tempfile::TempDir> {
    Ok(tempfile::Builder::new().prefix("bench").tempdir_in(target())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_has_a_place_on_its_page() {
        for (name, _) in SECTIONS {
            let page = fs::read_to_string(root().join(page_of(name))).unwrap();
            assert!(replaced(&page, name, "measured").unwrap().contains("measured"), "{name}");
        }
    }
}
