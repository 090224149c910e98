//! Measures, and writes down what was measured, and on what.

mod corpus;
mod cpu;
mod growth;
mod ours;
mod peer;
mod plot;
mod protocol;
mod queueing;
mod scaling;
mod servers;
mod session;
mod sink;
mod tree;
mod wrap;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::run::{cargo_command, read, root};
use crate::{browser, outside};

/// What one system took for the same work.
#[derive(Debug, Deserialize)]
struct Measured {
    index_s: f64,
    query_p50_ms: f64,
    memory_mb: f64,
    edit_s: f64,
    /// From the start of the process to the first answer, on an index that exists.
    #[serde(default)]
    first_answer_s: f64,
}

/// What 100,000 nodes take, from the benchmark of that name.
#[derive(Debug, Deserialize)]
struct Scale {
    read_s: f64,
    embed_p50_ms: f64,
    embed_p95_ms: f64,
    discover_p50_ms: f64,
    discover_p95_ms: f64,
    memory_mb: usize,
}

/// Measures a part of the page, and says what it found.
type Measure = fn() -> Result<String>;

const SECTIONS: [(&str, Measure); 12] = [
    ("stack", stack),
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

/// The page that a section stands on.
fn page_of(section: &str) -> &'static str {
    match section {
        "scaling" => "docs/scaling.md",
        _ => "docs/benchmarks.md",
    }
}

/// Measures these sections, or all, and writes them into their pages.
pub(crate) fn run(wanted: &[&str]) -> Result<()> {
    let known = SECTIONS.map(|(name, _)| name);
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(name)) {
        bail!("there is no section `{unknown}`; there is {}", known.join(", "));
    }
    for (name, measure) in SECTIONS {
        if wanted.is_empty() || wanted.contains(&name) {
            let path = root().join(page_of(name));
            let measured = format!("Machine: {}.\n\n{}", machine(), measure()?.trim());
            fs::write(&path, replaced(&fs::read_to_string(&path)?, name, &measured)?)?;
        }
    }
    Ok(())
}

/// The page with another text between a section's marks.
fn replaced(page: &str, name: &str, text: &str) -> Result<String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("\n<!-- /{name} -->"));
    let marks = page.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let (before, after) = marks.with_context(|| format!("the page has no section `{name}`"))?;
    Ok(format!("{before}{begin}{text}{end}{after}"))
}

fn stack() -> Result<String> {
    crate::build_release()?;
    let python = outside::python()?;
    let folder = Folder::new()?;
    let corpus = corpus::gather(folder.path())?;
    let mut systems = vec![("Kenning", ours::measure(&corpus, folder.path())?)];
    for (name, form) in [("Python, 8-bit", "onnx"), ("Python, torch", "torch")] {
        systems.push((name, peer::measure(&python, form, &corpus, folder.path())?));
    }
    Ok(beside(&corpus, &systems))
}

fn scale() -> Result<String> {
    let scale: Scale = serde_json::from_str(last_line(&bench("scale")?))?;
    Ok(at_scale(&scale))
}

fn steps() -> Result<String> {
    Ok(format!(
        "2,000 files with 16,000 sections ([the benchmark](../crates/knowledge/benches/index.rs)): \
         `open` reads and indexes all of them by keyword from nothing, `sync_nothing` finds that \
         nothing changed, `sync_one_edit` takes in one edited file, `search_keyword` answers one \
         query.\n\n{}\n\
         The embedding model ([the benchmark](../crates/embed/benches/embed.rs)):\n\n{}\n\
         The catalog ([the benchmark](../crates/catalog/benches/lookup.rs)): loading it, and one \
         lookup by name, by alias, and by words that are ranked by their looks:\n\n{}",
        table_of(&bench("index")?),
        table_of(&bench("embed")?),
        table_of(&bench("lookup")?),
    ))
}

fn store() -> Result<String> {
    Ok(format!(
        "The registry ([the benchmark](../crates/store/benches/registry.rs)), on both databases; \
         PostgreSQL with its own settings, so that what it answers has reached the disk:\n\n\
         ```text\n{}\n```\n\n\
         Calls that are taken in ([the benchmark](../crates/store/benches/gaps.rs)), each batch on \
         the disk before it is acknowledged:\n\n{}",
        bench("registry")?.trim(),
        table_of(&bench("gaps")?),
    ))
}

fn description() -> Result<String> {
    Ok(format!(
        "What the server says of itself ([the benchmark](../crates/mcp/benches/capabilities.rs)), \
         10,000 reads of each:\n\n```text\n{}\n```\n\n\
         A thousand contents of twenty lines generated, and generated and assembled into one file \
         ([the benchmark](../crates/compose/benches/generate.rs)); every version and the file are on \
         the disk when it ends:\n\n{}",
        bench("capabilities")?.trim_end(),
        table_of(&bench("generate")?),
    ))
}

