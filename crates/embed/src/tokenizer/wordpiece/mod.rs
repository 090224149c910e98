//! The tokenizer of BERT models: text is normalised (`normalize`), split into words and punctuation,
//! and each word into the longest pieces that the vocabulary knows.
//!
//! `unicode` has the character classes, which are those of the tokenizer that the models were trained
//! and published with.

mod normalize;
mod unicode;

use std::collections::HashMap;
use std::ops::Range;

use super::Encoding;
use normalize::Aligned;
pub(super) use normalize::Normalizer;
use unicode::is_punctuation;

pub(super) struct WordPiece {
    /// Tokens as written in the file, to start a word with.
    words: HashMap<String, u32>,
    /// Tokens that continue a word, without the prefix that marks them in the file.
    continuations: HashMap<String, u32>,
    unknown: u32,
    max_chars: usize,
    normalizer: Normalizer,
}

impl WordPiece {
    pub(super) fn new(
        words: HashMap<String, u32>,
        continuing_prefix: &str,
        unknown: u32,
        max_chars: usize,
        normalizer: Normalizer,
    ) -> Self {
        let continuations = words.iter().filter_map(|(token, id)| {
            Some((token.strip_prefix(continuing_prefix)?.to_owned(), *id))
        });
        Self { continuations: continuations.collect(), words, unknown, max_chars, normalizer }
    }

    pub(super) fn ignores_case(&self) -> bool {
        self.normalizer.lowercase
    }

    /// Appends the tokens of a part of the text.
    pub(super) fn encode(&self, text: &str, range: Range<usize>, encoding: &mut Encoding) {
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

/// The bytes of the text that some characters of a word were made of.
fn span(chars: &[Aligned]) -> Range<usize> {
    chars.first().map_or(0, |first| first.start)..chars.last().map_or(0, |last| last.end)
}
