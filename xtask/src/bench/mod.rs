//! `cargo xtask bench`: runs the benchmarks and writes their results, with the machine they ran on, into
//! docs/benchmarks.md and docs/scaling.md. A section of those pages is the text between two comments
//! that name it.

mod corpus;
mod growth;
mod protocol;
mod scaling;
mod servers;
mod sink;
mod stack;
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

/// Measures a section and returns its text.
type Measure = fn() -> Result<String>;

const SECTIONS: [(&str, Measure); 12] = [
    ("stack", stack::measure),
    ("servers", servers::measure),
    ("scale", scale),
    ("growth", growth::measure),
    ("steps", steps),
    ("store", store),
    ("description", description),
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
        "[The benchmark](../crates/knowledge/benches/scale.rs) gives every node a random vector: \
         the times are those of real ones.\n\n\
         | | |\n|---|---|\n\
         | read and index by keyword | {read_s:.1} s |\n\
         | embed a task, median / 95th percentile | {embed_p50_ms:.1} / {embed_p95_ms:.1} ms |\n\
         | `discover_context` for it, which includes that | {discover_p50_ms:.1} / {discover_p95_ms:.1} ms |\n\
         | the same as a multiple | {:.2} / {:.2} |\n\
         | memory | {memory_mb} MB |\n",
        discover_p50_ms / embed_p50_ms,
        discover_p95_ms / embed_p95_ms,
    ))
}

fn steps() -> Result<String> {
    Ok(format!(
        "2,000 files with 16,000 sections ([the benchmark](../crates/knowledge/benches/index.rs)): \
         `open` reads and indexes all of them by keyword from nothing, `sync_nothing` finds that \
         nothing changed, `sync_one_edit` reads one edited file, `search_keyword` answers one \
         query.\n\n{}\n\
         The embedding model ([the benchmark](../crates/embed/benches/embed.rs)):\n\n{}\n\
         The catalog ([the benchmark](../crates/catalog/benches/lookup.rs)): loading it, and one \
         lookup by name, by alias, and by words that are ranked by similarity:\n\n{}",
        divan_table(&bench("index")?),
        divan_table(&bench("embed")?),
        divan_table(&bench("lookup")?),
    ))
}

fn store() -> Result<String> {
    Ok(format!(
        "The registry ([the benchmark](../crates/store/benches/registry.rs)), on both databases; \
         PostgreSQL with its default settings, so that every answered write has reached the disk:\n\n\
         ```text\n{}\n```\n\n\
         Recording reported calls ([the benchmark](../crates/store/benches/gaps.rs)); each batch is on \
         the disk before it is acknowledged:\n\n{}",
        bench("registry")?.trim(),
        divan_table(&bench("gaps")?),
    ))
}

fn description() -> Result<String> {
    Ok(format!(
        "The server's description of itself ([the benchmark](../crates/mcp/benches/capabilities.rs)), \
         10,000 reads of each resource:\n\n```text\n{}\n```\n\n\
         A thousand contents of twenty lines generated, and generated and assembled into one file \
         ([the benchmark](../crates/compose/benches/generate.rs)); every version and the file are on \
         the disk when it ends:\n\n{}",
        bench("capabilities")?.trim_end(),
        divan_table(&bench("generate")?),
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
    let mut table = "10,000 nodes in 1,250 files, 100,000 calls recorded over thirty days and some \
         6,000 gaps from them ([the benchmark](../crates/kenning/benches/page.rs)). One client requests \
         each page over loopback, 200 times after three to warm up, and waits for the last byte. The \
         goal is less than 50 ms.\n\n\
         | page | median | 99th percentile | kB |\n|---|---|---|---|\n"
        .to_owned();
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

/// The table in divan's output.
fn divan_table(output: &str) -> String {
    let lines: Vec<&str> = output.lines().skip_while(|line| !line.contains("fastest")).collect();
    format!("```text\n{}\n```\n", lines.join("\n").trim_end())
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
