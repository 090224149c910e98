//! Byte pair encoding of one piece: of all neighbours that form a token, those with the lowest rank
//! are merged first, from the left on, until none do.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::vocabulary::vocabulary;

/// Buffers that are used for one piece after the other.
///
/// A part is known by the byte it starts at; first every byte is a part. Pairs wait in a heap: the
/// usual search for the lowest rank after every merge takes seconds for 100 KB without a break.
#[derive(Default)]
pub(crate) struct Merger {
    /// For the start of a part, where the next one starts; [`MERGED`] where no part starts any more.
    next: Vec<usize>,
    /// For the start of a part, where the one before it starts.
    previous: Vec<usize>,
    pairs: BinaryHeap<Reverse<Pair>>,
}

/// Two neighbouring parts that form a token.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    rank: u32,
    start: usize,
    end: usize,
}

/// No part ends at 0.
const MERGED: usize = 0;

impl Merger {
    /// The number of tokens of a piece.
    pub(crate) fn count(&mut self, piece: &[u8]) -> usize {
        if vocabulary().rank(piece).is_some() { 1 } else { self.merge(piece) }
    }

    /// Appends the ids of the tokens of a piece.
    pub(crate) fn encode(&mut self, piece: &[u8], ids: &mut Vec<u32>) {
        if let Some(id) = vocabulary().rank(piece) {
            ids.push(id);
            return;
        }
        self.merge(piece);
        let mut start = 0;
        while start < piece.len() {
            let end = self.next[start];
            ids.push(vocabulary().rank(&piece[start..end]).expect("every byte is a token"));
            start = end;
        }
    }

    /// Merges until no pair is left, and returns the number of parts.
    fn merge(&mut self, piece: &[u8]) -> usize {
        self.start(piece);
        let mut parts = piece.len();
        while let Some(Reverse(Pair { start, end, .. })) = self.pairs.pop() {
            let middle = self.next[start];
            // One of the parts was merged with another since this pair was added.
            if middle == MERGED || self.next.get(middle) != Some(&end) {
                continue;
            }
            self.next[start] = end;
            self.next[middle] = MERGED;
            parts -= 1;
            if end < piece.len() {
                self.previous[end] = start;
                self.add(piece, start);
            }
            if start > 0 {
                self.add(piece, self.previous[start]);
            }
        }
        parts
    }

    fn start(&mut self, piece: &[u8]) {
        self.next.clear();
        self.next.extend(1..=piece.len());
        self.previous.clear();
        self.previous.extend((0..piece.len()).map(|start| start.saturating_sub(1)));
        for start in 0..piece.len() {
            self.add(piece, start);
        }
    }

    /// Adds the pair whose first part starts here, if it forms a token.
    fn add(&mut self, piece: &[u8], start: usize) {
        let Some(&end) = self.next.get(self.next[start]) else { return };
        if let Some(rank) = vocabulary().rank(&piece[start..end]) {
            self.pairs.push(Reverse(Pair { rank, start, end }));
        }
    }
}
