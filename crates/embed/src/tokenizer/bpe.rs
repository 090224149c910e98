//! The tokenizer of `RoBERTa` models: text is split into words, numbers, punctuation and white
//! space, each with the space before it, and the bytes of each piece are merged into tokens.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Encoding, TokenizerError};

/// The alternatives of GPT-2's pattern that do not start with more than one white space. Those for
/// white space need a look-ahead, which this engine does not have, so [`blank`] does them by hand.
static PIECE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+)")
        .expect("the pattern is a constant")
});

/// No part ends at 0.
const MERGED: usize = 0;

pub(super) struct Bpe {
    /// The token of each byte.
    bytes: Box<[u32; 256]>,
    /// For two tokens, the order in which such pairs are merged, and the token that they become.
    merges: HashMap<(u32, u32), (u32, u32)>,
    /// Pieces that are tokens and are not merged from bytes, if the file says so.
    whole: Option<HashMap<Vec<u8>, u32>>,
    /// Whether a text that does not start with a space is treated as if it did.
    adds_space: bool,
}

impl Bpe {
    pub(super) fn new<'a>(
        vocabulary: &HashMap<String, u32>,
        merges: impl Iterator<Item = (&'a str, &'a str)>,
        ignores_merges: bool,
        adds_space: bool,
    ) -> Result<Self, TokenizerError> {
        let id = |token: &str| {
            vocabulary.get(token).copied().ok_or_else(|| TokenizerError::Missing(token.to_owned()))
        };
        let mut bytes = Box::new([0; 256]);
        for byte in u8::MIN..=u8::MAX {
            bytes[usize::from(byte)] = id(written(byte).encode_utf8(&mut [0; 4]))?;
        }
        let mut ranks = HashMap::new();
        for (rank, (left, right)) in (0..).zip(merges) {
            let merged = (rank, id(&format!("{left}{right}"))?);
            ranks.insert((id(left)?, id(right)?), merged);
        }
        let whole = || {
            let bytes: HashMap<char, u8> =
                (0..=u8::MAX).map(|byte| (written(byte), byte)).collect();
            let read = |token: &str| -> Option<Vec<u8>> {
                token.chars().map(|c| bytes.get(&c).copied()).collect()
            };
            let tokens = vocabulary.iter();
            tokens.filter_map(|(token, id)| Some((read(token)?, *id))).collect()
        };
        Ok(Self { bytes, merges: ranks, whole: ignores_merges.then(whole), adds_space })
    }

    /// Appends the tokens of a part of the text.
    pub(super) fn encode(&self, text: &str, range: Range<usize>, encoding: &mut Encoding) {
        let part = &text[range.clone()];
        let first = encoding.ids.len();
        let added = self.adds_space && !part.is_empty() && !part.starts_with(' ');
        if added {
            self.encode_pieces(&format!(" {part}"), encoding);
        } else {
            self.encode_pieces(part, encoding);
        }
        let place = |at: usize| range.start + at.saturating_sub(usize::from(added));
        for offsets in &mut encoding.offsets[first..] {
            *offsets = place(offsets.start)..place(offsets.end);
        }
    }

    fn encode_pieces(&self, text: &str, encoding: &mut Encoding) {
        let mut merger = Merger::default();
        let mut at = 0;
        while at < text.len() {
            let end = at + piece(&text[at..]);
            self.encode_piece(text, at..end, &mut merger, encoding);
            at = end;
        }
    }

    fn encode_piece(
        &self,
        text: &str,
        range: Range<usize>,
        merger: &mut Merger,
        encoding: &mut Encoding,
    ) {
        let bytes = &text.as_bytes()[range.clone()];
        if let Some(id) = self.whole.as_ref().and_then(|whole| whole.get(bytes)) {
            encoding.push(*id, range);
            return;
        }
        merger.merge(self, bytes);
        let mut start = 0;
        while start < bytes.len() {
            let end = merger.next[start];
            let offsets = text.floor_char_boundary(range.start + start)
                ..text.ceil_char_boundary(range.start + end);
            encoding.push(merger.ids[start], offsets);
            start = end;
        }
    }
}

/// The character that stands for a byte in the file: printable ones for themselves, the others for the
/// code points from 256 on, in their order.
fn written(byte: u8) -> char {
    let is_printable = |byte: u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if is_printable(byte) {
        return char::from(byte);
    }
    let before = (0..byte).filter(|&byte| !is_printable(byte)).count();
    u32::try_from(before).ok().and_then(|before| char::from_u32(256 + before)).unwrap_or_default()
}

/// The length of the piece at the start of `text`.
fn piece(text: &str) -> usize {
    PIECE.find(text).map_or_else(|| blank(text), |found| found.end())
}

/// The length of the white space at the start of `text` that is a piece: `\s+(?!\S)|\s+`.
fn blank(text: &str) -> usize {
    let run = &text[..text.len() - text.trim_start().len()];
    // The last one belongs to what follows, if there is another before it.
    let last = run.chars().next_back().map_or(1, char::len_utf8);
    if run.len() == text.len() || run.len() <= last {
        run.len().max(last)
    } else {
        run.len() - last
    }
}

/// Merges the bytes of one piece, with buffers that are used for one piece after the other.
///
/// A part is known by the byte it starts at; first every byte is a part. Pairs wait in a heap, so that
/// long pieces do not take time that grows with the square of their length.
#[derive(Default)]
struct Merger {
    /// For the start of a part, its token.
    ids: Vec<u32>,
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
    id: u32,
}

impl Merger {
    /// Merges until no pair is left.
    fn merge(&mut self, bpe: &Bpe, piece: &[u8]) {
        self.start(bpe, piece);
        while let Some(Reverse(Pair { start, end, id, .. })) = self.pairs.pop() {
            let middle = self.next[start];
            // One of the parts was merged with another since this pair was added.
            if middle == MERGED || self.next.get(middle) != Some(&end) {
                continue;
            }
            self.ids[start] = id;
            self.next[start] = end;
            self.next[middle] = MERGED;
            if end < piece.len() {
                self.previous[end] = start;
                self.add(bpe, start);
            }
            if start > 0 {
                self.add(bpe, self.previous[start]);
            }
        }
    }

    fn start(&mut self, bpe: &Bpe, piece: &[u8]) {
        self.ids.clear();
        self.ids.extend(piece.iter().map(|&byte| bpe.bytes[usize::from(byte)]));
        self.next.clear();
        self.next.extend(1..=piece.len());
        self.previous.clear();
        self.previous.extend((0..piece.len()).map(|start| start.saturating_sub(1)));
        for start in 0..piece.len() {
            self.add(bpe, start);
        }
    }

    /// Adds the pair whose first part starts here, if it forms a token.
    fn add(&mut self, bpe: &Bpe, start: usize) {
        let middle = self.next[start];
        let Some(&end) = self.next.get(middle) else { return };
        if let Some(&(rank, id)) = bpe.merges.get(&(self.ids[start], self.ids[middle])) {
            self.pairs.push(Reverse(Pair { rank, start, end, id }));
        }
    }
}
