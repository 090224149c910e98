//! Folders in, answers out.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod files;
mod following;
mod questions;

use std::fs;
use std::path::Path;

use kenning_knowledge::retrieve::{DEFAULT_MAX_TOKENS, Format, RetrieveRequest};
use kenning_knowledge::search::{SearchRequest, SearchType};
use kenning_knowledge::{Base, Library, Snapshot};
use tempfile::TempDir;

pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(TempDir::new().unwrap());
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn base(&self, name: &str) -> Base {
        let patterns = ["**/*.md".to_owned()];
        let excluded = ["**/node_modules/**".to_owned()];
        Base::new(name, self.path(), &patterns, &excluded).unwrap()
    }

    pub(crate) fn library(&self) -> Library {
        Library::open(vec![self.base("kb")], &|_, _| {}).unwrap()
    }
}

pub(crate) fn ids(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.nodes().map(kenning_knowledge::NodeRef::id).collect()
}

pub(crate) fn notes(snapshot: &Snapshot) -> Vec<String> {
    snapshot.diagnostics().iter().map(ToString::to_string).collect()
}

pub(crate) fn search(snapshot: &Snapshot, query: &str) -> Vec<String> {
    let found = snapshot.search(&request(query)).unwrap();
    found.results.into_iter().map(|hit| hit.id).collect()
}

pub(crate) fn request(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.into(),
        search_type: SearchType::Keyword,
        scope: vec![],
        max_results: 10,
    }
}

pub(crate) fn get(ids: &[&str]) -> RetrieveRequest {
    RetrieveRequest {
        ids: ids.iter().map(ToString::to_string).collect(),
        include_children: false,
        format: Format::Markdown,
        max_tokens: DEFAULT_MAX_TOKENS,
    }
}