/// One page of the server, from the benchmark of that name.
#[derive(Debug, Deserialize)]
struct Asked {
    page: String,
    p50_ms: f64,
    p99_ms: f64,
    bytes: u64,
}

fn page() -> Result<String> {
    let printed = bench("page")?;
    let mut table = "10,000 nodes in 1,250 files, 100,000 calls heard over thirty days and some \
         6,000 gaps from them ([the benchmark](../crates/kenning/benches/page.rs)). One client asks \
         the server for each page over loopback, 200 times after three to warm up, and waits for \
         the last byte. What is aimed at is less than 50 ms.\n\n\
         | page | median | 99th percentile | kB |\n|---|---|---|---|\n"
        .to_owned();
    for line in printed.lines().filter(|line| line.starts_with('{')) {
        let Asked { page, p50_ms, p99_ms, bytes } = serde_json::from_str(line)?;
        let path = page.split('/').map(|part| if part.starts_with("g-") { "ID" } else { part });
        let path = path.collect::<Vec<_>>().join("/");
        table += &format!(
            "| `{path}` | {p50_ms:.1} ms | {p99_ms:.1} ms | {} |\n",
            bytes.div_ceil(1_000)
        );
    }
    Ok(table)
}

fn in_browser() -> Result<String> {
    let parts = outside::install()?;
    crate::build()?;
    browser::check(&parts)?;
    browser::table()
}

fn beside(corpus: &corpus::Corpus, systems: &[(&str, Measured)]) -> String {
    let (_, ours) = &systems[0];
    let row = |what: &str, unit: &str, of: fn(&Measured) -> f64| {
        let mut row = format!("| {what} | {:.3} {unit} |", of(ours));
        for (_, peer) in &systems[1..] {
            row += &format!(" {:.3} {unit} ({:.1}×) |", of(peer), of(peer) / of(ours));
        }
        row + "\n"
    };
    let names: Vec<&str> = systems.iter().map(|(name, _)| *name).collect();
    format!(
        "{} files of Markdown, the READMEs of the crates that this workspace is built from, and \
         {} of their sentences as queries. The Python stack ([the program](../xtask/peers/reference.py)) \
         is MiniLM, FAISS and BM25 with reciprocal rank fusion, called in its own process; Kenning is \
         called as an MCP server over stdio, and its times include that. Its packages: {}. In \
         brackets: how many times as much as Kenning.\n\n\
         | | {} |\n|---|{}\n{}{}{}{}{}",
        corpus.files,
        corpus.queries.len(),
        outside::PYTHON_PACKAGES.map(|package| package.replace("==", " ")).join(", "),
        names.join(" | "),
        "---|".repeat(names.len()),
        row("index from nothing", "s", |m| m.index_s),
        row("hybrid query, median", "ms", |m| m.query_p50_ms),
        row("start to first answer, index exists", "s", |m| m.first_answer_s),
        row("one section edited, until found", "s", |m| m.edit_s),
        row("memory when idle", "MB", |m| m.memory_mb),
    )
}

fn at_scale(scale: &Scale) -> String {
    format!(
        "[The benchmark](../crates/knowledge/benches/scale.rs) gives every node a random vector: \
         the times are those of real ones.\n\n\
         | | |\n|---|---|\n\
         | read and index by keyword | {:.1} s |\n\
         | embed a task, median / 95th percentile | {:.1} / {:.1} ms |\n\
         | `discover_context` for it, which includes that | {:.1} / {:.1} ms |\n\
         | the same as a multiple | {:.2} / {:.2} |\n\
         | memory | {} MB |\n",
        scale.read_s,
        scale.embed_p50_ms,
        scale.embed_p95_ms,
        scale.discover_p50_ms,
        scale.discover_p95_ms,
        scale.discover_p50_ms / scale.embed_p50_ms,
        scale.discover_p95_ms / scale.embed_p95_ms,
        scale.memory_mb,
    )
}

/// With `--workspace`, as everything is built: another selection compiles every dependency anew.
fn bench(name: &str) -> Result<String> {
    read(&mut cargo_command(&["bench", "--workspace", "--bench", name]))
}

fn last_line(text: &str) -> &str {
    text.trim_end().lines().last().unwrap_or_default()
}

fn table_of(output: &str) -> String {
    let lines: Vec<&str> = output.lines().skip_while(|line| !line.contains("fastest")).collect();
    format!("```text\n{}\n```\n", lines.join("\n").trim_end())
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

/// A folder below `target` that is empty at the start and gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        let folder = root().join("target/bench");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder).context("no room for the benchmark")?;
        Ok(Self(folder))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
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
