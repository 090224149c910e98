//! An immutable view of all bases at one moment. A request is answered from one snapshot, so files
//! may change while it runs.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::{Arc, OnceLock, Weak};

use arc_swap::{ArcSwap, ArcSwapOption};

use crate::base::Base;
use crate::dependencies::Graph;
use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::error::Error;
use crate::ids;
use crate::keyword::{KeywordSearcher, NodeKey};
use crate::links::{Backlinks, FileNames};
use crate::node::NodeRef;
use crate::path::RelPath;
use crate::semantic::{Coverage, Semantic};
use crate::suggest::nearest;

#[derive(Debug)]
pub struct Snapshot {
    bases: Vec<Arc<Base>>,
    /// Sorted by base and path.
    files: Vec<File>,
    nodes: Vec<Entry>,
    /// Index of the first node of each file, by the version of the file.
    first_nodes: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
    /// Ids without the prefix of their base; the same as in `by_id` when there is one base.
    by_bare_id: HashMap<String, Vec<usize>>,
    pub(crate) graph: Graph,
    /// Both are made when links are first asked for.
    pub(crate) backlinks: OnceLock<Backlinks>,
    file_names: OnceLock<FileNames>,
    indexes: Indexes,
    /// Computed once for every published set of vectors.
    coverage: ArcSwapOption<(Weak<Semantic>, Coverage)>,
    diagnostics: Vec<Diagnostic>,
    unavailable: Vec<Unavailable>,
    stalled_files: usize,
}

/// A base whose folder cannot be read now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    pub(crate) base: usize,
    pub name: String,
    /// Why, and what follows.
    pub message: String,
    /// Whether the files are served as they were before: the folder may only be slow.
    pub keeps_files: bool,
}

impl Unavailable {
    pub(crate) fn unreadable(index: usize, base: &Base, error: &std::io::Error) -> Self {
        let problem = match error.kind() {
            ErrorKind::NotFound => "is gone".to_owned(),
            _ => format!("cannot be read ({error})"),
        };
        let follows = format!("{problem}; nothing in it is found until it is back");
        Self::new(index, base, &follows, false)
    }

    pub(crate) fn stalled(index: usize, base: &Base) -> Self {
        let follows = "does not answer; its files are served as they were read before";
        Self::new(index, base, follows, true)
    }

    fn new(base: usize, of: &Base, follows: &str, keeps_files: bool) -> Self {
        let (name, root) = (of.name().to_owned(), of.root().display());
        let message = format!("the folder of knowledge base `{name}`, `{root}`, {follows}");
        Self { base, name, message, keeps_files }
    }
}

/// The keyword index of this snapshot, and the vectors published so far.
#[derive(Debug)]
pub(crate) struct Indexes {
    pub(crate) keyword: KeywordSearcher,
    pub(crate) semantic: Arc<ArcSwap<Semantic>>,
}

/// A document in its base.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) base: usize,
    /// Unique among all versions of all documents read by this process.
    pub(crate) version: u64,
    pub(crate) document: Arc<Document>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: String,
    /// Length of the base prefix of the id.
    pub(crate) prefix_len: usize,
    pub(crate) file: usize,
    pub(crate) section: usize,
}

impl Snapshot {
    /// `files` are sorted by base and path; `diagnostics` are those of reading them.
    pub(crate) fn new(
        bases: Vec<Arc<Base>>,
        files: Vec<File>,
        indexes: Indexes,
        mut diagnostics: Vec<Diagnostic>,
    ) -> Self {
        let nodes = entries(&bases, &files, &mut diagnostics);
        let mut by_id = HashMap::with_capacity(nodes.len());
        let mut by_bare_id: HashMap<String, Vec<usize>> = HashMap::with_capacity(nodes.len());
        let mut first_nodes = HashMap::with_capacity(files.len());
        for (index, node) in nodes.iter().enumerate() {
            if node.section == 0 {
                first_nodes.insert(files[node.file].version, index);
            }
            by_id.insert(node.id.clone(), index);
            by_bare_id.entry(node.id[node.prefix_len..].to_owned()).or_default().push(index);
        }
        for file in &files {
            let (base, path) = (bases[file.base].name(), file.document.path.as_str());
            diagnostics.extend(file.document.diagnostics.iter().map(|d| d.located(base, path)));
        }
        let mut snapshot = Self {
            bases,
            files,
            nodes,
            first_nodes,
            by_id,
            by_bare_id,
            graph: Graph::default(),
            backlinks: OnceLock::new(),
            file_names: OnceLock::new(),
            indexes,
            coverage: ArcSwapOption::empty(),
            diagnostics,
            unavailable: Vec::new(),
            stalled_files: 0,
        };
        let (graph, problems) = Graph::of(&snapshot);
        snapshot.graph = graph;
        snapshot.diagnostics.extend(problems);
        snapshot
            .diagnostics
            .sort_by(|a, b| (&a.base, &a.path, a.line).cmp(&(&b.base, &b.path, b.line)));
        snapshot
    }

