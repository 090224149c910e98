//! Real Markdown that is available wherever this workspace builds: READMEs of its dependencies.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use cargo_metadata::MetadataCommand;

use crate::run::root;

const FILES: usize = 250;
const QUERIES: usize = 150;
const MAX_BYTES: u64 = 20_000;

pub(super) struct Corpus {
    pub(super) folder: PathBuf,
    pub(super) queries: Vec<String>,
    pub(super) queries_file: PathBuf,
}

/// The READMEs of the dependencies, without the largest, and sentences of them as queries.
pub(super) fn gather(folder: &Path) -> Result<Corpus> {
    let corpus = folder.join("corpus");
    fs::create_dir_all(&corpus)?;
    let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).exec()?;
    let mut packages: Vec<_> = metadata.packages.iter().filter(|p| p.source.is_some()).collect();
    packages.sort_by_key(|package| (package.name.to_string(), package.version.clone()));
    let (mut files, mut sentences) = (0, Vec::new());
    for package in packages {
        let Some(readme) = &package.readme else { continue };
        let path = package.manifest_path.with_file_name("").join(readme);
        let small = fs::metadata(&path).is_ok_and(|file| file.len() <= MAX_BYTES);
        let Some(text) = small.then(|| fs::read_to_string(&path).ok()).flatten() else { continue };
        sentences.extend(text.lines().filter_map(sentence));
        fs::write(corpus.join(format!("{}-{}.md", package.name, package.version)), text)?;
        files += 1;
        if files == FILES {
            break;
        }
    }
    ensure!(sentences.len() >= QUERIES, "only {} sentences were found", sentences.len());
    let step = sentences.len() / QUERIES;
    let queries: Vec<String> = sentences.into_iter().step_by(step).take(QUERIES).collect();
    let queries_file = folder.join("queries.json");
    fs::write(&queries_file, serde_json::to_string(&queries)?)?;
    Ok(Corpus { folder: corpus, queries, queries_file })
}

/// Fewer files, for benchmarks that would take too long on all of them.
pub(super) struct Sample {
    pub(super) files: Vec<PathBuf>,
    pub(super) questions: Vec<Question>,
}

/// A sentence, and the names (without `.md`) of the files that hold it.
pub(super) struct Question {
    pub(super) text: String,
    pub(super) from: Vec<String>,
}

impl Corpus {
    /// So many files from all over the corpus, and so many of their sentences.
    pub(super) fn sample(&self, files: usize, questions: usize) -> Result<Sample> {
        let mut all: Vec<PathBuf> =
            fs::read_dir(&self.folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        all.sort();
        let step = (all.len() / files).max(1);
        let files: Vec<PathBuf> = all.into_iter().step_by(step).take(files).collect();
        let texts = files.iter().map(fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
        let sentences: Vec<String> =
            texts.iter().flat_map(|text| text.lines().filter_map(sentence)).collect();
        let step = (sentences.len() / questions).max(1);
        let questions = sentences.into_iter().step_by(step).take(questions).map(|text| {
            let holding = files.iter().zip(&texts).filter(|(_, whole)| whole.contains(&text));
            let from = holding.filter_map(|(file, _)| file.file_stem());
            let from = from.map(|name| name.to_string_lossy().into_owned()).collect();
            Question { text, from }
        });
        Ok(Sample { questions: questions.collect(), files })
    }
}

/// A line of prose that is as long as an agent's query.
fn sentence(line: &str) -> Option<String> {
    let is_prose = line.starts_with(char::is_uppercase) && line.ends_with('.');
    let words = line.split_whitespace().count();
    (is_prose && (8..=20).contains(&words)).then(|| line.to_owned())
}
