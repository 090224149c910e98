//! Nearest vectors, exactly enough: 8-bit scores for all, full precision for the best.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use kenning_embed::{DIMENSIONS, Embedded};
use pulp::Arch;
use rayon::prelude::*;

use crate::keyword::NodeKey;

/// From this many vectors on, a comparison of signs chooses whom to score at all.
const SIGNS_FROM: usize = 50_000;
/// How many of those it lets through.
const SIGNS_KEEP: usize = 2_000;
/// Vectors scored in one go, before the best are picked out.
const BLOCK: usize = 512;
/// The same for signs, which are quicker: waking a thread must pay.
const SIGNS_BLOCK: usize = 16_384;
/// Candidates that are scored again in full precision, besides those asked for.
const RESCORED: usize = 50;

const WORDS: usize = DIMENSIONS / 64;
type Signs = [u64; WORDS];

/// The vectors of many nodes.
#[derive(Default)]
pub(crate) struct Vectors {
    /// By key.
    nodes: Vec<(NodeKey, Arc<Embedded>)>,
    /// Node and window that each vector is of.
    places: Vec<(u32, u32)>,
    rounded: Vec<i8>,
    scales: Vec<f32>,
    signs: Vec<Signs>,
}

/// A node with its similarity to a query: the best of its vectors, and which one that was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Near {
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
                vectors.places.push((node, window));
                vectors.push(vector);
            }
        }
        vectors.nodes = nodes;
        vectors
    }

    fn push(&mut self, vector: &[f32]) {
        let largest = vector.iter().fold(f32::MIN_POSITIVE, |max, value| max.max(value.abs()));
        self.rounded.extend(vector.iter().map(|value| round(value / largest)));
        self.scales.push(largest / 127.0);
        self.signs.push(signs(vector));
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The `limit` nodes nearest to `query` that `wanted` lets through, nearest first.
    pub(crate) fn nearest(
        &self,
        query: &[f32],
        limit: usize,
        wanted: impl Fn(NodeKey) -> bool + Sync,
    ) -> Vec<Near> {
        let keep = limit * 2 + RESCORED;
        let candidates = if self.len() >= SIGNS_FROM {
            let alike = self.alike_in_sign(query, SIGNS_KEEP.max(keep * 4), &wanted);
            self.best_rounded(query, keep, &wanted, &alike)
        } else {
            self.best_rounded_of_all(query, keep, &wanted)
        };
        let mut nearest: HashMap<NodeKey, Near> = HashMap::new();
        for at in candidates {
            let near = self.near(query, at);
            let best = nearest.entry(near.key).or_insert(near);
            if near.cosine > best.cosine {
                *best = near;
            }
        }
        let mut nearest: Vec<Near> = nearest.into_values().collect();
        nearest.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.key.cmp(&b.key)));
        nearest.truncate(limit);
        nearest
    }

    /// How near one node is; `None` if it has no vectors yet.
    pub(crate) fn of(&self, key: NodeKey, query: &[f32]) -> Option<Near> {
        let node = self.nodes.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        let all = self.nodes[node].1.vectors().enumerate();
        let near = all.map(|(window, vector)| Near { key, cosine: cosine(vector, query), window });
        near.max_by(|a, b| a.cosine.total_cmp(&b.cosine))
    }

    /// The bytes of a node's text that one of its vectors is of.
    pub(crate) fn window(&self, near: Near) -> Option<Range<usize>> {
        let node = self.nodes.binary_search_by_key(&near.key, |(key, _)| *key).ok()?;
        self.nodes[node].1.windows.get(near.window).cloned()
    }

    fn owner(&self, at: usize) -> NodeKey {
        self.nodes[self.places[at].0 as usize].0
    }

    fn near(&self, query: &[f32], at: usize) -> Near {
        let (node, window) = self.places[at];
        let (key, embedded) = &self.nodes[node as usize];
        let window = window as usize;
        let vector = &embedded.vectors[window * DIMENSIONS..][..DIMENSIONS];
        Near { key: *key, cosine: cosine(vector, query), window }
    }

    fn best_rounded_of_all(
        &self,
        query: &[f32],
        keep: usize,
        wanted: &(impl Fn(NodeKey) -> bool + Sync),
    ) -> Vec<usize> {
        let query = rounded(query);
        let arch = Arch::new();
        let blocks = self.rounded.par_chunks(BLOCK * DIMENSIONS).enumerate();
        let best = blocks.fold(
            || Best::new(keep),
            |mut best, (block, vectors)| {
                let mut dots = [0_i32; BLOCK];
                arch.dispatch(|| dot_all(&query, vectors, &mut dots));
                let first = block * BLOCK;
                for (i, &dot) in dots.iter().take(vectors.len() / DIMENSIONS).enumerate() {
                    let at = first + i;
                    let score = dot as f32 * self.scales[at];
                    best.offer(score, at, || wanted(self.owner(at)));
                }
                best
            },
        );
        best.reduce(|| Best::new(keep), Best::merged).into_vec()
    }

    fn best_rounded(
        &self,
        query: &[f32],
        keep: usize,
        wanted: &(impl Fn(NodeKey) -> bool + Sync),
        among: &[usize],
    ) -> Vec<usize> {
        let query = rounded(query);
        let arch = Arch::new();
        let mut best = Best::new(keep);
        for &at in among {
            let mut dot = [0_i32];
            let vector = &self.rounded[at * DIMENSIONS..][..DIMENSIONS];
            arch.dispatch(|| dot_all(&query, vector, &mut dot));
            best.offer(dot[0] as f32 * self.scales[at], at, || wanted(self.owner(at)));
        }
        best.into_vec()
    }

    /// The vectors whose signs agree most with the query's, some `keep` of them.
    fn alike_in_sign(
        &self,
        query: &[f32],
        keep: usize,
        wanted: &(impl Fn(NodeKey) -> bool + Sync),
    ) -> Vec<usize> {
        let query = signs(query);
        let arch = Arch::new();
        let mut differing = vec![0_u16; self.signs.len()];
        let blocks = self.signs.par_chunks(SIGNS_BLOCK).zip(differing.par_chunks_mut(SIGNS_BLOCK));
        blocks.for_each(|(signs, counts)| arch.dispatch(|| differ_all(&query, signs, counts)));
        let wanted = |at: &usize| wanted(self.owner(*at));
        let mut alike = least(&differing, keep, |_| true);
        alike.retain(wanted);
        // To ask for each vector whether it is wanted costs more than the rest; most are.
        if alike.len() < keep / 2 {
            alike = least(&differing, keep, wanted);
        }
        alike
    }
}

