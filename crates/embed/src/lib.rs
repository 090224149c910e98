//! Computes vectors of text.
//!
//! The built-in model is all-MiniLM-L6-v2: 384 dimensions, at most 256 tokens, mean pooling, L2
//! normalisation. Its weights are part of the binary, quantised to 8 bits per channel. Another
//! sentence-transformer of 384 dimensions is loaded from its folder, and run as its own files say
//! (`folder`). A text longer than the model's window is split, so that every part of it is embedded.
//!
//! **Invariant: this crate knows nothing of nodes, of their files or of stored vectors.**

mod folder;
mod network;
mod passage;
mod pools;
mod query_cache;
mod tokenizer;

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::ScopedJoinHandle;

use rten::ThreadPool;

use folder::{Folder, Recipe};
use network::Network;
use passage::Splitter;
pub use passage::{Embedded, Passage};
use pools::QueryPools;
use query_cache::QueryCache;
use tokenizer::Tokenizer;
pub use tokenizer::TokenizerError;

/// Length of every vector. Models of other dimensions are refused.
pub const DIMENSIONS: usize = 384;

static WEIGHTS: &[u8] = include_bytes!("../model/minilm-l6-v2-int8.onnx");
static TOKENIZER_JSON: &[u8] = include_bytes!("../model/tokenizer.json");

/// A loaded model.
pub struct Embedder {
    network: Network,
    tokenizer: Tokenizer,
    recipe: Recipe,
    fingerprint: String,
    queries: QueryCache,
    passage_pools: Vec<Arc<ThreadPool>>,
    query_pools: QueryPools,
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("`{}` cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("the model's weights, `model.onnx`, cannot be used: {0}")]
    Weights(#[from] rten::LoadError),
    #[error("the model's tokenizer `{}` cannot be used: {source}", path.display())]
    Tokenizer { path: PathBuf, source: TokenizerError },
    #[error("`{}` cannot be read: {source}", path.display())]
    Json { path: PathBuf, source: serde_json::Error },
    #[error(
        "`{}` is missing, so it is not known how the vectors of the tokens become one: copy it from \
         the model, or write `{{\"pooling_mode\": \"mean\"}}` or `{{\"pooling_mode\": \"cls\"}}` into it",
        path.display()
    )]
    NoPooling { path: PathBuf },
    #[error("the model cannot be run as `{}` says: {found}; only {supported} can be", path.display())]
    Unsupported { path: PathBuf, found: String, supported: &'static str },
    #[error("the model's `model.onnx` has the {kind} `{found}`; supported are {supported}")]
    Graph { kind: &'static str, found: String, supported: &'static str },
    #[error(
        "the model's `model.onnx` has {0} dimensions; only models of {DIMENSIONS} are supported"
    )]
    Dimensions(usize),
    #[error("the model cannot be run on {tokens} tokens, the window that its files name: {source}")]
    Run { tokens: usize, source: EmbedError },
}

#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    #[error("the model failed: {0}")]
    Run(#[from] rten::RunError),
    #[error("the model's answer has an unexpected shape")]
    Shape,
}

impl Embedder {
    /// The bundled model.
    pub fn bundled() -> Result<Self, LoadError> {
        let path = Path::new("tokenizer.json");
        let tokenizer = Tokenizer::from_json(TOKENIZER_JSON)
            .map_err(|source| LoadError::Tokenizer { path: path.to_owned(), source })?;
        let fingerprint = fingerprint(WEIGHTS, TOKENIZER_JSON, &Recipe::bundled());
        Ok(Self::new(Network::bundled(WEIGHTS)?, tokenizer, Recipe::bundled(), fingerprint))
    }

