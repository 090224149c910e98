//! Counts the tokens of a text by the `o200k_base` encoding, which models of the GPT-4o family use.
//!
//! A text is split into pieces (`split`), and the bytes of each piece are merged into tokens
//! (`merge`) that the vocabulary knows (`vocabulary`). The vocabulary is data, in `data/`.
//!
//! **Invariant: ids and counts are those of the original**, and the time grows with the length of the
//! text, whatever it is: `tests/reference.rs` compares both with `bpe-openai`.

mod merge;
mod split;
mod vocabulary;

use merge::Merger;

pub use vocabulary::token_bytes;

/// The number of tokens of `text`.
///
/// Tokenizers of other models differ by some percent; the count is for budgeting.
pub fn count_tokens(text: &str) -> usize {
    let mut merger = Merger::default();
    split::pieces(text).map(|piece| merger.count(piece.as_bytes())).sum()
}

/// The ids of the tokens of `text`.
pub fn encode(text: &str) -> Vec<u32> {
    let mut merger = Merger::default();
    let mut ids = Vec::new();
    for piece in split::pieces(text) {
        merger.encode(piece.as_bytes(), &mut ids);
    }
    ids
}
