//! `cargo xtask fit`: fits the model of relevance on labelled sets, writes its coefficients, and reports
//! how it does on every set when that set was left out of the fit.

pub(crate) mod documents;
mod figures;
mod logistic;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use self::figures::Figures;
use self::logistic::{Fitted, Observation, fit};
use crate::bench::write_section;
use crate::run::{read, root, target};
use crate::server::Build;

const COEFFICIENTS: &str = "crates/knowledge/src/relevance/coefficients.json";
/// What the weights of one question without an answer add up to, if one with an answer has 1. They are as
/// many as the others in the sets and rarer in practice.
const ABSENT: f64 = 0.1;
/// The same for a question whose answers were taken away.
const REMOVED: f64 = 0.05;
/// Sets whose questions were written to share no words with their answers count less: they are harder than
/// what people ask.
const HARD: [(&str, f64); 3] = [("mcp-tools", 0.3), ("skills", 0.4), ("commands", 0.6)];

/// Features that a model does without: it has no vectors, or the feature says nothing that `share` does not,
/// and gets a weight of the wrong sign.
const LEFT_OUT: [(&str, &str); 3] =
    [("hybrid", "title"), ("keyword", "surprise"), ("keyword", "coverage")];

/// One question: its candidates with their features and labels.
#[derive(Debug, Deserialize)]
struct Question {
    /// `hybrid`, or `keyword` as before vectors are computed.
    model: String,
    removed: bool,
    absent: Option<String>,
    answers: usize,
    features: Vec<String>,
    candidates: Vec<(bool, Vec<f64>)>,
}

struct Set {
    name: String,
    questions: Vec<Question>,
}

/// Fits on the sets in `data/fit` and the given folders, and reports on each.
pub(crate) fn run(folders: &[&str]) -> Result<()> {
    Build::Debug.compile()?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(root().join("data/fit"))? {
        paths.push(entry?.path());
    }
    paths.sort();
    paths.extend(folders.iter().map(PathBuf::from));
    let work = target().join("fit");
    fs::create_dir_all(&work)?;
    let mut sets = Vec::new();
    for path in &paths {
        sets.push(Set::measure(path, &work)?);
    }
    let mut coefficients = json!({
        "command": "cargo xtask fit",
        "embedding_model": "all-MiniLM-L6-v2",
        "sets": sets.iter().map(|set| set.name.clone()).collect::<Vec<_>>(),
    });
    let mut table = Figures::head();
    for model in ["hybrid", "keyword"] {
        let features = feature_names(&sets)?;
        let used: Vec<bool> =
            features.iter().map(|name| !LEFT_OUT.contains(&(model, name.as_str()))).collect();
        for left_out in &sets {
            let others: Vec<&Set> = sets.iter().filter(|set| set.name != left_out.name).collect();
            let fitted = fit(&observations(&others, model), &used);
            let figures = Figures::of(&left_out.name, &left_out.of(model), &fitted);
            println!("{model:8} {}", figures.row());
            if model == "hybrid" {
                table += &figures.row();
            }
        }
        let all: Vec<&Set> = sets.iter().collect();
        coefficients[model] = written(&fit(&observations(&all, model), &used), &features, &used);
    }
    let path = root().join(COEFFICIENTS);
    fs::write(&path, format!("{}\n", serde_json::to_string_pretty(&coefficients)?))?;
    write_section("docs/search.md", "fit", &table)
}

impl Set {
    /// Asks Kenning for the features of all candidates of a set.
    fn measure(folder: &Path, work: &Path) -> Result<Self> {
        let name = folder.file_name().context("a set has a name")?.to_string_lossy().into_owned();
        let features = work.join(format!("{name}.jsonl"));
        println!("measuring {name}");
        let mut kenning = Build::Debug.kenning(work);
        kenning.args(["--json", "eval", "retrieval"]).arg(folder);
        kenning.arg("--features").arg(&features);
        if let Some(documents) = documents::fetch(folder)? {
            kenning.arg("--documents").arg(documents);
        }
        read(&mut kenning)?;
        let text = fs::read_to_string(&features)?;
        let questions = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Self { name, questions })
    }

    fn of(&self, model: &str) -> Vec<&Question> {
        self.questions.iter().filter(|question| question.model == model).collect()
    }
}

fn feature_names(sets: &[Set]) -> Result<Vec<String>> {
    let mut all = sets.iter().flat_map(|set| &set.questions).map(|question| &question.features);
    let first = all.next().context("there is no question")?.clone();
    ensure!(all.all(|names| *names == first), "the sets were measured by different versions");
    Ok(first)
}

/// Every set counts the same, whatever its size.
fn observations<'a>(sets: &[&'a Set], model: &str) -> Vec<Observation<'a>> {
    let mut observations = Vec::new();
    for set in sets {
        let questions = set.of(model);
        let answerable = questions.iter().filter(|q| q.absent.is_none() && !q.removed).count();
        let hard = HARD.iter().find(|(name, _)| *name == set.name).map_or(1.0, |(_, w)| *w);
        for question in questions {
            let kind = match (&question.absent, question.removed) {
                (Some(_), _) => ABSENT,
                (None, true) => REMOVED,
                (None, false) => 1.0,
            };
            let weight = 1000.0 * hard * kind / answerable.max(1) as f64;
            observations.extend(question.candidates.iter().map(|(is_relevant, features)| {
                Observation { features, is_relevant: *is_relevant, weight }
            }));
        }
    }
    observations
}

/// Four digits are more than the sets can tell apart.
fn written(fitted: &Fitted, features: &[String], used: &[bool]) -> Value {
    let rounded = |value: f64| (value * 1e4).round() / 1e4;
    let weights = features.iter().zip(&fitted.weights).zip(used);
    let weights: serde_json::Map<String, Value> = weights
        .filter(|(_, used)| **used)
        .map(|((name, weight), _)| (name.clone(), json!(rounded(*weight))))
        .collect();
    json!({ "intercept": rounded(fitted.intercept), "weights": weights })
}