    pub fn bases(&self) -> impl Iterator<Item = &Base> {
        self.bases.iter().map(Arc::as_ref)
    }

    /// Problems for authors to fix, sorted by base, path and line.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    pub(crate) fn with_unavailable(
        self,
        unavailable: Vec<Unavailable>,
        stalled_files: usize,
    ) -> Self {
        Self { unavailable, stalled_files, ..self }
    }

    /// The bases whose folders cannot be read.
    pub fn unavailable(&self) -> &[Unavailable] {
        &self.unavailable
    }

    /// How many files the file system did not hand out when it was asked last.
    pub fn stalled_files(&self) -> usize {
        self.stalled_files
    }

    /// What an answer from this snapshot lacks because of folders that cannot be read.
    pub(crate) fn unavailable_message(&self) -> Option<String> {
        let messages: Vec<&str> =
            self.unavailable.iter().map(|base| base.message.as_str()).collect();
        (!messages.is_empty()).then(|| messages.join("; "))
    }

    pub(crate) fn keyword(&self) -> &KeywordSearcher {
        &self.indexes.keyword
    }

    /// The vectors published so far. A request loads them once and uses the same ones throughout.
    pub(crate) fn semantic(&self) -> Arc<Semantic> {
        self.indexes.semantic.load_full()
    }

    /// How many nodes have vectors.
    pub fn coverage(&self) -> Coverage {
        self.coverage_by(&self.semantic())
    }

    pub(crate) fn coverage_by(&self, semantic: &Arc<Semantic>) -> Coverage {
        if let Some((of, coverage)) = self.coverage.load().as_deref()
            && of.as_ptr() == Arc::as_ptr(semantic)
        {
            return *coverage;
        }
        let coverage = semantic.coverage(self);
        self.coverage.store(Some(Arc::new((Arc::downgrade(semantic), coverage))));
        coverage
    }

    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    pub fn file_count(&self) -> usize {
        self.files.len()
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeRef<'_>> {
        (0..self.nodes.len()).map(|index| self.at(index))
    }

    /// The root node of every file, sorted by base and path.
    pub fn roots(&self) -> impl ExactSizeIterator<Item = NodeRef<'_>> {
        self.files.iter().map(|file| self.root_of(file))
    }

    pub(crate) fn entry(&self, index: usize) -> &Entry {
        &self.nodes[index]
    }

    pub(crate) fn base(&self, index: usize) -> &Base {
        &self.bases[index]
    }

    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    pub(crate) fn at(&self, index: usize) -> NodeRef<'_> {
        NodeRef::new(self, index)
    }

    /// The node with a key; `None` if its document is not in this snapshot.
    pub(crate) fn by_key(&self, key: NodeKey) -> Option<NodeRef<'_>> {
        let root = self.first_nodes.get(&key.version())?;
        Some(self.at(root + key.section()))
    }

    pub(crate) fn file_names(&self) -> &FileNames {
        self.file_names.get_or_init(|| FileNames::of(self))
    }

    pub(crate) fn root_of(&self, file: &File) -> NodeRef<'_> {
        self.at(self.first_nodes[&file.version])
    }

    /// Resolves an id, an id with its base (`handbook:intro`), or a path with an optional section
    /// (`guides/SETUP.md#linux`).
    pub fn resolve(&self, name: &str) -> Result<NodeRef<'_>, Error> {
        let name = name.trim();
        if name.is_empty() {
            return Err(Error::Empty { name: "id" });
        }
        if let Some(&index) = self.by_id.get(name) {
            return Ok(self.at(index));
        }
        match self.by_bare_id.get(name).map(Vec::as_slice) {
            Some(&[index]) => return Ok(self.at(index)),
            Some(several) => {
                return Err(Error::AmbiguousNode {
                    id: name.to_owned(),
                    candidates: several.iter().map(|&i| self.nodes[i].id.clone()).collect(),
                });
            }
            None => {}
        }
        let is_file = name.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("md"));
        if is_file || name.contains(['/', '\\', '#']) {
            return self.resolve_path(name);
        }
        Err(Error::UnknownNode { id: name.to_owned(), suggestions: self.similar_ids(name) })
    }

    /// Resolves `path#section` in the only base that has the path, or in the base named by its
    /// first component.
    fn resolve_path(&self, name: &str) -> Result<NodeRef<'_>, Error> {
        let (path, fragment) = match name.split_once('#') {
            Some((path, fragment)) => (path, Some(fragment)),
            None => (name, None),
        };
        let parsed = RelPath::parse(path)?;
        let matching: Vec<usize> =
            (0..self.bases.len()).filter(|&base| self.file(base, &parsed).is_some()).collect();
        match matching.as_slice() {
            [base] => self.locate(self.bases[*base].name(), path, fragment),
            [] => match path.split_once('/') {
                Some((base, rest)) if self.bases().any(|b| b.name() == base) => {
                    self.locate(base, rest, fragment)
                }
                _ => self.locate(self.bases[0].name(), path, fragment),
            },
            several => Err(Error::AmbiguousNode {
                id: name.to_owned(),
                candidates: several
                    .iter()
                    .map(|&base| format!("{}/{name}", self.bases[base].name()))
                    .collect(),
            }),
        }
    }

    /// The node at a path of a base: the root of the file, or the section whose id, end of id or
    /// heading is `fragment`.
    pub fn locate(
        &self,
        base: &str,
        path: &str,
        fragment: Option<&str>,
    ) -> Result<NodeRef<'_>, Error> {
        let path = RelPath::parse(path)?;
        let base_index = self.base_index(base)?;
        let Some(file) = self.file(base_index, &path) else {
            let paths = self.files.iter().filter(|file| file.base == base_index);
            return Err(Error::UnknownFile {
                base: base.to_owned(),
                suggestions: nearest(path.as_str(), paths.map(|f| f.document.path.as_str())),
                path: path.to_string(),
            });
        };
        let root = self.root_of(file);
        match fragment.filter(|fragment| !fragment.is_empty()) {
            None => Ok(root),
            Some(fragment) => root.section_named(fragment).ok_or_else(|| Error::UnknownSection {
                path: path.to_string(),
                fragment: fragment.to_owned(),
                suggestions: root.similar_fragments(fragment),
            }),
        }
    }

    pub(crate) fn base_index(&self, name: &str) -> Result<usize, Error> {
        let index = self.bases.iter().position(|base| base.name() == name);
        index.ok_or_else(|| Error::UnknownBase {
            name: name.to_owned(),
            known: self.bases().map(|base| base.name().to_owned()).collect(),
        })
    }

    pub(crate) fn file(&self, base: usize, path: &RelPath) -> Option<&File> {
        let at =
            self.files.binary_search_by(|file| (file.base, &file.document.path).cmp(&(base, path)));
        at.ok().map(|at| &self.files[at])
    }

    /// Resolves the target of a dependency of `from`; the base of `from` takes precedence.
    pub(crate) fn target(&self, from: NodeRef<'_>, target: &str) -> Option<usize> {
        let own = from.file().base;
        let bare = self.by_bare_id.get(target);
        let in_own_base = bare.and_then(|found| {
            found.iter().find(|&&index| self.files[self.nodes[index].file].base == own)
        });
        in_own_base.or_else(|| self.by_id.get(target)).copied()
    }

    pub(crate) fn similar_ids(&self, id: &str) -> Vec<String> {
        nearest(id, self.nodes.iter().map(|node| node.id.as_str()))
    }
}

fn entries(bases: &[Arc<Base>], files: &[File], diagnostics: &mut Vec<Diagnostic>) -> Vec<Entry> {
    let mut nodes = Vec::new();
    for (b, base) in bases.iter().enumerate() {
        let first = files.partition_point(|file| file.base < b);
        let last = files.partition_point(|file| file.base <= b);
        let documents: Vec<&Document> = files[first..last].iter().map(|f| &*f.document).collect();
        let (ids, duplicates) = ids::assign(&documents, base.name());
        diagnostics.extend(duplicates);
        // With several bases, ids are prefixed so that they stay unique.
        let prefix = if bases.len() > 1 { format!("{}:", base.name()) } else { String::new() };
        for (file, ids) in (first..last).zip(ids) {
            nodes.extend(ids.into_iter().enumerate().map(|(section, bare)| Entry {
                id: format!("{prefix}{bare}"),
                prefix_len: prefix.len(),
                file,
                section,
            }));
        }
    }
    nodes
}
