//! Texts that may be longer than the model's window.

use std::ops::Range;

use tokenizers::{Encoding, Tokenizer};

use crate::{DIMENSIONS, EmbedError, MAX_TOKENS};

const START: u32 = 101;
const END: u32 = 102;
/// A text of no words.
pub(crate) const EMPTY: [u32; 2] = [START, END];
/// Neighbouring windows share this many tokens, so that no sentence is cut in both.
const OVERLAP: usize = 32;
/// A title longer than this says too little for the room it takes.
const MAX_TITLE: usize = 48;

/// A text with the title that every stretch of it is read under.
#[derive(Debug, Clone, Copy)]
pub struct Passage<'a> {
    pub title: &'a str,
    pub text: &'a str,
}

/// The vectors of a passage, one for each stretch that fits in the model's window.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// The stretches, as bytes of the passage's text. They cover it.
    pub windows: Vec<Range<usize>>,
    /// Their vectors, one after the other.
    pub vectors: Vec<f32>,
}

pub(crate) struct Window {
    pub(crate) range: Range<usize>,
    pub(crate) tokens: Vec<u32>,
}

impl Passage<'_> {
    pub(crate) fn windows(&self, tokenizer: &Tokenizer) -> Result<Vec<Window>, EmbedError> {
        let title = tokenizer.encode_fast(self.title, false)?;
        let title = &title.get_ids()[..title.get_ids().len().min(MAX_TITLE)];
        let text = tokenizer.encode(self.text, false)?;
        let room = MAX_TOKENS - 2 - title.len();
        let total = text.get_ids().len();
        let mut windows = Vec::new();
        let mut start = 0;
        loop {
            let end = (start + room).min(total);
            let body = &text.get_ids()[start..end];
            let tokens = [&[START], title, body, &[END]].concat();
            windows.push(Window { range: self.bytes(&text, start..end), tokens });
            if end == total {
                return Ok(windows);
            }
            start = end - OVERLAP;
        }
    }

    /// The bytes behind some tokens; the first and the last window reach to the text's ends.
    fn bytes(&self, text: &Encoding, tokens: Range<usize>) -> Range<usize> {
        let offsets = text.get_offsets();
        let start = if tokens.start == 0 { 0 } else { offsets[tokens.start].0 };
        let end = if tokens.end == offsets.len() { self.text.len() } else { offsets[tokens.end].0 };
        start..end
    }
}

impl Embedded {
    pub fn vectors(&self) -> impl Iterator<Item = &[f32]> {
        self.vectors.chunks_exact(DIMENSIONS)
    }

    /// Windows and vectors as they are kept: little-endian `u32` pairs and `f32`s.
    pub fn to_bytes(&self) -> (Vec<u8>, Vec<u8>) {
        let bound = |at: usize| u32::try_from(at).unwrap_or(u32::MAX).to_le_bytes();
        let windows =
            self.windows.iter().flat_map(|window| [bound(window.start), bound(window.end)]);
        let vectors = self.vectors.iter().flat_map(|value| value.to_le_bytes());
        (windows.flatten().collect(), vectors.collect())
    }

    /// Whether every vector has the length that the model gives it. Bytes that were damaged where
    /// they lay are still numbers, but hardly ever of that length.
    pub fn is_sound(&self) -> bool {
        self.vectors.chunks(DIMENSIONS).all(|vector| {
            let length: f32 = vector.iter().map(|value| value * value).sum();
            (length - 1.0).abs() < 0.01
        })
    }

    /// What [`Embedded::to_bytes`] made; `None` if it cannot be.
    pub fn from_bytes(windows: &[u8], vectors: &[u8]) -> Option<Self> {
        let bounds: Vec<usize> =
            words(windows)?.map(|word| u32::from_le_bytes(word) as usize).collect();
        let vectors: Vec<f32> = words(vectors)?.map(f32::from_le_bytes).collect();
        let windows: Vec<Range<usize>> =
            bounds.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect();
        let sound = !windows.is_empty()
            && bounds.len() == windows.len() * 2
            && vectors.len() == windows.len() * DIMENSIONS
            && vectors.iter().all(|value| value.is_finite());
        sound.then_some(Self { windows, vectors })
    }
}

fn words(bytes: &[u8]) -> Option<impl Iterator<Item = [u8; 4]>> {
    let (words, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| words.iter().copied())
}

/// Cut to the model's window, with the end marker in its place.
pub(crate) fn clipped(mut tokens: Vec<u32>) -> Vec<u32> {
    if tokens.len() > MAX_TOKENS {
        tokens.truncate(MAX_TOKENS - 1);
        tokens.push(END);
    }
    tokens
}
