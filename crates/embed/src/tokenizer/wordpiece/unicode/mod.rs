//! Character classes, as the tokenizers of BERT models have them.
//!
//! They are those of Unicode 9 and stay so, although Unicode goes on: a model and its vocabulary do
//! not change either, and vectors can only be compared if the same text gives the same tokens.

mod tables;

/// A range of code points, both ends included.
type CodePoints = (char, char);

/// Cc, Cf and Co, but not code points that are not assigned.
pub(super) fn is_control(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_control() } else { contains(tables::CONTROL, c) }
}

/// ASCII punctuation and symbols, and the categories P*.
pub(super) fn is_punctuation(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_punctuation() } else { contains(tables::PUNCTUATION, c) }
}

/// Mn, the marks that remain of accents after decomposition.
pub(super) fn is_accent(c: char) -> bool {
    !c.is_ascii() && contains(tables::ACCENTS, c)
}

/// Whether a character decomposes, or is reordered, only since a later version of Unicode. A test fails
/// if an update of `unicode-normalization` knows more of them.
pub(super) fn is_newer(c: char) -> bool {
    !c.is_ascii() && contains(tables::NEWER, c)
}

/// Ideographs that Chinese is written with, which are words of their own.
pub(super) fn is_ideograph(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{2A6DF}'
        | '\u{2A700}'..='\u{2B81F}'
        // BERT starts this block 256 code points late.
        | '\u{2B920}'..='\u{2CEAF}'
        | '\u{2F800}'..='\u{2FA1F}')
}

fn contains(table: &[CodePoints], c: char) -> bool {
    let after = table.partition_point(|&(first, _)| first <= c);
    after > 0 && c <= table[after - 1].1
}
