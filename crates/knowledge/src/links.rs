//! Links between sections: Markdown links, links of HTML and JSX, and wikilinks.
//!
//! What a file links to is read once for every version of the file and kept with its document.
//! Where the targets lead depends on all files, so it is resolved when links are asked for: the
//! links of one node at once, backlinks for the whole snapshot on first use. An edit costs nothing
//! until then.

mod extract;
mod resolve;

use std::collections::HashMap;

use serde::Serialize;

use crate::document::Document;
use crate::node::NodeRef;
use crate::snapshot::Snapshot;

pub(crate) use extract::Target;
pub(crate) use resolve::FileNames;

/// A node at the other end of a link.
#[derive(Debug, Clone, Serialize)]
pub struct LinkedNode {
    pub id: String,
    pub path: String,
    pub title: String,
}

impl LinkedNode {
    pub fn of(node: NodeRef<'_>) -> Self {
        Self { id: node.id().to_owned(), path: node.path(), title: node.title().to_owned() }
    }
}

/// How many links of a file lead to no file or section of its base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLinks {
    pub base: String,
    pub path: String,
    pub count: usize,
    /// The first of them, as the author wrote it.
    pub first: String,
}

/// The nodes that link to each node, by index.
pub(crate) type Backlinks = HashMap<usize, Vec<usize>>;

impl Document {
    /// What each section links to inside of the base.
    pub(crate) fn targets(&self) -> &[Vec<Target>] {
        self.targets.get_or_init(|| extract::targets(self))
    }
}

impl<'a> NodeRef<'a> {
    /// The nodes that this one's own text links to, each once, in the order of the text.
    pub fn links(self) -> Vec<NodeRef<'a>> {
        let snapshot = self.snapshot();
        let mut found: Vec<NodeRef<'a>> = Vec::new();
        for target in &self.document().targets()[self.section_index()] {
            if let Some(node) = snapshot.link_target(self, target)
                && node.index() != self.index()
                && !found.iter().any(|known| known.index() == node.index())
            {
                found.push(node);
            }
        }
        found
    }

    /// The nodes whose text links to this one, sorted by base, path and place in the file.
    pub fn backlinks(self) -> Vec<NodeRef<'a>> {
        let snapshot = self.snapshot();
        let backlinks = snapshot.backlinks.get_or_init(|| all_backlinks(snapshot));
        let sources = backlinks.get(&self.index()).map_or(&[][..], Vec::as_slice);
        sources.iter().map(|&index| snapshot.at(index)).collect()
    }
}

impl Snapshot {
    /// The files with links that lead nowhere. Links that leave the base are not checked.
    pub fn broken_links(&self) -> Vec<BrokenLinks> {
        let mut all: Vec<BrokenLinks> = Vec::new();
        for node in self.nodes() {
            for target in &node.document().targets()[node.section_index()] {
                if self.link_target(node, target).is_none() {
                    note_broken(&mut all, node, target);
                }
            }
        }
        all
    }
}

fn note_broken(all: &mut Vec<BrokenLinks>, node: NodeRef<'_>, target: &Target) {
    let (base, path) = (node.base().name(), node.document().path.as_str());
    match all.last_mut().filter(|last| last.path == path && last.base == base) {
        Some(last) => last.count += 1,
        None => all.push(BrokenLinks {
            base: base.to_owned(),
            path: path.to_owned(),
            count: 1,
            first: target.to_string(),
        }),
    }
}

fn all_backlinks(snapshot: &Snapshot) -> Backlinks {
    let mut backlinks = Backlinks::new();
    for node in snapshot.nodes() {
        for target in node.links() {
            backlinks.entry(target.index()).or_default().push(node.index());
        }
    }
    backlinks
}
