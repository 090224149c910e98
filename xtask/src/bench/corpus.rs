//! Real Markdown that is available wherever this workspace builds: READMEs of its dependencies.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use cargo_metadata::MetadataCommand;

use crate::run::root;

const FILES: usize = 250;
const MAX_BYTES: u64 = 20_000;

pub(super) struct Corpus {
    pub(super) files: Vec<PathBuf>,
    pub(super) questions: Vec<Question>,
}

/// A sentence, and the names (without `.md`) of the files that contain it.
pub(super) struct Question {
    pub(super) text: String,
    pub(super) from: Vec<String>,
}

/// At most so many files, and so many of their sentences, evenly chosen from all.
pub(super) fn gather(folder: &Path, files: usize, questions: usize) -> Result<Corpus> {
    let files = evenly(copy_readmes(&folder.join("corpus"))?, files);
    let texts = files.iter().map(fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    let sentences = texts.iter().flat_map(|text| text.lines().filter_map(sentence)).collect();
    let questions = evenly(sentences, questions).into_iter().map(|text: String| {
        let containing = files.iter().zip(&texts).filter(|(_, whole)| whole.contains(&text));
        let from = containing.filter_map(|(file, _)| file.file_stem());
        let from = from.map(|name| name.to_string_lossy().into_owned()).collect();
        Question { text, from }
    });
    Ok(Corpus { questions: questions.collect(), files })
}

/// The READMEs of the dependencies, without the largest.
fn copy_readmes(folder: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).exec()?;
    let mut packages: Vec<_> = metadata.packages.iter().filter(|p| p.source.is_some()).collect();
    packages.sort_by_key(|package| (package.name.to_string(), package.version.clone()));
    let mut copies = Vec::new();
    for package in packages {
        let Some(readme) = &package.readme else { continue };
        let path = package.manifest_path.with_file_name("").join(readme);
        let is_small = fs::metadata(&path).is_ok_and(|file| file.len() <= MAX_BYTES);
        if copies.len() < FILES && is_small && fs::read_to_string(&path).is_ok() {
            let copy = folder.join(format!("{}-{}.md", package.name, package.version));
            fs::copy(path, &copy)?;
            copies.push(copy);
        }
    }
    ensure!(copies.len() == FILES, "only {} dependencies have a README", copies.len());
    Ok(copies)
}

fn evenly<T>(all: Vec<T>, count: usize) -> Vec<T> {
    let step = (all.len() / count).max(1);
    all.into_iter().step_by(step).take(count).collect()
}

/// A line of prose that is as long as an agent's query.
fn sentence(line: &str) -> Option<String> {
    let is_prose = line.starts_with(char::is_uppercase) && line.ends_with('.');
    let words = line.split_whitespace().count();
    (is_prose && (8..=20).contains(&words)).then(|| line.to_owned())
}
