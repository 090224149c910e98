//! Nearest-neighbour search over the nodes' embeddings, in memory.
//!
//! All vectors are scored in 8 bits and the best are scored again in full precision. A large
//! collection is first reduced by Hamming distance of the sign bits. There is no graph index: a
//! scan needs no rebuild when nodes change.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use kenning_embed::{DIMENSIONS, Embedded};
use rayon::prelude::*;
use rten_simd::{Isa, SimdOp};

use crate::keyword::NodeKey;
use crate::top_k::TopK;

/// From this many vectors on, the sign bits select the candidates to score.
const SIGN_FILTER_FROM: usize = 50_000;
/// How many candidates the sign bits select.
const SIGN_CANDIDATES: usize = 2_000;
/// Vectors scored in one batch, before the best are kept.
const BLOCK: usize = 512;
/// The same for sign bits. Comparing them is quicker, so a batch has to be larger to be worth a
/// thread.
const SIGN_BLOCK: usize = 16_384;
/// Candidates that are scored again in full precision, beyond those requested.
const RESCORED: usize = 50;

/// Nodes that are compared with a query to know how similar ordinary nodes are.
const BACKGROUND_SAMPLE: usize = 512;

const WORDS: usize = DIMENSIONS / 64;
type Signs = [u64; WORDS];

/// The vectors of many nodes.
#[derive(Default)]
pub(crate) struct Vectors {
    /// Sorted by key.
    nodes: Vec<(NodeKey, Arc<Embedded>)>,
    /// Node and window of each vector.
    owners: Vec<(u32, u32)>,
    quantized: Vec<i8>,
    scales: Vec<f32>,
    signs: Vec<Signs>,
}

/// A node with its similarity to a query: that of the most similar of its windows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Neighbor {
    pub(crate) key: NodeKey,
    pub(crate) cosine: f32,
    pub(crate) window: usize,
}

impl Vectors {
    pub(crate) fn new(mut nodes: Vec<(NodeKey, Arc<Embedded>)>) -> Self {
        nodes.sort_by_key(|(key, _)| *key);
        let mut vectors = Self::default();
        for (node, (_, embedded)) in (0..).zip(&nodes) {
            for (window, vector) in (0..).zip(embedded.vectors()) {
                vectors.owners.push((node, window));
                vectors.push(vector);
            }
        }
        vectors.nodes = nodes;
        vectors
    }

    fn push(&mut self, vector: &[f32]) {
        let (values, scale) = quantized(vector);
        self.quantized.extend(values);
        self.scales.push(scale);
        self.signs.push(signs(vector));
    }

    pub(crate) fn len(&self) -> usize {
        self.owners.len()
    }

