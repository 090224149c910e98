//! Embeddings of nodes: computed on a background thread and cached by content.
//!
//! Vectors depend on the model and on the text alone, so a renamed file or a second clone needs no
//! new computation. Snapshots never wait for them: a query uses those published so far.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kenning_embed::{Embedder, Passage};

pub use kenning_embed::Embedded;

pub use crate::model::{LoadingModel, ModelSource};

use crate::dialect::Dialect;
use crate::library::{Library, Progress};
use crate::node::NodeRef;
use crate::snapshot::{File, Snapshot};
use crate::vectors::Vectors;

/// A batch is embedded and cached at once. It ends with this many nodes …
const BATCH: usize = 64;
/// … or bytes of text, which take a few seconds: that much is lost if the process is killed.
const BATCH_BYTES: usize = 32 * 1024;
/// How often vectors are published to queries while an index pass is running.
const PUBLISH_EVERY: Duration = Duration::from_secs(2);

/// Changes when the same Markdown gives another plain text, which makes cached vectors stale.
const TEXT_VERSION: u8 = 2;

/// Hash of the text that vectors were computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TextKey([u8; 16]);

impl TextKey {
    fn of(title: &str, body: &str, dialect: Dialect) -> Self {
        let mut hash = blake3::Hasher::new();
        hash.update(&[TEXT_VERSION, dialect as u8])
            .update(title.as_bytes())
            .update(&[0])
            .update(body.as_bytes());
        let mut key = [0; 16];
        hash.finalize_xof().fill(&mut key);
        Self(key)
    }

    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

/// Keeps vectors from one run to the next.
pub trait VectorCache: Send + Sync {
    /// The cached entries among `keys` for this model.
    fn load(&self, model: &str, keys: &[TextKey])
    -> Result<HashMap<TextKey, Embedded>, CacheError>;

    fn save(&self, model: &str, entries: &[(TextKey, &Embedded)]) -> Result<(), CacheError>;
}

#[derive(Debug, thiserror::Error)]
#[error("the vector cache failed: {0}")]
pub struct CacheError(Box<dyn std::error::Error + Send + Sync>);

impl CacheError {
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

/// Caches nothing, for when there is no store.
#[derive(Debug, Clone, Copy)]
pub struct NoCache;

impl VectorCache for NoCache {
    fn load(&self, _: &str, _: &[TextKey]) -> Result<HashMap<TextKey, Embedded>, CacheError> {
        Ok(HashMap::new())
    }

    fn save(&self, _: &str, _: &[(TextKey, &Embedded)]) -> Result<(), CacheError> {
        Ok(())
    }
}

/// The vectors published at one moment, and the model that embeds queries.
#[derive(Debug, Default)]
pub(crate) struct Semantic {
    pub(crate) embedder: Option<Arc<Embedder>>,
    pub(crate) vectors: Vectors,
    /// How many nodes of a document have vectors, by its version.
    embedded: HashMap<u64, usize>,
}

/// How many nodes have vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    pub embedded: usize,
    pub total: usize,
}

impl Coverage {
    pub fn is_complete(self) -> bool {
        self.embedded == self.total
    }

    /// Rounded down, so that 100 means complete.
    pub fn percent(self) -> usize {
        (self.embedded * 100).checked_div(self.total).unwrap_or(100)
    }
}

impl Semantic {
    pub(crate) fn coverage(&self, snapshot: &Snapshot) -> Coverage {
        let embedded = |file: &File| self.embedded.get(&file.version).copied().unwrap_or_default();
        Coverage {
            embedded: snapshot.files().iter().map(embedded).sum(),
            total: snapshot.node_count(),
        }
    }
}

/// How many nodes have vectors in the cache. Needs no model.
pub fn cached_coverage(
    snapshot: &Snapshot,
    cache: &dyn VectorCache,
    model: &str,
) -> Result<Coverage, CacheError> {
    let keys: Vec<TextKey> = snapshot.nodes().map(text_key).collect();
    let distinct: HashSet<TextKey> = keys.iter().copied().collect();
    let cached = cache.load(model, &distinct.into_iter().collect::<Vec<_>>())?;
    let is_cached = |key: &&TextKey| cached.get(*key).is_some_and(Embedded::is_sound);
    Ok(Coverage { embedded: keys.iter().filter(is_cached).count(), total: keys.len() })
}

#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error(transparent)]
    Load(#[from] kenning_embed::LoadError),
    #[error(transparent)]
    Embed(#[from] kenning_embed::EmbedError),
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Computes the vectors of all nodes and publishes them to the library.
pub struct Indexer {
    library: Arc<Library>,
    cache: Arc<dyn VectorCache>,
    embedder: Arc<Embedder>,
    /// The vectors of all current nodes, by text.
    known: HashMap<TextKey, Arc<Embedded>>,
    on_new_nodes: Option<OnNewNodes>,
    if_not_cached: IfNotCached,
}

/// What to do when the cache refuses vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IfNotCached {
    KeepInMemory,
    Fail,
}

/// Called with the nodes whose text was not in the cache. Not called for the first pass over an
/// empty cache, in which every node is new.
pub type OnNewNodes = Box<dyn Fn(Vec<NewNode>) + Send>;

/// A node whose text was not in the cache.
#[derive(Debug, Clone)]
pub struct NewNode {
    pub id: String,
    pub title: String,
    pub text: String,
    /// One for each window of the text.
    pub vectors: Vec<Vec<f32>>,
}

/// The work of one index pass.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Texts whose vectors were in the cache.
    pub loaded: usize,
    /// Texts whose vectors were computed.
    pub computed: usize,
}

impl Indexer {
    pub fn new(
        library: Arc<Library>,
        cache: Arc<dyn VectorCache>,
        embedder: Arc<Embedder>,
    ) -> Self {
        Self {
            library,
            cache,
            embedder,
            known: HashMap::new(),
            on_new_nodes: None,
            if_not_cached: IfNotCached::KeepInMemory,
        }
    }

