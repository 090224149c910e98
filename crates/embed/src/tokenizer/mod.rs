//! Text to token ids, as the tokenizer of a model does it: tokens that are found as they are
//! (`added`) are cut out first; the text between them is split by `wordpiece` or by `bpe`.
//!
//! `file` reads `tokenizer.json`, `legacy` the `vocab.txt` of models that have none.
//!
//! **Invariant: ids are those of the crate `tokenizers`**, for every text, and so are the offsets of
//! `wordpiece`: `tests` compares them. What this crate cannot do in the same way is an error.

mod added;
mod bpe;
mod file;
mod legacy;
#[cfg(test)]
mod tests;
mod wordpiece;

use std::ops::Range;

use added::Added;
use bpe::Bpe;
pub use file::TokenizerError;
pub(crate) use legacy::from_vocabulary;
use wordpiece::WordPiece;

pub(crate) struct Tokenizer {
    algorithm: Algorithm,
    /// Tokens that are found in the text as it is, such as `[SEP]`.
    added: Option<Added>,
    /// The marker before a text.
    pub(crate) start: u32,
    /// The marker after a text.
    pub(crate) end: u32,
}

enum Algorithm {
    WordPiece(WordPiece),
    Bpe(Bpe),
}

/// The tokens of a text, without markers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) ids: Vec<u32>,
    /// For each token, the bytes of the text that it was made of.
    pub(crate) offsets: Vec<Range<usize>>,
}

impl Tokenizer {
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

    /// Whether texts that differ in case only have the same tokens.
    pub(crate) fn ignores_case(&self) -> bool {
        match &self.algorithm {
            Algorithm::WordPiece(wordpiece) => wordpiece.ignores_case(),
            Algorithm::Bpe(_) => false,
        }
    }

    /// Appends the tokens of a part of the text that has no added tokens in it.
    fn encode_plain(&self, text: &str, range: Range<usize>, encoding: &mut Encoding) {
        match &self.algorithm {
            Algorithm::WordPiece(wordpiece) => wordpiece.encode(text, range, encoding),
            Algorithm::Bpe(bpe) => bpe.encode(text, range, encoding),
        }
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
