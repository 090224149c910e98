//! Text from elsewhere: data, whatever it looks like.

use std::ops::RangeInclusive;

use maud::Render;

/// Text that others wrote. Markup in it is escaped, and characters that are not seen, by which one
/// could tell a reader and a model different things, are shown as `\u{…}`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a>(&'a str);

pub(super) fn text(text: &str) -> Text<'_> {
    Text(text)
}

impl Render for Text<'_> {
    fn render_to(&self, buffer: &mut String) {
        let mut before = ' ';
        for c in self.0.chars() {
            match c {
                '&' => buffer.push_str("&amp;"),
                '<' => buffer.push_str("&lt;"),
                '>' => buffer.push_str("&gt;"),
                '"' => buffer.push_str("&quot;"),
                c if is_unseen(c, before) => buffer.extend(c.escape_unicode()),
                c => buffer.push(c),
            }
            before = c;
        }
    }
}

/// Marks of direction, joiners and separators; tags, which mirror ASCII.
const INVISIBLE: [RangeInclusive<char>; 4] = [
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{e0000}'..='\u{e0fff}',
];

fn is_unseen(c: char, before: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Joins emoji; between letters it hides something.
        '\u{200d}' => before.is_ascii() || before.is_alphanumeric(),
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' => true,
        c => c.is_control() || INVISIBLE.iter().any(|range| range.contains(&c)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
