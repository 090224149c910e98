//! Evaluation sets: documents and questions with known answers.
//!
//! A set is a folder. `questions.jsonl` has the questions with their answers; the documents are in
//! `corpus.jsonl`, one node each, or are the Markdown files of a folder. A folder in the form of BEIR
//! data sets (`corpus.jsonl`, `queries.jsonl`, `qrels.jsonl`) is a set, too.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use kenning_knowledge::evaluate::Judged;
use kenning_knowledge::path::RelPath;
use kenning_knowledge::{Base, Document, Library, Snapshot};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Context;
use crate::failure::Failure;

const FORMS: &str = "a set is a folder with questions.jsonl and Markdown files or corpus.jsonl, or with \
                     corpus.jsonl, queries.jsonl and qrels.jsonl; `eval mine` takes one file";

pub(super) struct Set {
    pub(super) library: Arc<Library>,
    pub(super) questions: Vec<Judged>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct Judgement {
    #[serde(alias = "query-id")]
    query_id: String,
    #[serde(alias = "corpus-id")]
    corpus_id: String,
    score: f64,
}

#[derive(Deserialize)]
struct Line {
    id: String,
    #[serde(default)]
    why: Option<String>,
    text: String,
    #[serde(default)]
    answers: Vec<Answer>,
}

/// An entry of `corpus.jsonl`, or a section of a file by its heading or its line.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Entry {
        id: String,
    },
    Section {
        path: String,
        #[serde(default)]
        heading: String,
        line: Option<usize>,
    },
}

impl Set {
    /// Reads a set; `documents` is the folder of its Markdown files, if they are elsewhere.
    pub(super) fn open(
        context: &Context,
        folder: &Path,
        documents: Option<&Path>,
    ) -> Result<Self, Failure> {
        for folder in std::iter::once(folder).chain(documents) {
            if !folder.is_dir() {
                return Err(
                    Failure::usage(format!("`{}` is not a folder", folder.display())).hint(FORMS)
                );
            }
        }
        let mut paths = HashMap::new();
        let library = if folder.join("corpus.jsonl").exists() {
            let corpus: Vec<Entry> = lines(&folder.join("corpus.jsonl"))?;
            // Paths are numbers, because the ids of a set may hold any character.
            let numbered = corpus.iter().enumerate();
            paths.extend(numbered.map(|(n, entry)| (entry.id.clone(), format!("{n}.md"))));
            let documents = corpus.iter().map(|entry| {
                let path = RelPath::parse(&paths[&entry.id]).expect("a number is a path");
                Document::single(path, &entry.title, &entry.text)
            });
            Library::of_documents(base(folder)?, documents.collect())?
        } else {
            Library::open(vec![base(documents.unwrap_or(folder))?], &|_, _| {})?
        };
        let library = Arc::new(library);
        let store = context.open_store()?;
        context.embed(&library, Context::vector_cache(store.as_ref()))?;
        let questions = if folder.join("questions.jsonl").exists() {
            questions(folder, &library.snapshot(), &paths)?
        } else {
            judged(folder, &paths)?
        };
        Ok(Self { library, questions })
    }
}

fn base(folder: &Path) -> Result<Base, Failure> {
    Base::new("evaluation", folder, &["**/*.md".to_owned()], &[])
        .map_err(|error| Failure::usage(error.to_string()).hint(error.hint()))
}

fn questions(
    folder: &Path,
    snapshot: &Snapshot,
    paths: &HashMap<String, String>,
) -> Result<Vec<Judged>, Failure> {
    let file = folder.join("questions.jsonl");
    let lines: Vec<Line> = lines(&file)?;
    let mut questions = Vec::with_capacity(lines.len());
    for line in lines {
        let mut answers = HashMap::new();
        for answer in &line.answers {
            let path = match answer {
                Answer::Entry { id } => paths.get(id).cloned(),
                Answer::Section { path, heading, line } => section(snapshot, path, heading, *line),
            };
            let path = path.ok_or_else(|| {
                Failure::usage(format!(
                    "{}: question `{}` names an answer that is not there",
                    file.display(),
                    line.id
                ))
                .hint("an answer is {\"id\": …} or {\"path\": …, \"heading\": …}")
            })?;
            answers.insert(path, 1.0);
        }
        let absent = answers.is_empty().then(|| line.why.unwrap_or_else(|| "absent".to_owned()));
        questions.push(Judged { question: line.text, absent, relevant: answers });
    }
    Ok(questions)
}

/// A question about one's own bases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnQuestion {
    pub(super) text: String,
    /// Empty if nothing should answer it.
    #[serde(default)]
    pub(super) answers: Vec<OwnAnswer>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnAnswer {
    path: String,
    #[serde(default)]
    heading: String,
}

impl OwnAnswer {
    /// The path of the node; `None` if it is not there.
    pub(super) fn path_in(&self, snapshot: &Snapshot) -> Option<String> {
        section(snapshot, &self.path, &self.heading, None)
    }
}

impl std::fmt::Display for OwnAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.heading.as_str() {
            "" => write!(f, "`{}`", self.path),
            heading => write!(f, "`{}`, \"{heading}\",", self.path),
        }
    }
}

pub(super) fn own_questions(file: &Path) -> Result<Vec<OwnQuestion>, Failure> {
    let questions: Vec<OwnQuestion> = lines(file)?;
    if questions.is_empty() {
        return Err(Failure::usage(format!("`{}` has no question", file.display())).hint(
            "write one line of JSON for each question; `kenning eval mine --help` shows one",
        ));
    }
    Ok(questions)
}

/// The path of the section that begins at this line, or else has this heading.
fn section(snapshot: &Snapshot, path: &str, heading: &str, line: Option<usize>) -> Option<String> {
    let root = snapshot.resolve(path).ok()?;
    let wanted = folded(heading);
    let at_line = |line| root.subtree().find(|node| node.section().line == line);
    let named = || root.subtree().find(|node| folded(node.title()) == wanted);
    match line.and_then(at_line) {
        Some(node) => Some(node.path()),
        None if wanted.is_empty() => Some(root.path()),
        None => Some(named()?.path()),
    }
}

/// Letters and digits alone: authors decorate headings.
fn folded(heading: &str) -> String {
    heading.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The queries of a BEIR set that have at least one relevant document.
fn judged(folder: &Path, paths: &HashMap<String, String>) -> Result<Vec<Judged>, Failure> {
    let mut relevant: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for judgement in lines::<Judgement>(&folder.join("qrels.jsonl"))? {
        if let Some(path) = paths.get(&judgement.corpus_id)
            && judgement.score > 0.0
        {
            let answers = relevant.entry(judgement.query_id).or_default();
            answers.insert(path.clone(), judgement.score);
        }
    }
    let queries: Vec<Entry> = lines(&folder.join("queries.jsonl"))?;
    let mut seen = HashSet::new();
    let judged = queries.into_iter().filter(|query| seen.insert(query.id.clone()));
    let judged = judged.filter_map(|query| {
        let relevant = relevant.remove(&query.id)?;
        Some(Judged { question: query.text, absent: None, relevant })
    });
    Ok(judged.collect())
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("cannot read `{}`: {error}", path.display())).hint(FORMS)
    })?;
    let parse = |(n, line): (usize, &str)| {
        serde_json::from_str(line)
            .map_err(|error| Failure::usage(format!("{}:{}: {error}", path.display(), n + 1)))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(parse).collect()
}
