//! Integration tests of the crate, in one binary so that it is linked once.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod discover;
mod library;
mod links;
mod parse_cost;
mod parser;
mod roles;
mod spec_tree;
mod usage;

use std::fs;
use std::path::Path;

use kenning_knowledge::retrieve::{DEFAULT_MAX_TOKENS, Format, RetrieveRequest};
use kenning_knowledge::search::{SearchRequest, SearchType};
use kenning_knowledge::{Base, Library, Snapshot};
use tempfile::TempDir;

/// A temporary folder of Markdown files.
struct Folder(TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(TempDir::new().unwrap());
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn base(&self, name: &str) -> Base {
        base(name, self.path())
    }

    fn library(&self) -> Library {
        open(self.base("kb"))
    }
}

fn base(name: &str, root: &Path) -> Base {
    Base::new(name, root, &["**/*.md".to_owned()], &["**/node_modules/**".to_owned()]).unwrap()
}

fn open(base: Base) -> Library {
    Library::open(vec![base], &|_, _| {}).unwrap()
}

fn ids(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.nodes().map(kenning_knowledge::NodeRef::id).collect()
}

fn diagnostics(snapshot: &Snapshot) -> Vec<String> {
    snapshot.diagnostics().iter().map(ToString::to_string).collect()
}

/// The ids that a keyword search finds, best first.
fn search(snapshot: &Snapshot, query: &str) -> Vec<String> {
    let found = snapshot.search(&keyword_request(query)).unwrap();
    found.results.into_iter().map(|hit| hit.id).collect()
}

fn keyword_request(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.into(),
        search_type: SearchType::Keyword,
        scope: vec![],
        max_results: 10,
    }
}

fn retrieve_request(ids: &[&str]) -> RetrieveRequest {
    RetrieveRequest {
        ids: ids.iter().map(ToString::to_string).collect(),
        include_children: false,
        include_links: false,
        format: Format::Markdown,
        max_tokens: DEFAULT_MAX_TOKENS,
    }
}