/// Where the `keep` smallest of those that are wanted stand, with all that equal the last.
fn least(counts: &[u16], keep: usize, wanted: impl Fn(&usize) -> bool) -> Vec<usize> {
    let mut with = [0_usize; DIMENSIONS + 1];
    for (_, &count) in counts.iter().enumerate().filter(|(at, _)| wanted(at)) {
        with[usize::from(count)] += 1;
    }
    let mut so_far = 0;
    let last = with.iter().position(|vectors| {
        so_far += vectors;
        so_far >= keep
    });
    let last = last.unwrap_or(DIMENSIONS);
    let few = counts.iter().enumerate().filter(|(_, count)| usize::from(**count) <= last);
    few.map(|(at, _)| at).filter(wanted).collect()
}

/// The best so many of a stream of scores.
struct Best {
    keep: usize,
    heap: BinaryHeap<Reverse<Scored>>,
}

#[derive(PartialEq)]
struct Scored(f32, usize);

impl Eq for Scored {}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // Of equal scores the earlier vector is the better one.
        self.0.total_cmp(&other.0).then(other.1.cmp(&self.1))
    }
}

impl Best {
    fn new(keep: usize) -> Self {
        Self { keep, heap: BinaryHeap::with_capacity(keep + 1) }
    }

    fn offer(&mut self, score: f32, at: usize, wanted: impl FnOnce() -> bool) {
        if self.heap.len() == self.keep {
            let Some(Reverse(worst)) = self.heap.peek() else { return };
            if score <= worst.0 || !wanted() {
                return;
            }
            self.heap.pop();
        } else if !wanted() {
            return;
        }
        self.heap.push(Reverse(Scored(score, at)));
    }