    /// The `limit` nodes nearest to `query` that `accepts` lets through, nearest first.
    pub(crate) fn nearest(
        &self,
        query: &[f32],
        limit: usize,
        accepts: impl Fn(NodeKey) -> bool + Sync,
    ) -> Vec<Neighbor> {
        let keep = limit * 2 + RESCORED;
        let candidates = if self.len() >= SIGN_FILTER_FROM {
            let candidates = self.nearest_by_sign(query, SIGN_CANDIDATES.max(keep * 4), &accepts);
            self.best_of(&candidates, query, keep)
        } else {
            self.best_of_all(query, keep, &accepts)
        };
        let mut nearest: HashMap<NodeKey, Neighbor> = HashMap::new();
        for at in candidates {
            let neighbor = self.neighbor(query, at);
            let best = nearest.entry(neighbor.key).or_insert(neighbor);
            if neighbor.cosine > best.cosine {
                *best = neighbor;
            }
        }
        let mut nearest: Vec<Neighbor> = nearest.into_values().collect();
        nearest.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.key.cmp(&b.key)));
        nearest.truncate(limit);
        nearest
    }

    /// How similar ordinary nodes are to a query, from a sample; `None` if there are no vectors.
    pub(crate) fn background(&self, query: &[f32]) -> Option<Background> {
        let step = self.nodes.len().div_ceil(BACKGROUND_SAMPLE).max(1);
        let nodes = self.nodes.iter().step_by(step);
        let sample: Vec<f32> = nodes
            .filter_map(|(_, embedded)| most_similar(embedded, query))
            .map(|(_, c)| c)
            .collect();
        (!sample.is_empty()).then(|| Background::of(&sample))
    }

    /// The similarity of one node; `None` if it has no vectors yet.
    pub(crate) fn similarity(&self, key: NodeKey, query: &[f32]) -> Option<Neighbor> {
        let (window, cosine) = most_similar(self.embedded(key)?, query)?;
        Some(Neighbor { key, cosine, window })
    }

    /// The byte range of the window in the node's text.
    pub(crate) fn window(&self, neighbor: Neighbor) -> Option<Range<usize>> {
        self.embedded(neighbor.key)?.windows.get(neighbor.window).cloned()
    }

    fn embedded(&self, key: NodeKey) -> Option<&Embedded> {
        let node = self.nodes.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(&self.nodes[node].1)
    }

    fn owner(&self, at: usize) -> NodeKey {
        self.nodes[self.owners[at].0 as usize].0
    }

    /// The full-precision similarity of the vector at a position.
    fn neighbor(&self, query: &[f32], at: usize) -> Neighbor {
        let (node, window) = self.owners[at];
        let (key, embedded) = &self.nodes[node as usize];
        let window = window as usize;
        let vector = &embedded.vectors[window * DIMENSIONS..][..DIMENSIONS];
        Neighbor { key: *key, cosine: cosine(vector, query), window }
    }

    /// Positions of the `keep` best vectors by 8-bit score.
    fn best_of_all(
        &self,
        query: &[f32],
        keep: usize,
        accepts: &(impl Fn(NodeKey) -> bool + Sync),
    ) -> Vec<usize> {
        let (query, _) = quantized(query);
        let blocks = self.quantized.par_chunks(BLOCK * DIMENSIONS).enumerate();
        let best = blocks.fold(
            || TopK::new(keep),
            |mut best, (block, vectors)| {
                let mut dots = [0_i32; BLOCK];
                Dots { query: &query, vectors, out: &mut dots }.dispatch();
                let first = block * BLOCK;
                for (i, &dot) in dots.iter().take(vectors.len() / DIMENSIONS).enumerate() {
                    let at = first + i;
                    let score = dot as f32 * self.scales[at];
                    best.offer(score, at, || accepts(self.owner(at)));
                }
                best
            },
        );
        best.reduce(|| TopK::new(keep), TopK::merged).into_vec()
    }

    /// The same among `candidates`, which are filtered already.
    fn best_of(&self, candidates: &[usize], query: &[f32], keep: usize) -> Vec<usize> {
        let (query, _) = quantized(query);
        let mut best = TopK::new(keep);
        for &at in candidates {
            let mut dot = [0_i32];
            let vector = &self.quantized[at * DIMENSIONS..][..DIMENSIONS];
            Dots { query: &query, vectors: vector, out: &mut dot }.dispatch();
            best.offer(dot[0] as f32 * self.scales[at], at, || true);
        }
        best.into_vec()
    }

    /// Positions of about `keep` vectors whose sign bits differ least from those of the query.
    fn nearest_by_sign(
        &self,
        query: &[f32],
        keep: usize,
        accepts: &(impl Fn(NodeKey) -> bool + Sync),
    ) -> Vec<usize> {
        let query = signs(query);
        let mut distances = vec![0_u16; self.signs.len()];
        let blocks = self.signs.par_chunks(SIGN_BLOCK).zip(distances.par_chunks_mut(SIGN_BLOCK));
        blocks.for_each(|(signs, distances)| {
            Hamming { query: &query, vectors: signs, out: distances }.dispatch();
        });
        let accepts = |at: &usize| accepts(self.owner(*at));
        let mut nearest = smallest(&distances, keep, |_| true);
        nearest.retain(accepts);
        // Filtering every vector costs more than everything else here, and a filter usually lets
        // most of them through. So it comes last, and first only if too few are left.
        if nearest.len() < keep / 2 {
            nearest = smallest(&distances, keep, accepts);
        }
        nearest
    }
}

