//! The usual Python stack, in one of its two forms.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use super::corpus::Corpus;
use super::{Measured, last_line};
use crate::run::{read, root};

pub(super) fn measure(
    python: &Path,
    form: &str,
    corpus: &Corpus,
    folder: &Path,
) -> Result<Measured> {
    let state: PathBuf = folder.join(format!("{form}.pickle"));
    let program = || {
        let mut command = Command::new(python);
        command.arg(root().join("xtask/peers/reference.py"));
        command.env("MINILM_ONNX", root().join("crates/embed/model/minilm-l6-v2-int8.onnx"));
        command
    };
    let mut index = program();
    index.args(["index", form]).arg(&corpus.folder).arg(&corpus.queries_file).arg(&state);
    let printed = read(&mut index)?;
    let mut measured: Measured =
        serde_json::from_str(last_line(&printed)).context("the peer printed no measurement")?;
    let started = Instant::now();
    read(program().args(["answer", form]).arg(&state).arg(&corpus.queries[0]))?;
    measured.first_answer_s = started.elapsed().as_secs_f64();
    Ok(measured)
}
