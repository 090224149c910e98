//! What an agent reads until it has the right section: with `discover_context`, and by searching the files
//! for the question's words and reading the best ones.

use std::fs;

use anyhow::Result;
use serde::Deserialize;

use crate::fit::documents;
use crate::run::{read, root, target};
use crate::server::Build;

#[derive(Deserialize)]
struct Evaluation {
    questions: usize,
    read_by_words: Reading,
    read_by_discovery: Reading,
}

#[derive(Deserialize)]
struct Reading {
    median_tokens: usize,
    mean_tokens: usize,
    p90_tokens: usize,
    never: f64,
}

pub(super) fn measure() -> Result<String> {
    Build::Debug.compile()?;
    let work = target().join("fit");
    fs::create_dir_all(&work)?;
    let mut sets: Vec<_> = fs::read_dir(root().join("data/fit"))?.collect::<Result<_, _>>()?;
    sets.sort_by_key(fs::DirEntry::file_name);
    let mut table = "| base | questions | files by words: median / mean / 90 % tokens, never | \
                     `discover_context`: median / mean / 90 % tokens, never |\n|---|---|---|---|\n"
        .to_owned();
    for set in sets {
        // The others have no files.
        let Some(documents) = documents::fetch(&set.path())? else { continue };
        let mut kenning = Build::Debug.kenning(&work);
        kenning.args(["--json", "eval", "retrieval"]).arg(set.path());
        let answer: Evaluation =
            serde_json::from_str(&read(kenning.arg("--documents").arg(documents))?)?;
        let cell = |reading: &Reading| {
            let Reading { median_tokens, mean_tokens, p90_tokens, never } = reading;
            format!("{median_tokens} / {mean_tokens} / {p90_tokens}, {:.0} %", never * 100.0)
        };
        table += &format!(
            "| {} | {} | {} | {} |\n",
            set.file_name().to_string_lossy(),
            answer.questions,
            cell(&answer.read_by_words),
            cell(&answer.read_by_discovery)
        );
    }
    Ok(table)
}
