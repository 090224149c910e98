//! The tokenizer of BERT models: text is normalised (`normalize`), split into words and punctuation,
//! and each word into the longest pieces that the vocabulary knows.
//!
//! `file` reads `tokenizer.json`. `unicode` has the character classes, which are those of the
//! tokenizer that the models were trained and published with.
//!
//! **Invariant: ids and offsets are those of the crate `tokenizers`**, for every text: `tests`
//! compares them.

mod file;
mod normalize;
#[cfg(test)]
mod tests;
mod unicode;

use std::collections::HashMap;
use std::ops::Range;

use regex::Regex;

pub use file::TokenizerError;
use normalize::{Aligned, Normalizer};
use unicode::is_punctuation;

pub(crate) struct WordPiece {
    /// Tokens as written in the file, to start a word with.
    words: HashMap<String, u32>,
    /// Tokens that continue a word, without the prefix that marks them in the file.
    continuations: HashMap<String, u32>,
    unknown: u32,
    max_chars: usize,
    normalizer: Normalizer,
    /// Tokens that are found in the text as it is, such as `[SEP]`.
    added: Option<Added>,
    /// The marker before a text.
    pub(crate) start: u32,
    /// The marker after a text.
    pub(crate) end: u32,
}

struct Added {
    pattern: Regex,
    ids: HashMap<String, u32>,
}

/// The tokens of a text, without markers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) ids: Vec<u32>,
    /// For each token, the bytes of the text that it was made of.
    pub(crate) offsets: Vec<Range<usize>>,
}

impl WordPiece {
    pub(crate) fn encode(&self, text: &str) -> Encoding {
        let mut encoding = Encoding::default();
        let mut done = 0;
        for (id, range) in self.added.iter().flat_map(|added| added.find(text)) {
            self.encode_plain(text, done..range.start, &mut encoding);
            done = range.end;
            encoding.push(id, range);
        }
        self.encode_plain(text, done..text.len(), &mut encoding);
        encoding
    }

    /// Appends the tokens of a part of the text that has no added tokens in it.
    fn encode_plain(&self, text: &str, range: Range<usize>, encoding: &mut Encoding) {
        let chars = self.normalizer.normalize(&text[range.clone()], range.start);
        for blank_separated in chars.split(|aligned| aligned.char.is_whitespace()) {
            let parts =
                blank_separated.chunk_by(|a, b| !is_punctuation(a.char) && !is_punctuation(b.char));
            for word in parts {
                self.encode_word(word, encoding);
            }
        }
    }

    /// Appends the pieces of a word, or one unknown token if some of it is in no piece.
    fn encode_word(&self, word: &[Aligned], encoding: &mut Encoding) {
        let before = encoding.ids.len();
        if word.len() > self.max_chars || !self.encode_pieces(word, encoding) {
            encoding.truncate(before);
            encoding.push(self.unknown, span(word));
        }
    }

    /// Appends the pieces of a word, the longest first; whether all of it is in a piece.
    fn encode_pieces(&self, word: &[Aligned], encoding: &mut Encoding) -> bool {
        let text: String = word.iter().map(|aligned| aligned.char).collect();
        let (mut rest, mut at) = (text.as_str(), 0);
        while !rest.is_empty() {
            let tokens = if at == 0 { &self.words } else { &self.continuations };
            let mut ends = rest.char_indices().map(|(start, c)| start + c.len_utf8()).rev();
            let found = ends.find_map(|end| Some((end, *tokens.get(&rest[..end])?)));
            let Some((end, id)) = found else { return false };
            let length = rest[..end].chars().count();
            encoding.push(id, span(&word[at..at + length]));
            rest = &rest[end..];
            at += length;
        }
        true
    }
}

impl Added {
    fn find(&self, text: &str) -> impl Iterator<Item = (u32, Range<usize>)> {
        self.pattern.find_iter(text).map(|found| (self.ids[found.as_str()], found.range()))
    }
}

impl Encoding {
    fn push(&mut self, id: u32, range: Range<usize>) {
        self.ids.push(id);
        self.offsets.push(range);
    }

    fn truncate(&mut self, length: usize) {
        self.ids.truncate(length);
        self.offsets.truncate(length);
    }
}

/// The bytes of the text that some characters of a word were made of.
fn span(chars: &[Aligned]) -> Range<usize> {
    chars.first().map_or(0, |first| first.start)..chars.last().map_or(0, |last| last.end)
}
