//! Text from elsewhere: data, whatever it looks like.

use kenning_visible::shown;
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
        for c in shown(self.0).chars() {
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