    /// For a run whose vectors are of use only in the cache: it ends if they cannot be stored.
    #[must_use]
    pub fn requiring_cache(self) -> Self {
        Self { if_not_cached: IfNotCached::Fail, ..self }
    }

    pub fn model(&self) -> &str {
        self.embedder.fingerprint()
    }

    /// Brings the vectors up to date with the library. Texts that are in the cache are not computed
    /// again.
    pub fn catch_up(&mut self, progress: Progress<'_>) -> Result<Pass, IndexError> {
        let snapshot = self.library.snapshot();
        let nodes = keyed(&snapshot);
        let mut pass = Pass { loaded: self.load(&nodes), computed: 0 };
        let is_first = self.known.is_empty();
        self.publish(&snapshot, &nodes);
        let mut missing: Vec<(TextKey, NodeRef<'_>)> = Vec::new();
        let mut queued = HashSet::new();
        for &(key, node) in &nodes {
            if !self.known.contains_key(&key) && queued.insert(key) {
                missing.push((key, node));
            }
        }
        let mut published = Instant::now();
        for batch in batches(&missing) {
            self.compute(batch)?;
            pass.computed += batch.len();
            progress(pass.computed, missing.len());
            if published.elapsed() >= PUBLISH_EVERY {
                self.publish(&snapshot, &nodes);
                published = Instant::now();
            }
        }
        let current: HashSet<TextKey> = nodes.iter().map(|(key, _)| *key).collect();
        self.known.retain(|key, _| current.contains(key));
        self.publish(&snapshot, &nodes);
        if let Some(report) =
            self.on_new_nodes.as_ref().filter(|_| !is_first && !missing.is_empty())
        {
            report(missing.iter().filter_map(|(key, node)| self.new_node(key, *node)).collect());
        }
        Ok(pass)
    }

    fn new_node(&self, key: &TextKey, node: NodeRef<'_>) -> Option<NewNode> {
        let embedded = self.known.get(key)?;
        let length = embedded.vectors.len() / embedded.windows.len().max(1);
        Some(NewNode {
            id: node.id().to_owned(),
            title: full_title(node),
            text: node.plain(),
            vectors: embedded.vectors.chunks(length.max(1)).map(<[f32]>::to_vec).collect(),
        })
    }

    /// Publishes the vectors that are in the cache and computes none.
    pub fn load_cached(&mut self) {
        let snapshot = self.library.snapshot();
        let nodes = keyed(&snapshot);
        self.load(&nodes);
        self.publish(&snapshot, &nodes);
    }

    fn load(&mut self, nodes: &[(TextKey, NodeRef<'_>)]) -> usize {
        let unknown: HashSet<TextKey> =
            nodes.iter().map(|(key, _)| *key).filter(|key| !self.known.contains_key(key)).collect();
        let unknown: Vec<TextKey> = unknown.into_iter().collect();
        match self.cache.load(self.embedder.fingerprint(), &unknown) {
            Ok(mut found) => {
                let cached = found.len();
                found.retain(|_, embedded| embedded.is_sound());
                let loaded = found.len();
                if loaded < cached {
                    let damaged = cached - loaded;
                    tracing::warn!(damaged, "ignoring damaged cached vectors; recomputing them");
                }
                self.known.extend(found.into_iter().map(|(key, value)| (key, Arc::new(value))));
                loaded
            }
            Err(error) => {
                tracing::warn!(%error, "cannot read the vector cache; recomputing the vectors");
                0
            }
        }
    }

    fn compute(&mut self, batch: &[(TextKey, NodeRef<'_>)]) -> Result<(), IndexError> {
        let texts: Vec<(String, String)> =
            batch.iter().map(|(_, node)| (full_title(*node), node.plain())).collect();
        let passages: Vec<Passage<'_>> =
            texts.iter().map(|(title, text)| Passage { title, text }).collect();
        let embedded = self.embedder.embed_passages(&passages)?;
        let entries: Vec<(TextKey, &Embedded)> =
            batch.iter().map(|(key, _)| *key).zip(&embedded).collect();
        if let Err(error) = self.cache.save(self.embedder.fingerprint(), &entries) {
            if self.if_not_cached == IfNotCached::Fail {
                return Err(error.into());
            }
            tracing::warn!(%error, "cannot write the vector cache; keeping vectors in memory only");
        }
        for ((key, _), embedded) in batch.iter().zip(embedded) {
            self.known.insert(*key, Arc::new(embedded));
        }
        Ok(())
    }

    /// Makes the vectors computed so far available to queries.
    fn publish(&self, snapshot: &Snapshot, nodes: &[(TextKey, NodeRef<'_>)]) {
        let mut embedded: HashMap<u64, usize> = HashMap::with_capacity(snapshot.file_count());
        let mut embedded_nodes = Vec::with_capacity(nodes.len());
        for (key, node) in nodes {
            if let Some(vectors) = self.known.get(key) {
                embedded_nodes.push((node.key(), vectors.clone()));
                *embedded.entry(node.file().version).or_default() += 1;
            }
        }
        let vectors = Vectors::new(embedded_nodes);
        let embedder = Some(self.embedder.clone());
        self.library.publish(Semantic { embedder, vectors, embedded });
    }
}

impl std::fmt::Debug for Indexer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Indexer").field("model", &self.model()).finish_non_exhaustive()
    }
}

/// Runs an [`Indexer`] on a thread until it is dropped.
#[derive(Debug)]
pub struct IndexerThread {
    library: Arc<Library>,
    stop: Arc<AtomicBool>,
}

impl IndexerThread {
    pub fn start(
        library: Arc<Library>,
        cache: Arc<dyn VectorCache>,
        model: LoadingModel,
        on_new_nodes: Option<OnNewNodes>,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let handle = Self { library: library.clone(), stop: stop.clone() };
        std::thread::Builder::new().name("indexer".to_owned()).spawn(move || {
            if let Err(error) = run(&library, cache, model, on_new_nodes, &stop) {
                tracing::error!(%error, "the indexer stopped; only keyword search is available");
            }
        })?;
        Ok(handle)
    }
}

impl Drop for IndexerThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.library.wake();
    }
}

fn run(
    library: &Arc<Library>,
    cache: Arc<dyn VectorCache>,
    model: LoadingModel,
    on_new_nodes: Option<OnNewNodes>,
    stop: &AtomicBool,
) -> Result<(), IndexError> {
    let mut indexer = Indexer::new(library.clone(), cache, model.wait()?);
    indexer.on_new_nodes = on_new_nodes;
    let mut seen = None;
    while !stop.load(Ordering::Relaxed) {
        seen = Some(library.wait_for_change(seen));
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let started = Instant::now();
        let pass = indexer.catch_up(&|done, total| tracing::debug!(done, total, "embedding"))?;
        if pass != Pass::default() {
            let seconds = started.elapsed().as_secs_f32();
            tracing::info!(
                loaded = pass.loaded,
                computed = pass.computed,
                seconds,
                "vectors are up to date"
            );
        }
    }
    Ok(())
}

fn batches<'a, 'b>(
    mut nodes: &'a [(TextKey, NodeRef<'b>)],
) -> impl Iterator<Item = &'a [(TextKey, NodeRef<'b>)]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |(_, node): &&(TextKey, NodeRef<'_>)| {
            let had = bytes;
            bytes += node.body().len();
            had < BATCH_BYTES
        };
        let length = nodes.iter().take(BATCH).take_while(fits).count();
        let (batch, rest) = nodes.split_at(length);
        nodes = rest;
        (!batch.is_empty()).then_some(batch)
    })
}

/// All nodes with the keys of their texts.
fn keyed(snapshot: &Snapshot) -> Vec<(TextKey, NodeRef<'_>)> {
    snapshot.nodes().map(|node| (text_key(node), node)).collect()
}

fn text_key(node: NodeRef<'_>) -> TextKey {
    TextKey::of(&full_title(node), &node.body(), node.document().dialect)
}

/// A node's title with that of its file: a heading such as `Setup` says little alone.
fn full_title(node: NodeRef<'_>) -> String {
    let root = node.root();
    if root.title() == node.title() {
        return node.title().to_owned();
    }
    format!("{}: {}", root.title(), node.title())
}
