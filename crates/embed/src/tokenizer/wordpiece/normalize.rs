//! What BERT does to a text before splitting it: control characters are removed, every white space
//! becomes a space, ideographs become words of their own, accents and case are removed.

use serde::Deserialize;
use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

use super::unicode::{is_accent, is_control, is_ideograph, is_newer};

/// The normalizer of a `tokenizer.json`.
#[derive(Debug, Deserialize)]
pub(in crate::tokenizer) struct Normalizer {
    clean_text: bool,
    handle_chinese_chars: bool,
    /// As [`Normalizer::lowercase`] if it is not set.
    strip_accents: Option<bool>,
    pub(super) lowercase: bool,
}

/// A character and the bytes of the text that it was made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aligned {
    pub(super) char: char,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Normalizer {
    /// The normalised characters of a text that starts at `offset` of a longer one.
    pub(super) fn normalize(&self, text: &str, offset: usize) -> Vec<Aligned> {
        let mut chars: Vec<Aligned> = text
            .char_indices()
            .map(|(at, char)| (char, offset + at))
            .map(|(char, start)| Aligned { char, start, end: start + char.len_utf8() })
            .filter(|aligned| !self.clean_text || !is_removed(aligned.char))
            .map(|aligned| if self.clean_text { aligned.blank() } else { aligned })
            .collect();
        if self.handle_chinese_chars && chars.iter().any(|aligned| is_ideograph(aligned.char)) {
            chars = chars.into_iter().flat_map(Aligned::isolated).collect();
        }
        if self.strip_accents.unwrap_or(self.lowercase) && !text.is_ascii() {
            chars = decompose(&chars);
            chars.retain(|aligned| !is_accent(aligned.char));
        }
        if self.lowercase {
            let lowercase = chars.into_iter().flat_map(|aligned| {
                aligned.char.to_lowercase().map(move |char| Aligned { char, ..aligned })
            });
            chars = lowercase.collect();
        }
        chars
    }
}

impl Aligned {
    /// White space becomes a space.
    fn blank(self) -> Self {
        if self.char.is_whitespace() { Self { char: ' ', ..self } } else { self }
    }

    /// An ideograph gets spaces around it.
    fn isolated(self) -> impl Iterator<Item = Self> {
        let space = is_ideograph(self.char).then_some(Self { char: ' ', ..self });
        space.into_iter().chain([self]).chain(space)
    }
}

fn is_removed(c: char) -> bool {
    matches!(c, '\0' | '\u{FFFD}') || (is_control(c) && !matches!(c, '\t' | '\n' | '\r'))
}

/// A part of a decomposed character.
struct Part {
    char: char,
    class: u8,
    is_first: bool,
}

/// Canonical decomposition (NFD).
fn decompose(chars: &[Aligned]) -> Vec<Aligned> {
    let mut parts: Vec<Part> = Vec::with_capacity(chars.len());
    for aligned in chars {
        let mut is_first = true;
        let mut add = |char| {
            let class = if is_newer(char) { 0 } else { canonical_combining_class(char) };
            parts.push(Part { char, class, is_first });
            is_first = false;
        };
        if is_newer(aligned.char) {
            add(aligned.char);
        } else {
            decompose_canonical(aligned.char, add);
        }
    }
    for marks in parts.chunk_by_mut(|a, b| a.class != 0 && b.class != 0) {
        marks.sort_by_key(|part| part.class);
    }
    align(&parts, chars)
}

/// Gives the parts the bytes of the characters. The first part of each character counts, in the order
/// after sorting: if marks were reordered, their bytes stay in the order of the text.
fn align(parts: &[Part], chars: &[Aligned]) -> Vec<Aligned> {
    let mut sources = chars.iter();
    let mut source = Aligned { char: ' ', start: 0, end: 0 };
    let aligned = parts.iter().map(|part| {
        if part.is_first {
            source = sources.next().copied().unwrap_or(source);
        }
        Aligned { char: part.char, ..source }
    });
    aligned.collect()
}