    fn merged(mut self, other: Self) -> Self {
        for Reverse(Scored(score, at)) in other.heap {
            self.offer(score, at, || true);
        }
        self
    }

    fn into_vec(self) -> Vec<usize> {
        self.heap.into_iter().map(|Reverse(Scored(_, at))| at).collect()
    }
}

/// In eight sums, which the processor adds up side by side.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    for (a, b) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

#[expect(clippy::cast_possible_truncation, reason = "the value lies between -127 and 127")]
fn round(value: f32) -> i8 {
    (value * 127.0).round() as i8
}

/// The query in 8 bits; its scale is the same for all and does not matter.
fn rounded(query: &[f32]) -> Vec<i8> {
    let largest = query.iter().fold(f32::MIN_POSITIVE, |max, value| max.max(value.abs()));
    query.iter().map(|value| round(value / largest)).collect()
}

fn signs(vector: &[f32]) -> Signs {
    let mut signs = [0; WORDS];
    for (i, value) in vector.iter().enumerate() {
        signs[i / 64] |= u64::from(*value > 0.0) << (i % 64);
    }
    signs
}

/// Compiled for whatever the processor has: the caller's `dispatch` chooses at run time.
#[expect(clippy::inline_always, reason = "it must become part of the dispatched function")]
#[inline(always)]
fn dot_all(query: &[i8], vectors: &[i8], dots: &mut [i32]) {
    for (vector, dot) in vectors.chunks_exact(DIMENSIONS).zip(dots) {
        let products = vector.iter().zip(query).map(|(&a, &b)| i32::from(a) * i32::from(b));
        *dot = products.sum();
    }
}

#[expect(clippy::inline_always, reason = "it must become part of the dispatched function")]
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "there are 384 signs")]
fn differ_all(query: &Signs, vectors: &[Signs], differing: &mut [u16]) {
    for (vector, count) in vectors.iter().zip(differing) {
        *count = vector.iter().zip(query).map(|(a, b)| (a ^ b).count_ones() as u16).sum();
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

    /// Unit vectors in loose clusters, as texts on a few subjects are.
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
                (0..count).map(|i| (vectors.near(query, i).cosine, i)).collect();
            exact.sort_by(|a, b| b.0.total_cmp(&a.0));
            let expected: Vec<NodeKey> = exact[..10].iter().map(|(_, i)| key(*i)).collect();
            let nearest = vectors.nearest(query, 10, |_| true);
            found += nearest.iter().filter(|near| expected.contains(&near.key)).count();
        }
        found as f32 / 200.0
    }

    #[test]
    fn rounding_loses_no_neighbour() {
        assert!(recall(3_000) > 0.999);
    }

    #[test]
    fn signs_lose_hardly_any() {
        assert!(recall(SIGNS_FROM + 1) > 0.98);
    }

    #[test]
    fn the_least_are_found_among_those_wanted() {
        let counts = [5, 1, 9, 1, 3, 384];
        assert_eq!(least(&counts, 1, |_| true), [1, 3]);
        assert_eq!(least(&counts, 3, |_| true), [1, 3, 4]);
        assert_eq!(least(&counts, 2, |at| *at != 1), [3, 4]);
        assert_eq!(least(&counts, 9, |at| at % 2 == 1), [1, 3, 5]);
    }

    #[test]
    fn a_node_is_as_near_as_its_nearest_window_and_the_filter_holds() {
        let all = clusters(9);
        let key = |i: usize| NodeKey::new(i as u64, 1);
        let nodes = all.chunks_exact(3 * DIMENSIONS).enumerate().map(|(i, v)| (key(i), node(v)));
        let vectors = Vectors::new(nodes.collect());
        assert_eq!(vectors.len(), 9);
        let query = &all[5 * DIMENSIONS..][..DIMENSIONS];
        let nearest = vectors.nearest(query, 3, |_| true);
        assert_eq!((nearest[0].key, nearest[0].window), (key(1), 2));
        assert!((nearest[0].cosine - 1.0).abs() < 1e-5);
        assert_eq!(vectors.of(key(1), query), Some(nearest[0]));
        assert_eq!(vectors.of(key(7), query), None);
        let others = vectors.nearest(query, 3, |node| node != key(1));
        assert_eq!(others.len(), 2);
    }
}
