//! Untrusted text. maud escapes markup in it; this module makes the rest of it visible.

use std::borrow::Cow;

use kenning_sanitize::sanitize;
use maud::{Markup, html};

/// Shows invisible characters as `\u{…}`: with them, a text could tell a model something else than
/// it tells the person who reads the page. Every untrusted text on a page goes through here.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    sanitize(text)
}

/// Marks the words of a query in a text. Words match by their first letters, so that endings do not
/// matter. This is only a reading aid: the index decides on its own what matches.
pub(super) fn highlight(of: &str, query: &str) -> Markup {
    let stems: Vec<String> = words(query).map(stem).filter(|stem| stem.len() > 2).collect();
    let matches = |word: &str| stems.iter().any(|stem| word.to_lowercase().starts_with(stem));
    let pieces = of.split_inclusive(|c: char| !c.is_alphanumeric());
    html! {
        @for piece in pieces {
            @let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
            @if matches(word) { mark { (text(word)) } (text(&piece[word.len()..])) }
            @else { (text(piece)) }
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !STOP_WORDS.contains(&word.to_lowercase().as_str()))
}

const STOP_WORDS: [&str; 24] = [
    "the", "and", "for", "how", "what", "when", "where", "who", "why", "which", "with", "from",
    "are", "was", "does", "can", "long", "that", "this", "have", "has", "not", "our", "you",
];

fn stem(word: &str) -> String {
    word.to_lowercase().chars().take(5).collect()
}

#[cfg(test)]
mod tests {
    use maud::Render;

    use super::*;

    #[test]
    fn highlights_the_words_of_the_query() {
        for (given, query, expected) in [
            (
                "Tokens, valid now",
                "how long is a token valid",
                "<mark>Tokens</mark>, <mark>valid</mark> now",
            ),
            ("<b>rotate</b>", "rotation", "&lt;b&gt;<mark>rotate</mark>&lt;/b&gt;"),
            ("the and", "the and", "the and"),
            ("Größen", "größe", "<mark>Größen</mark>"),
        ] {
            assert_eq!(highlight(given, query).into_string(), expected);
        }
    }

    #[test]
    fn escapes_markup_and_shows_invisible_characters() {
        for (given, expected) in [
            ("<script>\"&", "&lt;script&gt;&quot;&amp;"),
            ("a\u{e0041}b", "a\\u{e0041}b"),
            ("a\u{202e}b\u{200b}", "a\\u{202e}b\\u{200b}"),
            ("a\u{200d}b", "a\\u{200d}b"),
            ("👩\u{200d}🚀", "👩\u{200d}🚀"),
            ("a\u{0}\u{1b}[1m\tb\n", "a\\u{0}\\u{1b}[1m\tb\n"),
            ("Größe", "Größe"),
        ] {
            assert_eq!(text(given).render().into_string(), expected);
        }
    }
}