    /// The bundled model, loaded on the first call; `None` if it cannot be loaded.
    pub fn shared_bundled() -> Option<&'static Self> {
        static MODEL: OnceLock<Option<Embedder>> = OnceLock::new();
        MODEL.get_or_init(|| Self::bundled().ok()).as_ref()
    }

    /// Loads a sentence-transformer from its folder: `model.onnx`, `tokenizer.json`,
    /// `1_Pooling/config.json`, and the other files of it that there are.
    pub fn load(folder: &Path) -> Result<Self, LoadError> {
        let folder = Folder(folder);
        let weights = folder.weights()?;
        let (tokenizer, tokenizer_json) = folder.tokenizer()?;
        let recipe = folder.recipe(&tokenizer)?;
        let fingerprint = fingerprint(&weights, &tokenizer_json, &recipe);
        let embedder = Self::new(Network::load(weights)?, tokenizer, recipe, fingerprint);
        embedder.try_out()?;
        Ok(embedder)
    }

    fn new(network: Network, tokenizer: Tokenizer, recipe: Recipe, fingerprint: String) -> Self {
        Self {
            network,
            tokenizer,
            recipe,
            fingerprint,
            queries: QueryCache::default(),
            passage_pools: pools::per_core(),
            query_pools: QueryPools::new(),
        }
    }

    /// Runs a text that fills the window, which shows that the network takes as many tokens, and that
    /// its vectors have the right length.
    fn try_out(&self) -> Result<(), LoadError> {
        let tokens = vec![self.tokenizer.end; self.recipe.max_tokens];
        let vector = self.run_query(&tokens);
        let vector = vector.map_err(|source| LoadError::Run { tokens: tokens.len(), source })?;
        match vector.len() {
            DIMENSIONS => Ok(()),
            other => Err(LoadError::Dimensions(other)),
        }
    }

    /// The fingerprint of the bundled model, without loading it.
    pub fn bundled_fingerprint() -> String {
        fingerprint(WEIGHTS, TOKENIZER_JSON, &Recipe::bundled())
    }

    /// The fingerprint of the model in a folder, without loading it.
    pub fn fingerprint_in(folder: &Path) -> Result<String, LoadError> {
        let folder = Folder(folder);
        let (tokenizer, tokenizer_json) = folder.tokenizer()?;
        let recipe = folder.recipe(&tokenizer)?;
        Ok(fingerprint(&folder.weights()?, &tokenizer_json, &recipe))
    }

    /// Identifies the model: vectors of different models cannot be compared.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Whether this is the model that is built in.
    pub fn is_bundled(&self) -> bool {
        self.network.is_bundled()
    }

    /// The vector of a short text, such as a query. Text beyond the window is ignored. The vectors of
    /// the last queries are kept.
    pub fn embed(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.queries.get_or_compute(text, || {
            let tokens = self.splitter().clipped(&self.recipe.query_prompt, text);
            self.run_query(&tokens)
        })
    }

    /// The vectors of passages of any length, computed on all cores.
    pub fn embed_passages(&self, passages: &[Passage<'_>]) -> Result<Vec<Embedded>, EmbedError> {
        let next = AtomicUsize::new(0);
        let work = |pool: &Arc<ThreadPool>| {
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(passage) = passages.get(index) else { return Ok(done) };
                done.push((index, self.embed_passage(passage, pool)?));
            }
        };
        let outcomes: Vec<Result<Vec<_>, EmbedError>> = std::thread::scope(|scope| {
            let workers: Vec<_> =
                self.passage_pools.iter().map(|pool| scope.spawn(|| work(pool))).collect();
            let done = workers.into_iter().map(ScopedJoinHandle::join);
            done.map(|outcome| outcome.unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        let mut done: Vec<(usize, Embedded)> = Vec::with_capacity(passages.len());
        for outcome in outcomes {
            done.extend(outcome?);
        }
        done.sort_by_key(|(index, _)| *index);
        Ok(done.into_iter().map(|(_, embedded)| embedded).collect())
    }

    fn embed_passage(
        &self,
        passage: &Passage<'_>,
        pool: &Arc<ThreadPool>,
    ) -> Result<Embedded, EmbedError> {
        let windows = self.splitter().windows(passage);
        let vectors = windows.iter().map(|window| self.run(&window.tokens, pool));
        let vectors = vectors.collect::<Result<Vec<_>, EmbedError>>()?.concat();
        Ok(Embedded { windows: windows.into_iter().map(|w| w.range).collect(), vectors })
    }

    fn splitter(&self) -> Splitter<'_> {
        Splitter {
            tokenizer: &self.tokenizer,
            max_tokens: self.recipe.max_tokens,
            prompt: &self.recipe.document_prompt,
        }
    }

    fn run_query(&self, tokens: &[u32]) -> Result<Vec<f32>, EmbedError> {
        self.query_pools.run(tokens.len(), |pool| self.run(tokens, pool))
    }

    fn run(&self, tokens: &[u32], pool: &Arc<ThreadPool>) -> Result<Vec<f32>, EmbedError> {
        self.network.run(tokens, self.recipe.pooling, pool)
    }
}

/// Hash of all that the vectors depend on beside the text.
fn fingerprint(weights: &[u8], tokenizer: &[u8], recipe: &Recipe) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(weights).update(tokenizer);
    // Vectors that were stored before there were other recipes are still found.
    if *recipe != Recipe::bundled() {
        hash.update(format!("{recipe:?}").as_bytes());
    }
    hash.finalize().to_hex()[..16].to_owned()
}

impl std::fmt::Debug for Embedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Embedder").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}
