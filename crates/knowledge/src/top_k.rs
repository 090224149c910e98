//! The best of a stream of scores, in a bounded heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The `keep` best of a stream of scores.
pub(crate) struct TopK {
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
        // Of equal scores the earlier vector ranks higher, so that results are deterministic.
        self.0.total_cmp(&other.0).then(other.1.cmp(&self.1))
    }
}

impl TopK {
    pub(crate) fn new(keep: usize) -> Self {
        Self { keep, heap: BinaryHeap::with_capacity(keep + 1) }
    }

    /// `accepts` is called only for scores that would be kept, because it may be expensive.
    pub(crate) fn offer(&mut self, score: f32, at: usize, accepts: impl FnOnce() -> bool) {
        let is_full = self.heap.len() == self.keep;
        let is_better = || self.heap.peek().is_some_and(|Reverse(worst)| score > worst.0);
        if (is_full && !is_better()) || !accepts() {
            return;
        }
        if is_full {
            self.heap.pop();
        }
        self.heap.push(Reverse(Scored(score, at)));
    }

    pub(crate) fn merged(mut self, other: Self) -> Self {
        for Reverse(Scored(score, at)) in other.heap {
            self.offer(score, at, || true);
        }
        self
    }

    /// Positions in no particular order.
    pub(crate) fn into_vec(self) -> Vec<usize> {
        self.heap.into_iter().map(|Reverse(Scored(_, at))| at).collect()
    }
}
