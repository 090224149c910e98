//! A reference to a node of a snapshot.

use std::borrow::Cow;

use kenning_tokens::count_tokens;

use crate::base::Base;
use crate::document::{Document, Section};
use crate::keyword::NodeKey;
use crate::role::Role;
use crate::snapshot::{Entry, File, Snapshot};
use crate::suggest::nearest;
use crate::text::{keywords, slug};

/// A section of a file, with its id and its place in the tree.
#[derive(Debug, Clone, Copy)]
pub struct NodeRef<'a> {
    snapshot: &'a Snapshot,
    index: usize,
}

impl<'a> NodeRef<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, index: usize) -> Self {
        Self { snapshot, index }
    }

    fn entry(self) -> &'a Entry {
        self.snapshot.entry(self.index)
    }

    pub(crate) fn index(self) -> usize {
        self.index
    }

    pub(crate) fn snapshot(self) -> &'a Snapshot {
        self.snapshot
    }

    /// Its place among the sections of its document.
    pub(crate) fn section_index(self) -> usize {
        self.entry().section
    }

    pub(crate) fn file(self) -> &'a File {
        &self.snapshot.files()[self.entry().file]
    }

    pub(crate) fn key(self) -> NodeKey {
        NodeKey::new(self.file().version, self.entry().section)
    }

    pub fn document(self) -> &'a Document {
        &self.file().document
    }

    pub fn section(self) -> &'a Section {
        &self.document().sections[self.entry().section]
    }

    pub fn base(self) -> &'a Base {
        self.snapshot.base(self.file().base)
    }

    /// Unique among all nodes: `handbook:intro` when there are several bases, else `intro`.
    pub fn id(self) -> &'a str {
        &self.entry().id
    }

    fn bare_id(self) -> &'a str {
        let entry = self.entry();
        &entry.id[entry.prefix_len..]
    }

    /// The part of the id that identifies the node inside its file; `None` for the root.
    pub fn anchor(self) -> Option<&'a str> {
        let root = self.root();
        if root.index == self.index {
            return None;
        }
        let id = self.bare_id();
        let below = id.strip_prefix(root.bare_id()).and_then(|rest| rest.strip_prefix('.'));
        Some(below.unwrap_or(id))
    }

    /// `guides/SETUP.md#linux`
    pub fn path(self) -> String {
        let file = &self.document().path;
        match self.anchor() {
            Some(anchor) => format!("{file}#{anchor}"),
            None => file.to_string(),
        }
    }

    pub fn title(self) -> &'a str {
        &self.section().title
    }

    pub fn kind(self) -> &'a str {
        &self.section().kind
    }

    pub fn status(self) -> &'a str {
        &self.section().status
    }

    /// What kind of text it is: as the settings of its base say, or as recognised.
    pub fn role(self) -> Role {
        self.base().role_of(&self.document().path).unwrap_or(self.section().role)
    }

    /// The node's own text, without heading and metadata.
    pub fn body(self) -> Cow<'a, str> {
        self.document().body(self.entry().section)
    }

    /// [`NodeRef::body`] without markup.
    pub fn plain(self) -> String {
        self.document().plain(self.entry().section)
    }

    /// The node and all below it as written in the file.
    pub fn source(self) -> &'a str {
        self.document().source(self.entry().section)
    }

    /// Tokens of [`NodeRef::body`].
    pub fn token_count(self) -> usize {
        count_tokens(&self.body())
    }

    /// BLAKE3 of the node's own source; changes with its heading, metadata or body.
    pub fn content_hash(self) -> String {
        let source = self.document().own_source(self.entry().section);
        blake3::hash(source.as_bytes()).to_hex().to_string()
    }

    pub fn keywords(self) -> Vec<String> {
        keywords(self.title(), &self.body(), 12)
    }

    /// The ids in its `blocked_by`, as the author wrote them.
    pub fn blocked_by(self) -> Vec<String> {
        self.section().metadata.list("blocked_by")
    }

    #[must_use]
    pub fn root(self) -> Self {
        self.sibling(0)
    }

    pub fn parent(self) -> Option<Self> {
        self.section().parent.map(|parent| self.sibling(parent))
    }

    /// The nodes above it, the nearest first.
    pub(crate) fn ancestors(self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), |node| node.parent())
    }

    pub(crate) fn title_stems(self) -> impl Iterator<Item = &'a str> {
        self.section().title_stems().iter().map(String::as_str)
    }

    pub fn children(self) -> impl ExactSizeIterator<Item = Self> {
        self.section().children.iter().map(move |&child| self.sibling(child))
    }

    /// The node and all below it, in reading order.
    pub fn subtree(self) -> impl Iterator<Item = Self> {
        let sections = self.document().subtree(self.entry().section);
        sections.map(move |section| self.sibling(section))
    }

    /// Another section of the same file.
    fn sibling(self, section: usize) -> Self {
        self.snapshot.at(self.index - self.entry().section + section)
    }

    pub(crate) fn section_named(self, fragment: &str) -> Option<Self> {
        let by_anchor = |node: &Self| node.anchor() == Some(fragment) || node.bare_id() == fragment;
        let by_heading = |node: &Self| {
            let section = node.section();
            section.slug == fragment || slug(&section.title) == fragment
        };
        self.subtree().find(by_anchor).or_else(|| self.subtree().find(by_heading))
    }

    pub(crate) fn similar_fragments(self, fragment: &str) -> Vec<String> {
        nearest(fragment, self.subtree().filter_map(Self::anchor))
    }
}
