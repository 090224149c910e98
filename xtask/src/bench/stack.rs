//! Kenning beside the Python stack that knowledge servers are usually built on.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::corpus::{self, Corpus};
use super::{folder, percentile, table_head};
use crate::client::StdioClient;
use crate::external;
use crate::process;
use crate::run::{read, root};
use crate::server::Build;

const SESSION_LIMIT: Duration = Duration::from_mins(15);
const UNTIL_IDLE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(10);

/// What one system took for the same work.
#[derive(Debug, Deserialize)]
struct Measured {
    index_s: f64,
    query_p50_ms: f64,
    memory_mb: f64,
    edit_s: f64,
    /// From the start of the process to the first answer, on an existing index.
    #[serde(default)]
    first_answer_s: f64,
}

pub(super) fn measure() -> Result<String> {
    Build::Release.compile()?;
    let python = external::stack_python()?;
    let folder = folder()?;
    let corpus = corpus::gather(folder.path())?;
    let systems = [
        kenning(&corpus, folder.path())?,
        reference(&python, "onnx", &corpus, folder.path())?,
        reference(&python, "torch", &corpus, folder.path())?,
    ];
    Ok(table(&systems))
}

fn kenning(corpus: &Corpus, folder: &Path) -> Result<Measured> {
    let command = |words: &[&str]| {
        let mut command = Build::Release.kenning(folder);
        command.arg("--root").arg(&corpus.folder).args(["--log-level", "error"]).args(words);
        command
    };
    let began = Instant::now();
    read(&mut command(&["index", "--embed"]))?;
    let index_s = began.elapsed().as_secs_f64();

    let began = Instant::now();
    let mut client = StdioClient::start(command(&["serve"]).stderr(Stdio::null()), SESSION_LIMIT)?;
    search_all(&mut client, &corpus.queries[0])?;
    let first_answer_s = began.elapsed().as_secs_f64();

    let mut times = Vec::new();
    for query in &corpus.queries {
        let began = Instant::now();
        search(&mut client, query)?;
        times.push(began.elapsed());
    }
    times.sort();

    std::thread::sleep(UNTIL_IDLE);
    let memory_mb = process::memory_mb(client.pid());

    let file = fs::read_dir(&corpus.folder)?.next().context("the corpus is empty")??.path();
    let before = fs::read_to_string(&file)?;
    let edit = "\n## An edit\nA paragraph about zebra-striped canary rollouts.\n";
    let began = Instant::now();
    fs::write(&file, before.clone() + edit)?;
    let query = "zebra-striped canary rollouts";
    while !search_all(&mut client, query)?.to_string().contains("An edit") {
        std::thread::sleep(POLL);
    }
    let edit_s = began.elapsed().as_secs_f64();
    fs::write(&file, before)?;
    let query_p50_ms = percentile(&times, 50) * 1e3;
    Ok(Measured { index_s, query_p50_ms, memory_mb, edit_s, first_answer_s })
}

fn search(client: &mut StdioClient, query: &str) -> Result<Value> {
    client.call("search_knowledge", &json!({"query": query}))?.ok()
}

/// Repeats a search until it used all vectors.
fn search_all(client: &mut StdioClient, query: &str) -> Result<Value> {
    loop {
        let answer = search(client, query)?;
        if answer.get("message").is_none() {
            return Ok(answer);
        }
        std::thread::sleep(POLL);
    }
}

/// The Python stack, which measures itself except for its start.
fn reference(python: &Path, form: &str, corpus: &Corpus, folder: &Path) -> Result<Measured> {
    let state = folder.join(format!("{form}.pickle"));
    let program = || {
        let mut command = Command::new(python);
        command.arg(root().join("xtask/peers/reference.py"));
        command.env("MINILM_ONNX", root().join("crates/embed/model/minilm-l6-v2-int8.onnx"));
        command
    };
    let mut index = program();
    index.args(["index", form]).arg(&corpus.folder).arg(&corpus.queries_file).arg(&state);
    let printed = read(&mut index)?;
    let mut measured: Measured = serde_json::from_str(printed.lines().last().unwrap_or_default())
        .context("reference.py printed no measurement")?;
    let began = Instant::now();
    read(program().args(["answer", form]).arg(&state).arg(&corpus.queries[0]))?;
    measured.first_answer_s = began.elapsed().as_secs_f64();
    Ok(measured)
}

fn table([ours, peers @ ..]: &[Measured; 3]) -> String {
    let row = |what: &str, unit: &str, of: fn(&Measured) -> f64| {
        let mut row = format!("| {what} | {:.3} {unit} |", of(ours));
        for peer in peers {
            row += &format!(" {:.3} {unit} ({:.1}×) |", of(peer), of(peer) / of(ours));
        }
        row + "\n"
    };
    format!(
        "{}{}{}{}{}{}",
        table_head(&["Kenning", "Python, 8-bit", "Python, torch"]),
        row("index from nothing", "s", |m| m.index_s),
        row("hybrid query, median", "ms", |m| m.query_p50_ms),
        row("start to first answer, index exists", "s", |m| m.first_answer_s),
        row("one section edited, until found", "s", |m| m.edit_s),
        row("memory when idle", "MB", |m| m.memory_mb),
    )
}
