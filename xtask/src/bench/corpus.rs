//! Real Markdown that is at hand wherever this workspace builds.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use cargo_metadata::MetadataCommand;

use crate::run::root;

const FILES: usize = 250;
const QUERIES: usize = 150;
const LARGEST: u64 = 20_000;

pub(super) struct Corpus {
    pub(super) folder: PathBuf,
    pub(super) files: usize,
    pub(super) queries: Vec<String>,
    pub(super) queries_file: PathBuf,
}

/// The READMEs of all dependencies, the larger ones cut out.
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
        let small = fs::metadata(&path).is_ok_and(|file| file.len() <= LARGEST);
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
    Ok(Corpus { folder: corpus, files, queries, queries_file })
}

/// A line of prose, as long as what an agent asks.
fn sentence(line: &str) -> Option<String> {
    let is_prose = line.starts_with(char::is_uppercase) && line.ends_with('.');
    let words = line.split_whitespace().count();
    (is_prose && (8..=20).contains(&words)).then(|| line.to_owned())
}
