//! Kenning beside the Python stack that knowledge servers are usually built on.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::corpus::{self, Corpus};
use super::servers::{self, peers};
use super::{folder, table_head};
use crate::external;
use crate::run::{read, root};
use crate::server::Build;

const FILES: usize = 250;
const QUESTIONS: usize = 150;

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
    let corpus = corpus::gather(folder.path(), FILES, QUESTIONS)?;
    let kenning = peers::kenning(&peers::Place::new(folder.path(), "kenning", &corpus)?)?;
    let kenning = servers::row(kenning, &corpus, folder.path())?;
    let kenning = Measured {
        index_s: kenning.index.wall_s,
        query_p50_ms: kenning.query_p50_ms,
        memory_mb: kenning.memory_mb,
        edit_s: kenning.edit_s,
        first_answer_s: kenning.first_answer_s,
    };
    let onnx = reference(&python, "onnx", &corpus, folder.path())?;
    let torch = reference(&python, "torch", &corpus, folder.path())?;
    Ok(table(&[kenning, onnx, torch]))
}

/// The Python stack, which measures itself except for its start.
fn reference(python: &Path, form: &str, corpus: &Corpus, folder: &Path) -> Result<Measured> {
    let queries: Vec<&str> =
        corpus.questions.iter().map(|question| question.text.as_str()).collect();
    let (state, queries_file) =
        (folder.join(format!("{form}.pickle")), folder.join("queries.json"));
    fs::write(&queries_file, serde_json::to_string(&queries)?)?;
    let program = || {
        let mut command = Command::new(python);
        command.arg(root().join("xtask/peers/reference.py"));
        command.env("MINILM_ONNX", root().join("crates/embed/model/minilm-l6-v2-int8.onnx"));
        command
    };
    let mut index = program();
    index.args(["index", form]).arg(folder.join("corpus")).arg(&queries_file).arg(&state);
    let printed = read(&mut index)?;
    let mut measured: Measured = serde_json::from_str(printed.lines().last().unwrap_or_default())
        .context("reference.py printed no measurement")?;
    let began = Instant::now();
    read(program().args(["answer", form]).arg(&state).arg(queries[0]))?;
    measured.first_answer_s = began.elapsed().as_secs_f64();
    Ok(measured)
}

fn table([ours, peers @ ..]: &[Measured; 3]) -> String {
    let mut out = table_head(&["Kenning", "Python, 8-bit", "Python, torch"]);
    let mut row = |what: &str, unit: &str, of: fn(&Measured) -> f64| {
        out += &format!("| {what} | {:.3} {unit} |", of(ours));
        for peer in peers {
            out += &format!(" {:.3} {unit} ({:.1}×) |", of(peer), of(peer) / of(ours));
        }
        out += "\n";
    };
    row("index from nothing", "s", |m| m.index_s);
    row("hybrid query, median", "ms", |m| m.query_p50_ms);
    row("start to first answer, index exists", "s", |m| m.first_answer_s);
    row("one section edited, until found", "s", |m| m.edit_s);
    row("memory when idle", "MB", |m| m.memory_mb);
    out
}
