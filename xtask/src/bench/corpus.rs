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
    let (mut files, mut headings) = (0, Vec::new());
    for package in packages {
        let Some(readme) = &package.readme else { continue };
        let path = package.manifest_path.with_file_name("").join(readme);
        let small = fs::metadata(&path).is_ok_and(|file| file.len() <= LARGEST);
        let Some(text) = small.then(|| fs::read_to_string(&path).ok()).flatten() else { continue };
        headings.extend(text.lines().filter_map(heading));
        fs::write(corpus.join(format!("{}-{}.md", package.name, package.version)), text)?;
        files += 1;
        if files == FILES {
            break;
        }
    }
    ensure!(headings.len() >= QUERIES, "only {} headings were found", headings.len());
    let step = headings.len() / QUERIES;
    let queries: Vec<String> = headings.into_iter().step_by(step).take(QUERIES).collect();
    let queries_file = folder.join("queries.json");
    fs::write(&queries_file, serde_json::to_string(&queries)?)?;
    Ok(Corpus { folder: corpus, files, queries, queries_file })
}

fn heading(line: &str) -> Option<String> {
    let title = line.strip_prefix("## ").or_else(|| line.strip_prefix("### "))?.trim();
    (title.split_whitespace().count() >= 3).then(|| title.to_owned())
}
