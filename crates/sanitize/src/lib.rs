//! Makes hidden characters in untrusted text visible.
//!
//! Some characters are invisible: direction marks, joiners, tags that mirror ASCII, terminal
//! escapes. Text that contains them can tell a person one thing and a model, or a terminal, another.
//! [`sanitize`] escapes them as `\u{…}`, so that both read the same. Everything that passes untrusted
//! text to an agent, a terminal or a page calls it.
//!
//! **Invariant: text without hidden characters is returned unchanged.**

use std::borrow::Cow;
use std::ops::RangeInclusive;

use serde_json::Value;

/// Escapes every hidden character.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    let Some(first) = hidden_at(text) else { return Cow::Borrowed(text) };
    let mut escaped = String::with_capacity(text.len() + 8);
    escaped.push_str(&text[..first]);
    let mut before = text[..first].chars().next_back().unwrap_or(' ');
    let mut rest = text[first..].chars().peekable();
    while let Some(c) = rest.next() {
        if is_hidden(c, before, rest.peek().copied()) {
            escaped.extend(c.escape_unicode());
            before = '}';
        } else {
            escaped.push(c);
            before = c;
        }
    }
    Cow::Owned(escaped)
}

/// Whether a text contains hidden characters.
pub fn has_hidden(text: &str) -> bool {
    hidden_at(text).is_some()
}

/// Applies [`sanitize`] to every string in a value, including the names of fields.
pub fn sanitize_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(escaped) = sanitize(text) {
                *text = escaped;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(sanitize_value),
        Value::Object(fields) => {
            if fields.keys().any(|name| has_hidden(name)) {
                let old = std::mem::take(fields);
                fields.extend(old.into_iter().map(|(name, value)| (sanitize(&name).into(), value)));
            }
            fields.values_mut().for_each(sanitize_value);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The sanitised value of a JSON text; `None` if it is not JSON or has nothing to escape.
pub fn sanitize_json(json: &str) -> Option<Value> {
    // A `\\u` escape may stand for any character.
    if !json.contains('\\') && !has_hidden(json) {
        return None;
    }
    let original: Value = serde_json::from_str(json).ok()?;
    let mut value = original.clone();
    sanitize_value(&mut value);
    (value != original).then_some(value)
}

fn hidden_at(text: &str) -> Option<usize> {
    // Every response is checked, and most text is plain ASCII, so skip over that quickly.
    let plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    let start = text.bytes().position(|byte| !plain(byte))?;
    let mut before = text[..start].chars().next_back().unwrap_or(' ');
    let mut rest = text[start..].char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        if is_hidden(c, before, rest.peek().map(|(_, next)| *next)) {
            return Some(start + at);
        }
        before = c;
    }
    None
}

/// Direction marks, joiners, separators and fillers, and tags, which mirror ASCII.
const INVISIBLE_RANGES: [RangeInclusive<char>; 8] = [
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{fff9}'..='\u{fffb}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];
const INVISIBLE_CHARS: [char; 7] =
    ['\u{ad}', '\u{34f}', '\u{61c}', '\u{180e}', '\u{3164}', '\u{feff}', '\u{ffa0}'];
/// Scripts from here on (Hebrew and later) may need joiners.
const FIRST_JOINING: char = '\u{590}';

fn is_hidden(c: char, before: char, next: Option<char>) -> bool {
    match c {
        '\n' | '\t' => false,
        // Alone it returns a terminal to the start of the line, which can overwrite text.
        '\r' => next != Some('\n'),
        // Some words are written with it. Between Latin letters, or repeated, it carries a message.
        '\u{200c}' => before < FIRST_JOINING || !before.is_alphabetic(),
        // Legitimate after emoji and after letters of joining scripts.
        '\u{200d}' => before < FIRST_JOINING || is_invisible(before),
        // Selects a variant of the character before it; a sequence of them can encode bytes.
        '\u{fe00}'..='\u{fe0f}' => {
            matches!(before, ' ' | '\n' | '\u{fe00}'..='\u{fe0f}') || is_invisible(before)
        }
        c => is_invisible(c),
    }
}

fn is_invisible(c: char) -> bool {
    let in_range = || INVISIBLE_RANGES.iter().any(|range| range.contains(&c));
    c.is_control() || INVISIBLE_CHARS.contains(&c) || in_range()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn escapes_hidden_characters() {
        for (given, expected) in [
            ("a\u{e0041}b", "a\\u{e0041}b"),
            ("a\u{202e}b\u{200b}", "a\\u{202e}b\\u{200b}"),
            ("\u{2066}x\u{2069}\u{61c}", "\\u{2066}x\\u{2069}\\u{61c}"),
            ("a\u{200d}b", "a\\u{200d}b"),
            ("a\u{0}\u{1b}[1m\tb\n", "a\\u{0}\\u{1b}[1m\tb\n"),
            ("\u{9b}31m \u{7f}\u{8}", "\\u{9b}31m \\u{7f}\\u{8}"),
            ("ok\rno", "ok\\u{d}no"),
            ("x\u{3164}\u{ad}\u{feff}", "x\\u{3164}\\u{ad}\\u{feff}"),
            ("😀\u{fe00}\u{fe01}", "😀\u{fe00}\\u{fe01}"),
            ("😀\u{e0100}", "😀\\u{e0100}"),
            ("ن\u{200c}\u{200c}ن", "ن\u{200c}\\u{200c}ن"),
        ] {
            assert_eq!(sanitize(given), expected);
        }
    }

    #[test]
    fn leaves_legitimate_text_unchanged() {
        for text in [
            "",
            "Größe 12 €, 日本語, עברית",
            "two\r\nlines\n\tand a tab",
            "👩\u{200d}🚀 ❤\u{fe0f} 👍🏽",
            "می\u{200c}خواهم",
            "क\u{94d}\u{200d}ष",
            "e\u{301}\u{300}",
        ] {
            assert!(
                matches!(sanitize(text), Cow::Borrowed(_)),
                "{text:?} became {:?}",
                sanitize(text)
            );
        }
    }

    #[test]
    fn sanitises_every_string_of_a_value() {
        let mut value = json!({"a\u{200b}": ["\u{1b}", {"b": "\u{e0041}"}], "n": 1, "z": null});
        sanitize_value(&mut value);
        assert_eq!(
            value,
            json!({"a\\u{200b}": ["\\u{1b}", {"b": "\\u{e0041}"}], "n": 1, "z": null})
        );
    }

    #[test]
    fn reports_only_json_that_needs_escaping() {
        assert_eq!(sanitize_json(r#"{"a":"x \"y\" \n","n":0.1}"#), None);
        assert_eq!(sanitize_json(r#"["\u001b"]"#), Some(json!(["\\u{1b}"])));
        assert_eq!(sanitize_json("[\"\u{202e}\"]"), Some(json!(["\\u{202e}"])));
    }

    proptest! {
        #[test]
        fn sanitised_text_has_no_hidden_characters(text in any::<String>()) {
            let once = sanitize(&text).into_owned();
            prop_assert!(!has_hidden(&once), "{once:?}");
            let plain: String = text.chars().filter(|c| matches!(c, ' '..='~')).collect();
            prop_assert!(once.len() >= plain.len());
        }
    }
}
