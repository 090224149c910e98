//! Computes vectors of text.
//!
//! The model is all-MiniLM-L6-v2: 384 dimensions, at most 256 tokens, mean pooling, L2
//! normalisation. Its weights are part of the binary, quantised to 8 bits per channel. A text longer
//! than the model's window is split, so that every part of it is embedded.
//!
//! **Invariant: this crate knows nothing of nodes, files or caches.**

mod passage;
mod wordpiece;

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

use rten::{Model, ModelOptions, RunOptions, ThreadPool};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};

pub use passage::{Embedded, Passage};
pub use wordpiece::TokenizerError;
use wordpiece::WordPiece;

/// Length of every vector.
pub const DIMENSIONS: usize = 384;
/// The model's window, including its two markers.
pub const MAX_TOKENS: usize = 256;
/// A short text does not run faster on more.
const QUERY_CORES: usize = 4;
const TOKENIZER: &str = "tokenizer.json";

static WEIGHTS: &[u8] = include_bytes!("../model/minilm-l6-v2-int8.onnx");
static TOKENIZER_JSON: &[u8] = include_bytes!("../model/tokenizer.json");

/// A loaded model.
pub struct Embedder {
    model: Model,
    tokenizer: WordPiece,
    fingerprint: String,
    /// One thread each: a passage runs on one core, and passages run in parallel. Not rayon, whose
    /// threads take up more work on the same stack while they wait for another pool.
    passage_pools: Vec<Arc<ThreadPool>>,
    /// Queries are latency-sensitive: they run on several cores and do not queue behind passages.
    query_pool: Arc<ThreadPool>,
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("`{}` cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("the model's weights cannot be used: {0}")]
    Weights(#[from] rten::LoadError),
    #[error("the model's tokenizer `{}` cannot be used: {source}", path.display())]
    Tokenizer { path: PathBuf, source: TokenizerError },
    #[error("the model has {0} dimensions; it must have {DIMENSIONS}")]
    Dimensions(usize),
    #[error("the model cannot be run: {0}")]
    Run(#[from] EmbedError),
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
        let model = options().load_static_slice(WEIGHTS)?;
        Self::new(model, WEIGHTS, TOKENIZER_JSON, Path::new(TOKENIZER))
    }

    /// Loads a model from a folder with `model.onnx` and `tokenizer.json`.
    pub fn load(folder: &Path) -> Result<Self, LoadError> {
        let (weights, tokenizer) = read_folder(folder)?;
        let model = options().load(weights.clone())?;
        let embedder = Self::new(model, &weights, &tokenizer, &folder.join(TOKENIZER))?;
        match embedder.embed("")?.len() {
            DIMENSIONS => Ok(embedder),
            other => Err(LoadError::Dimensions(other)),
        }
    }

    fn new(model: Model, weights: &[u8], tokenizer: &[u8], path: &Path) -> Result<Self, LoadError> {
        let fingerprint = fingerprint(weights, tokenizer);
        let tokenizer = WordPiece::from_json(tokenizer)
            .map_err(|source| LoadError::Tokenizer { path: path.to_owned(), source })?;
        Ok(Self {
            model,
            tokenizer,
            fingerprint,
            passage_pools: single_pools(),
            query_pool: Arc::new(ThreadPool::with_num_threads(cores().min(QUERY_CORES))),
        })
    }

    /// The fingerprint of the bundled model, without loading it.
    pub fn bundled_fingerprint() -> String {
        fingerprint(WEIGHTS, TOKENIZER_JSON)
    }

    /// The fingerprint of the model in a folder, without loading it.
    pub fn fingerprint_in(folder: &Path) -> Result<String, LoadError> {
        let (weights, tokenizer) = read_folder(folder)?;
        Ok(fingerprint(&weights, &tokenizer))
    }

    /// Identifies the model: vectors of different models cannot be compared.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The vector of a short text, such as a query. Text beyond the window is ignored.
    pub fn embed(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.run(&passage::clipped(text, &self.tokenizer), &self.query_pool)
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
        let windows = passage.windows(&self.tokenizer);
        let vectors = windows.iter().map(|window| self.run(&window.tokens, pool));
        let vectors = vectors.collect::<Result<Vec<_>, EmbedError>>()?.concat();
        Ok(Embedded { windows: windows.into_iter().map(|w| w.range).collect(), vectors })
    }

    /// Runs the model on one text. Texts are not batched: activations are quantised by their range in
    /// a run, so a vector would depend on the other texts, and with packed weights a batch is not
    /// faster.
    fn run(&self, tokens: &[u32], pool: &Arc<ThreadPool>) -> Result<Vec<f32>, EmbedError> {
        let ids = NdTensor::from_fn([1, tokens.len()], |[_, token]| tokens[token].cast_signed());
        let mask = NdTensor::full([1, tokens.len()], 1_i32);
        let inputs = vec![
            (self.model.node_id("input_ids")?, ids.view().into()),
            (self.model.node_id("attention_mask")?, mask.view().into()),
        ];
        let output = self.model.node_id("last_hidden_state")?;
        let mut options = RunOptions::default();
        options.thread_pool = Some(pool.clone());
        let [states] = self.model.run_n(inputs, [output], Some(options))?;
        let states: NdTensor<f32, 3> = states.try_into().map_err(|_| EmbedError::Shape)?;
        Ok(mean(states.slice(0)))
    }
}

/// Weights and tokenizer.
fn read_folder(folder: &Path) -> Result<(Vec<u8>, Vec<u8>), LoadError> {
    let read = |name: &str| {
        let path = folder.join(name);
        std::fs::read(&path).map_err(|source| LoadError::Unreadable { path, source })
    };
    Ok((read("model.onnx")?, read(TOKENIZER)?))
}

fn fingerprint(weights: &[u8], tokenizer: &[u8]) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(weights).update(tokenizer);
    hash.finalize().to_hex()[..16].to_owned()
}

/// One single-threaded pool per core.
fn single_pools() -> Vec<Arc<ThreadPool>> {
    (0..cores()).map(|_| Arc::new(ThreadPool::with_num_threads(1))).collect()
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Packs the weights once on loading, which makes every run several times faster.
fn options() -> ModelOptions {
    let mut options = ModelOptions::with_all_ops();
    options.prepack_weights(true);
    options
}

/// Mean pooling and L2 normalisation.
fn mean(states: NdTensorView<'_, f32, 2>) -> Vec<f32> {
    let mut sum = vec![0.0_f32; states.size(1)];
    for token in 0..states.size(0) {
        for (total, value) in sum.iter_mut().zip(states.slice(token).iter()) {
            *total += value;
        }
    }
    let norm = sum.iter().map(|value| value * value).sum::<f32>().sqrt();
    if norm > 0.0 {
        for value in &mut sum {
            *value /= norm;
        }
    }
    sum
}

impl std::fmt::Debug for Embedder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Embedder").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}
