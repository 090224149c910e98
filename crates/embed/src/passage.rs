//! Splits texts that are longer than the model's window.

use std::ops::Range;

use crate::DIMENSIONS;
use crate::tokenizer::{Encoding, Tokenizer};

/// The tokens of the markers.
const MARKERS: usize = 2;
/// Neighbouring windows share this many tokens, so that a sentence cut in one is whole in the other.
const OVERLAP: usize = 32;
/// Tokens of a title beyond this are dropped, to leave the window to the text.
const MAX_TITLE: usize = 48;
/// A title takes at most this share of the window.
const MAX_TITLE_SHARE: usize = 3;

/// A text and its title, which is put before every window of the text.
#[derive(Debug, Clone, Copy)]
pub struct Passage<'a> {
    pub title: &'a str,
    pub text: &'a str,
}

/// The vectors of a passage, one for each window.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// Byte ranges of the passage's text, which together cover it.
    pub windows: Vec<Range<usize>>,
    /// Their vectors, concatenated.
    pub vectors: Vec<f32>,
}

pub(crate) struct Window {
    pub(crate) range: Range<usize>,
    pub(crate) tokens: Vec<u32>,
}

/// Makes the tokens that the network is run on.
pub(crate) struct Splitter<'a> {
    pub(crate) tokenizer: &'a Tokenizer,
    /// The length of the window, with its markers.
    pub(crate) max_tokens: usize,
    /// Put before every window of a passage.
    pub(crate) prompt: &'a str,
}

impl Splitter<'_> {
    pub(crate) fn windows(&self, passage: &Passage<'_>) -> Vec<Window> {
        let head = self.head(passage.title);
        let text = self.tokenizer.encode(passage.text);
        let capacity = self.max_tokens - MARKERS - head.len();
        let overlap = OVERLAP.min(capacity / 2);
        let total = text.ids.len();
        let mut windows = Vec::new();
        let mut start = 0;
        loop {
            let end = (start + capacity).min(total);
            let tokens = self.marked(&[&head, &text.ids[start..end]]);
            windows.push(Window { range: passage.bytes(&text, start..end), tokens });
            if end == total {
                return windows;
            }
            start = end - overlap;
        }
    }

    /// The tokens of the prompt and of the title. They end with a line break, which is a token of its
    /// own for tokenizers that see white space: a word must not grow together with the next.
    fn head(&self, title: &str) -> Vec<u32> {
        let title = if title.is_empty() { String::new() } else { format!("{title}\n") };
        let prompt = self.tokenizer.encode(self.prompt).ids.len();
        let mut head = self.tokenizer.encode(&format!("{}{title}", self.prompt)).ids;
        head.truncate((prompt + MAX_TITLE).min(self.max_tokens / MAX_TITLE_SHARE));
        head
    }

    /// The tokens of a text and the prompt before it, as many as the window holds.
    pub(crate) fn clipped(&self, prompt: &str, text: &str) -> Vec<u32> {
        let mut tokens = self.tokenizer.encode(&format!("{prompt}{text}")).ids;
        tokens.truncate(self.max_tokens - MARKERS);
        self.marked(&[&tokens])
    }

    fn marked(&self, parts: &[&[u32]]) -> Vec<u32> {
        let tokenizer = self.tokenizer;
        [&[tokenizer.start], &parts.concat()[..], &[tokenizer.end]].concat()
    }
}

impl Passage<'_> {
    /// The bytes of some tokens. The first and the last window extend to the ends of the text.
    fn bytes(&self, text: &Encoding, tokens: Range<usize>) -> Range<usize> {
        let offsets = &text.offsets;
        let start = if tokens.start == 0 { 0 } else { offsets[tokens.start].start };
        let end = offsets.get(tokens.end).map_or(self.text.len(), |next| next.start);
        start..end
    }
}

impl Embedded {
    pub fn vectors(&self) -> impl Iterator<Item = &[f32]> {
        self.vectors.chunks_exact(DIMENSIONS)
    }

    /// Windows and vectors as stored: little-endian `u32` pairs and `f32`s.
    pub fn to_bytes(&self) -> (Vec<u8>, Vec<u8>) {
        let bound = |at: usize| u32::try_from(at).unwrap_or(u32::MAX).to_le_bytes();
        let windows =
            self.windows.iter().flat_map(|window| [bound(window.start), bound(window.end)]);
        let vectors = self.vectors.iter().flat_map(|value| value.to_le_bytes());
        (windows.flatten().collect(), vectors.collect())
    }

    /// Whether every vector has length 1, as the model produces. Vectors corrupted in storage are
    /// still numbers, but hardly ever of that length.
    pub fn is_sound(&self) -> bool {
        self.vectors.chunks(DIMENSIONS).all(|vector| {
            let length: f32 = vector.iter().map(|value| value * value).sum();
            (length - 1.0).abs() < 0.01
        })
    }

    /// Reads the bytes of [`Embedded::to_bytes`]; `None` if they are invalid.
    pub fn from_bytes(windows: &[u8], vectors: &[u8]) -> Option<Self> {
        let bounds: Vec<usize> =
            words(windows)?.map(|word| u32::from_le_bytes(word) as usize).collect();
        let vectors: Vec<f32> = words(vectors)?.map(f32::from_le_bytes).collect();
        let windows: Vec<Range<usize>> =
            bounds.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect();
        let valid = !windows.is_empty()
            && bounds.len() == windows.len() * 2
            && vectors.len() == windows.len() * DIMENSIONS
            && vectors.iter().all(|value| value.is_finite());
        valid.then_some(Self { windows, vectors })
    }
}

fn words(bytes: &[u8]) -> Option<impl Iterator<Item = [u8; 4]>> {
    let (words, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| words.iter().copied())
}
