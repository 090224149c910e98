//! What nodes mean: their vectors, computed behind the scenes and remembered by content.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use kenning_embed::{Embedder, Passage};

pub use kenning_embed::Embedded;

use crate::library::{Library, Progress};
use crate::node::NodeRef;
use crate::snapshot::Snapshot;
use crate::text::plain;
use crate::vectors::Vectors;

/// Nodes that are computed and remembered in one go.
const BATCH: usize = 64;
/// How often answers get to see what has been computed so far.
const PUBLISH_EVERY: Duration = Duration::from_secs(2);

/// Names the text that vectors were computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TextKey([u8; 16]);

impl TextKey {
    fn of(title: &str, body: &str) -> Self {
        let mut hash = blake3::Hasher::new();
        hash.update(title.as_bytes()).update(&[0]).update(body.as_bytes());
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

/// Where vectors are remembered from one run to the next.
pub trait VectorCache: Send + Sync {
    /// Those of `keys` that are known for this model.
    fn load(&self, model: &str, keys: &[TextKey])
    -> Result<HashMap<TextKey, Embedded>, CacheError>;

    fn save(&self, model: &str, entries: &[(TextKey, &Embedded)]) -> Result<(), CacheError>;
}

#[derive(Debug, thiserror::Error)]
#[error("vectors cannot be remembered: {0}")]
pub struct CacheError(Box<dyn std::error::Error + Send + Sync>);

impl CacheError {
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

/// Remembers nothing: for when there is no place to write to.
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

/// The vectors there are at one moment, and the model to compare questions with them.
#[derive(Debug, Default)]
pub(crate) struct Semantic {
    pub(crate) embedder: Option<Arc<Embedder>>,
    pub(crate) vectors: Vectors,
    /// Documents all of whose nodes have vectors.
    complete: HashSet<u64>,
}

/// How much of what is known can be compared by meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coverage {
    pub embedded: usize,
    pub total: usize,
}

impl Coverage {
    pub fn is_complete(self) -> bool {
        self.embedded == self.total
    }
}

impl Semantic {
    pub(crate) fn coverage(&self, snapshot: &Snapshot) -> Coverage {
        let files = snapshot.files().iter();
        let covered = files.filter(|file| self.complete.contains(&file.version));
        Coverage {
            embedded: covered.map(|file| file.document.sections.len()).sum(),
            total: snapshot.node_count(),
        }
    }
}

/// Which model to use.
#[derive(Debug, Clone, Default)]
pub enum ModelSource {
    #[default]
    Bundled,
    Folder(PathBuf),
}

impl ModelSource {
    pub fn load(&self) -> Result<Arc<Embedder>, IndexError> {
        Ok(Arc::new(match self {
            Self::Bundled => Embedder::bundled()?,
            Self::Folder(folder) => Embedder::load(folder)?,
        }))
    }

    /// Loads it while something else is done.
    pub fn start_loading(self) -> std::io::Result<LoadingModel> {
        let thread = std::thread::Builder::new().name("model".to_owned());
        Ok(LoadingModel(thread.spawn(move || self.load())?))
    }
}

/// A model that is on its way.
#[derive(Debug)]
pub struct LoadingModel(JoinHandle<Result<Arc<Embedder>, IndexError>>);

impl LoadingModel {
    fn wait(self) -> Result<Arc<Embedder>, IndexError> {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error(transparent)]
    Load(#[from] kenning_embed::LoadError),
    #[error(transparent)]
    Embed(#[from] kenning_embed::EmbedError),
}

/// Gives every node its vectors.
pub struct Indexer {
    library: Arc<Library>,
    cache: Arc<dyn VectorCache>,
    embedder: Arc<Embedder>,
    /// All vectors of nodes that exist, by text.
    known: HashMap<TextKey, Arc<Embedded>>,
    tell: Option<Tell>,
}

/// Is told of nodes whose text was never seen before. Where nothing was ever seen everything is
/// new, which is no news.
pub type Tell = Box<dyn Fn(Vec<NewNode>) + Send>;

/// A node whose text was never seen before, here or in another file.
#[derive(Debug, Clone)]
pub struct NewNode {
    pub id: String,
    pub title: String,
    pub text: String,
    /// One for each stretch of it.
    pub vectors: Vec<Vec<f32>>,
}

/// What one pass of the indexer did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Texts whose vectors were remembered.
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
        Self { library, cache, embedder, known: HashMap::new(), tell: None }
    }

    pub fn model(&self) -> &str {
        self.embedder.fingerprint()
    }

    /// Brings the vectors up to date with the library. Texts that were ever seen, here or in
    /// another file, are not computed again.
    pub fn catch_up(&mut self, progress: Progress<'_>) -> Result<Pass, IndexError> {
        let snapshot = self.library.snapshot();
        let wanted: Vec<(TextKey, NodeRef<'_>)> =
            snapshot.nodes().map(|node| (text_key(node), node)).collect();
        let mut pass = Pass { loaded: self.load(&wanted), computed: 0 };
        let is_first = self.known.is_empty();
        self.publish(&snapshot, &wanted);
        let mut missing: Vec<(TextKey, NodeRef<'_>)> = Vec::new();
        let mut listed = HashSet::new();
        for &(key, node) in &wanted {
            if !self.known.contains_key(&key) && listed.insert(key) {
                missing.push((key, node));
            }
        }
        let mut published = Instant::now();
        for batch in missing.chunks(BATCH) {
            self.compute(batch)?;
            pass.computed += batch.len();
            progress(pass.computed, missing.len());
            if published.elapsed() >= PUBLISH_EVERY {
                self.publish(&snapshot, &wanted);
                published = Instant::now();
            }
        }
        let current: HashSet<TextKey> = wanted.iter().map(|(key, _)| *key).collect();
        self.known.retain(|key, _| current.contains(key));
        self.publish(&snapshot, &wanted);
        if let Some(tell) = self.tell.as_ref().filter(|_| !is_first && !missing.is_empty()) {
            tell(missing.iter().filter_map(|(key, node)| self.new_node(key, *node)).collect());
        }
        Ok(pass)
    }

    fn new_node(&self, key: &TextKey, node: NodeRef<'_>) -> Option<NewNode> {
        let embedded = self.known.get(key)?;
        let length = embedded.vectors.len() / embedded.windows.len().max(1);
        Some(NewNode {
            id: node.id().to_owned(),
            title: trail(node),
            text: plain(&node.body()),
            vectors: embedded.vectors.chunks(length.max(1)).map(<[f32]>::to_vec).collect(),
        })
    }

    /// Only what is remembered; nothing is computed.
    pub fn recall(&mut self) {
        let snapshot = self.library.snapshot();
        let wanted: Vec<(TextKey, NodeRef<'_>)> =
            snapshot.nodes().map(|node| (text_key(node), node)).collect();
        self.load(&wanted);
        self.publish(&snapshot, &wanted);
    }

    fn load(&mut self, wanted: &[(TextKey, NodeRef<'_>)]) -> usize {
        let unknown: HashSet<TextKey> = wanted
            .iter()
            .map(|(key, _)| *key)
            .filter(|key| !self.known.contains_key(key))
            .collect();
        let unknown: Vec<TextKey> = unknown.into_iter().collect();
        match self.cache.load(self.embedder.fingerprint(), &unknown) {
            Ok(mut found) => {
                let remembered = found.len();
                found.retain(|_, embedded| embedded.is_sound());
                let loaded = found.len();
                if loaded < remembered {
                    tracing::warn!("{} vectors are damaged", remembered - loaded);
                }
                self.known.extend(found.into_iter().map(|(key, value)| (key, Arc::new(value))));
                loaded
            }
            Err(error) => {
                tracing::warn!(%error, "vectors are computed anew");
                0
            }
        }
    }

    fn compute(&mut self, batch: &[(TextKey, NodeRef<'_>)]) -> Result<(), IndexError> {
        let texts: Vec<(String, String)> =
            batch.iter().map(|(_, node)| (trail(*node), plain(&node.body()))).collect();
        let passages: Vec<Passage<'_>> =
            texts.iter().map(|(title, text)| Passage { title, text }).collect();
        let embedded = self.embedder.embed_passages(&passages)?;
        let entries: Vec<(TextKey, &Embedded)> =
            batch.iter().map(|(key, _)| *key).zip(&embedded).collect();
        if let Err(error) = self.cache.save(self.embedder.fingerprint(), &entries) {
            tracing::warn!(%error, "vectors are kept for this run only");
        }
        for ((key, _), embedded) in batch.iter().zip(embedded) {
            self.known.insert(*key, Arc::new(embedded));
        }
        Ok(())
    }

    /// Lets answers see what is known.
    fn publish(&self, snapshot: &Snapshot, wanted: &[(TextKey, NodeRef<'_>)]) {
        let mut complete: HashSet<u64> = snapshot.files().iter().map(|file| file.version).collect();
        let mut nodes = Vec::with_capacity(wanted.len());
        for (key, node) in wanted {
            match self.known.get(key) {
                Some(embedded) => nodes.push((node.key(), embedded.clone())),
                None => {
                    complete.remove(&node.file().version);
                }
            }
        }
        let vectors = Vectors::new(nodes);
        let embedder = Some(self.embedder.clone());
        self.library.publish(Semantic { embedder, vectors, complete });
    }
}

impl std::fmt::Debug for Indexer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Indexer").field("model", &self.model()).finish_non_exhaustive()
    }
}

/// Runs an [`Indexer`] beside a server, for as long as it lives.
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
        tell: Option<Tell>,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let handle = Self { library: library.clone(), stop: stop.clone() };
        std::thread::Builder::new().name("indexer".to_owned()).spawn(move || {
            if let Err(error) = follow(&library, cache, model, tell, &stop) {
                tracing::error!(%error, "only keyword search is available");
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

fn follow(
    library: &Arc<Library>,
    cache: Arc<dyn VectorCache>,
    model: LoadingModel,
    tell: Option<Tell>,
    stop: &AtomicBool,
) -> Result<(), IndexError> {
    let mut indexer = Indexer::new(library.clone(), cache, model.wait()?);
    indexer.tell = tell;
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

fn text_key(node: NodeRef<'_>) -> TextKey {
    TextKey::of(&trail(node), &node.body())
}

/// A node's title below the title of its file: a heading such as `Setup` says little alone.
fn trail(node: NodeRef<'_>) -> String {
    let root = node.root();
    if root.title() == node.title() {
        return node.title().to_owned();
    }
    format!("{}: {}", root.title(), node.title())
}
