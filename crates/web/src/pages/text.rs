//! Text from elsewhere: data, whatever it looks like.

use kenning_sanitize::sanitize;
use maud::{Markup, Render, html};

/// Text that others wrote. Markup in it is escaped, and characters that are not seen, by which one
/// could tell a reader and a model different things, are shown as `\u{…}`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a>(&'a str);

pub(super) fn text(text: &str) -> Text<'_> {
    Text(text)
}

impl Render for Text<'_> {
    fn render_to(&self, buffer: &mut String) {
        for c in sanitize(self.0).chars() {
            match c {
                '&' => buffer.push_str("&amp;"),
                '<' => buffer.push_str("&lt;"),
                '>' => buffer.push_str("&gt;"),
                '"' => buffer.push_str("&quot;"),
                c => buffer.push(c),
            }
        }
    }
}

/// Text in which the words of a question stand out. A word counts as one of them if it begins like
/// it, so that endings do not matter; which words made a match is the index's business.
pub(super) fn marked(of: &str, question: &str) -> Markup {
    let stems: Vec<String> = words(question).map(stem).filter(|stem| stem.len() > 2).collect();
    let is_asked = |word: &str| stems.iter().any(|stem| word.to_lowercase().starts_with(stem));
    let pieces = of.split_inclusive(|c: char| !c.is_alphanumeric());
    html! {
        @for piece in pieces {
            @let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
            @if is_asked(word) { mark { (text(word)) } (text(&piece[word.len()..])) }
            @else { (text(piece)) }
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !COMMON.contains(&word.to_lowercase().as_str()))
}

/// Words that say nothing about what is asked.
const COMMON: [&str; 24] = [
    "the", "and", "for", "how", "what", "when", "where", "who", "why", "which", "with", "from",
    "are", "was", "does", "can", "long", "that", "this", "have", "has", "not", "our", "you",
];

fn stem(word: &str) -> String {
    word.to_lowercase().chars().take(5).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_question_stand_out() {
        for (given, question, shown) in [
            (
                "Tokens, valid now",
                "how long is a token valid",
                "<mark>Tokens</mark>, <mark>valid</mark> now",
            ),
            ("<b>rotate</b>", "rotation", "&lt;b&gt;<mark>rotate</mark>&lt;/b&gt;"),
            ("the and", "the and", "the and"),
            ("Größen", "größe", "<mark>Größen</mark>"),
        ] {
            assert_eq!(marked(given, question).into_string(), shown);
        }
    }

    #[test]
    fn nothing_is_hidden_and_nothing_is_markup() {
        for (given, shown) in [
            ("<script>\"&", "&lt;script&gt;&quot;&amp;"),
            ("a\u{e0041}b", "a\\u{e0041}b"),
            ("a\u{202e}b\u{200b}", "a\\u{202e}b\\u{200b}"),
            ("a\u{200d}b", "a\\u{200d}b"),
            ("👩\u{200d}🚀", "👩\u{200d}🚀"),
            ("a\u{0}\u{1b}[1m\tb\n", "a\\u{0}\\u{1b}[1m\tb\n"),
            ("Größe", "Größe"),
        ] {
            assert_eq!(text(given).render().into_string(), shown);
        }
    }
}