/// Positions of the `keep` smallest distances that `accepts` lets through, and of all that tie with
/// the last of them. Distances are small integers, so a histogram replaces sorting.
fn smallest(distances: &[u16], keep: usize, accepts: impl Fn(&usize) -> bool) -> Vec<usize> {
    let mut histogram = [0_usize; DIMENSIONS + 1];
    for (_, &distance) in distances.iter().enumerate().filter(|(at, _)| accepts(at)) {
        histogram[usize::from(distance)] += 1;
    }
    let mut so_far = 0;
    let cutoff = histogram.iter().position(|vectors| {
        so_far += vectors;
        so_far >= keep
    });
    let cutoff = cutoff.unwrap_or(DIMENSIONS);
    let below = distances.iter().enumerate().filter(|(_, d)| usize::from(**d) <= cutoff);
    below.map(|(at, _)| at).filter(accepts).collect()
}

/// The window that is most similar to a query, with its cosine.
fn most_similar(embedded: &Embedded, query: &[f32]) -> Option<(usize, f32)> {
    let windows = embedded.vectors().enumerate();
    windows
        .map(|(window, vector)| (window, cosine(vector, query)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The distribution of the cosines of ordinary nodes to a query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Background {
    mean: f64,
    deviation: f64,
}

impl Background {
    /// A few nodes say little about a distribution, so so many nodes of an ordinary base count, too.
    const PRIOR_NODES: f64 = 10.0;
    /// The mean and the deviation of ordinary bases with the bundled model.
    const PRIOR: (f64, f64) = (0.12, 0.1);

    pub(crate) fn of(sample: &[f32]) -> Self {
        let (mean, deviation) = Self::PRIOR;
        let count = sample.len() as f64 + Self::PRIOR_NODES;
        let values = || sample.iter().copied().map(f64::from);
        let sum: f64 = values().sum();
        let own = (sum + mean * Self::PRIOR_NODES) / count;
        let squares: f64 = values().map(|value| (value - own).powi(2)).sum();
        let prior = (deviation.powi(2) + (mean - own).powi(2)) * Self::PRIOR_NODES;
        Self { mean: own, deviation: ((squares + prior) / count).sqrt() }
    }

    /// How far a cosine lies above the mean, in standard deviations.
    pub(crate) fn surprise(self, cosine: f32) -> f64 {
        (f64::from(cosine) - self.mean) / self.deviation
    }
}

/// The dot product, which for unit vectors is the cosine. Eight partial sums let the compiler use
/// SIMD, which it may not do for one sum of floats.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

/// A vector in 8 bits, with the scale that turns it back. Scores are compared for one query at a
/// time, so the scale of the query does not matter.
#[expect(clippy::cast_possible_truncation, reason = "the value lies between -127 and 127")]
fn quantized(vector: &[f32]) -> (Vec<i8>, f32) {
    let largest = vector.iter().fold(f32::MIN_POSITIVE, |max, value| max.max(value.abs()));
    let values = vector.iter().map(|value| (value / largest * 127.0).round() as i8);
    (values.collect(), largest / 127.0)
}

fn signs(vector: &[f32]) -> Signs {
    let mut signs = [0; WORDS];
    for (i, value) in vector.iter().enumerate() {
        signs[i / 64] |= u64::from(*value > 0.0) << (i % 64);
    }
    signs
}

/// The dot product of each vector with the query. The loop is plain; it is compiled for several
/// instruction sets, of which `dispatch` selects one at run time.
struct Dots<'a> {
    query: &'a [i8],
    vectors: &'a [i8],
    out: &'a mut [i32],
}

impl SimdOp for Dots<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "it must become part of the dispatched function")]
    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        for (vector, dot) in self.vectors.chunks_exact(DIMENSIONS).zip(self.out) {
            let products = vector.iter().zip(self.query);
            *dot = products.map(|(&a, &b)| i32::from(a) * i32::from(b)).sum();
        }
    }
}

/// How many signs of each vector differ from those of the query.
struct Hamming<'a> {
    query: &'a Signs,
    vectors: &'a [Signs],
    out: &'a mut [u16],
}

