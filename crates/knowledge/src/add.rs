//! Adding files. Nothing else writes into a knowledge base.

use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::base::{Base, read_regular};
use crate::library::Library;
use crate::path::{PathError, RelPath};

#[derive(Debug, thiserror::Error)]
pub enum AddError {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("there is no knowledge base `{0}`")]
    UnknownBase(String),
    #[error("`{path}` cannot be added: the file patterns of knowledge base `{base}` exclude it")]
    Excluded { base: String, path: String },
    #[error("`{path}` already exists with different content")]
    Exists { path: String },
    #[error("`{path}` cannot be written: {source}")]
    Write { path: String, source: std::io::Error },
}

impl Library {
    /// Adds a file to a base, by default to the first one. The write is atomic and never overwrites
    /// a file; a file with the same text counts as added.
    pub fn add_file(&self, base: Option<&str>, path: &str, text: &str) -> Result<(), AddError> {
        let snapshot = self.snapshot();
        let mut bases = snapshot.bases();
        let base = match base {
            None => bases.next().ok_or_else(|| AddError::UnknownBase(String::new()))?,
            Some(name) => bases
                .find(|base| base.name() == name)
                .ok_or_else(|| AddError::UnknownBase(name.to_owned()))?,
        };
        let path = RelPath::parse(path)?;
        if !base.includes(Path::new(path.as_str())) {
            let (base, path) = (base.name().to_owned(), path.to_string());
            return Err(AddError::Excluded { base, path });
        }
        match add(base, &path, text) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                if is_same(base, &path, text) {
                    return Ok(());
                }
                Err(AddError::Exists { path: path.to_string() })
            }
            other => other.map_err(|source| AddError::Write { path: path.to_string(), source }),
        }
    }
}

/// Writes a draft beside the target and hard-links it, which fails if the target exists.
fn add(base: &Base, path: &RelPath, text: &str) -> std::io::Result<()> {
    let root = base.open()?;
    let folder = Path::new(path.as_str()).parent().unwrap_or(Path::new(""));
    if !folder.as_os_str().is_empty() {
        root.create_dir_all(folder)?;
    }
    let draft = folder.join(format!(".kenning-{}.draft", std::process::id()));
    let written = (|| {
        let mut file = root.create(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        root.hard_link(&draft, &root, path.as_str())
    })();
    let _ = root.remove_file(&draft);
    written
}

fn is_same(base: &Base, path: &RelPath, text: &str) -> bool {
    let there = base.open().ok().and_then(|root| read_regular(&root, path).ok());
    there.is_some_and(|there| there == text.as_bytes())
}
