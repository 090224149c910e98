//! Splits a text into the pieces that no token crosses: words with the character before them,
//! numbers of up to three digits, punctuation, white space.

use std::sync::LazyLock;

use regex::Regex;

/// The pattern of `o200k_base` up to its alternatives for white space. `\s+(?!\S)` among these is
/// beyond this engine, so [`blank`] does them by hand.
static PIECE: LazyLock<Regex> = LazyLock::new(|| {
    const UPPER: &str = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]";
    const LOWER: &str = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]";
    const BEFORE: &str = r"[^\r\n\p{L}\p{N}]?";
    const CONTRACTION: &str = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
    let alternatives = [
        format!("{BEFORE}{UPPER}*{LOWER}+{CONTRACTION}"),
        format!("{BEFORE}{UPPER}+{LOWER}*{CONTRACTION}"),
        r"\p{N}{1,3}".to_owned(),
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*".to_owned(),
    ];
    let pattern = format!("^(?:{})", alternatives.join("|"));
    Regex::new(&pattern).expect("the pattern is a constant")
});

pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = PIECE.find(rest).map_or_else(|| blank(rest), |found| found.end());
        let (piece, after) = rest.split_at(length.max(first.len_utf8()));
        rest = after;
        Some(piece)
    })
}

/// The length of the piece at the start of `text`, which starts with white space: the pattern
/// `\s*[\r\n]+|\s+(?!\S)|\s+`.
fn blank(text: &str) -> usize {
    let run = &text[..text.len() - text.trim_start().len()];
    if let Some(newline) = run.rfind(['\r', '\n']) {
        return newline + 1;
    }
    if run.len() == text.len() {
        return run.len();
    }
    // The last one belongs to what follows, if there is another before it.
    let last = run.chars().next_back().map_or(0, char::len_utf8);
    if run.len() == last { last } else { run.len() - last }
}