impl SimdOp for Hamming<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "it must become part of the dispatched function")]
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "there are 384 signs")]
    fn eval<I: Isa>(self, _: I) {
        for (vector, distance) in self.vectors.iter().zip(self.out) {
            let pairs = vector.iter().zip(self.query);
            *distance = pairs.map(|(a, b)| (a ^ b).count_ones() as u16).sum();
        }
    }
}

impl std::fmt::Debug for Vectors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vectors").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unit vectors in loose clusters, like those of texts on a few subjects.
    fn clusters(count: usize) -> Vec<f32> {
        let mut state = 7_u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
        };
        let centres: Vec<f32> = (0..20 * DIMENSIONS).map(|_| random()).collect();
        let mut all = Vec::with_capacity(count * DIMENSIONS);
        for i in 0..count {
            let centre = &centres[i % 20 * DIMENSIONS..][..DIMENSIONS];
            let vector: Vec<f32> = centre.iter().map(|value| value + random()).collect();
            let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            all.extend(vector.iter().map(|value| value / norm));
        }
        all
    }

    fn node(vectors: &[f32]) -> Arc<Embedded> {
        let windows = (0..vectors.len() / DIMENSIONS).map(|i| i..i + 1).collect();
        Arc::new(Embedded { windows, vectors: vectors.to_vec() })
    }

    fn recall(count: usize) -> f32 {
        let all = clusters(count + 20);
        let key = |i: usize| NodeKey::new(i as u64, 0);
        let (stored, queries) = all.split_at(count * DIMENSIONS);
        let nodes = stored.chunks_exact(DIMENSIONS).enumerate().map(|(i, v)| (key(i), node(v)));
        let vectors = Vectors::new(nodes.collect());
        let mut found = 0;
        for query in queries.chunks_exact(DIMENSIONS) {
            let mut exact: Vec<(f32, usize)> =
                (0..count).map(|i| (vectors.neighbor(query, i).cosine, i)).collect();
            exact.sort_by(|a, b| b.0.total_cmp(&a.0));
            let expected: Vec<NodeKey> = exact[..10].iter().map(|(_, i)| key(*i)).collect();
            let nearest = vectors.nearest(query, 10, |_| true);
            found += nearest.iter().filter(|near| expected.contains(&near.key)).count();
        }
        found as f32 / 200.0
    }

    #[test]
    fn quantization_loses_no_neighbor() {
        assert!(recall(3_000) > 0.999);
    }

    #[test]
    fn the_sign_filter_loses_hardly_any_neighbor() {
        assert!(recall(SIGN_FILTER_FROM + 1) > 0.98);
    }

    #[test]
    fn the_smallest_distances_are_selected_after_filtering() {
        let distances = [5, 1, 9, 1, 3, 384];
        assert_eq!(smallest(&distances, 1, |_| true), [1, 3]);
        assert_eq!(smallest(&distances, 3, |_| true), [1, 3, 4]);
        assert_eq!(smallest(&distances, 2, |at| *at != 1), [3, 4]);
        assert_eq!(smallest(&distances, 9, |at| at % 2 == 1), [1, 3, 5]);
    }

    #[test]
    fn a_node_is_as_near_as_its_nearest_window_and_the_filter_applies() {
        let all = clusters(9);
        let key = |i: usize| NodeKey::new(i as u64, 1);
        let nodes = all.chunks_exact(3 * DIMENSIONS).enumerate().map(|(i, v)| (key(i), node(v)));
        let vectors = Vectors::new(nodes.collect());
        assert_eq!(vectors.len(), 9);
        let query = &all[5 * DIMENSIONS..][..DIMENSIONS];
        let nearest = vectors.nearest(query, 3, |_| true);
        assert_eq!((nearest[0].key, nearest[0].window), (key(1), 2));
        assert!((nearest[0].cosine - 1.0).abs() < 1e-5);
        assert_eq!(vectors.similarity(key(1), query), Some(nearest[0]));
        assert_eq!(vectors.similarity(key(7), query), None);
        let others = vectors.nearest(query, 3, |node| node != key(1));
        assert_eq!(others.len(), 2);
    }
}
