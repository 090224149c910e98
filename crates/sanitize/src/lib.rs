//! Text from elsewhere, with nothing hidden in it.
//!
//! Some characters are not seen: marks of direction, joiners, tags that mirror ASCII, the escapes
//! that terminals obey. With them one can tell a reader one thing and a model, or a terminal,
//! another. [`sanitize`] writes them as `\u{…}`, so that both see the same. Whoever shows text that
//! others wrote, to agents, in a terminal or on a page, asks here.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use serde_json::Value;

/// The text with everything in it to be seen. Text that hides nothing stays as it is.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    let Some(first) = hidden_at(text) else { return Cow::Borrowed(text) };
    let mut seen = String::with_capacity(text.len() + 8);
    seen.push_str(&text[..first]);
    let mut before = text[..first].chars().next_back().unwrap_or(' ');
    let mut rest = text[first..].chars().peekable();
    while let Some(c) = rest.next() {
        if is_hidden(c, before, rest.peek().copied()) {
            seen.extend(c.escape_unicode());
            before = '}';
        } else {
            seen.push(c);
            before = c;
        }
    }
    Cow::Owned(seen)
}

/// Whether there is anything in a text that is not seen.
pub fn has_hidden(text: &str) -> bool {
    hidden_at(text).is_some()
}

/// [`sanitize`] for every text in a value, names included.
pub fn sanitize_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(seen) = sanitize(text) {
                *text = seen;
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

/// A value that was written as JSON, anew, if it hides something.
pub fn sanitize_json(json: &str) -> Option<Value> {
    // An escape may spell out anything.
    if !json.contains('\\') && !has_hidden(json) {
        return None;
    }
    let written: Value = serde_json::from_str(json).ok()?;
    let mut value = written.clone();
    sanitize_value(&mut value);
    (value != written).then_some(value)
}

fn hidden_at(text: &str) -> Option<usize> {
    // Most text is plain, and this is asked of all that is answered.
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

/// Marks of direction, joiners, separators and fillers; tags, which mirror ASCII.
const INVISIBLE: [RangeInclusive<char>; 8] = [
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{200b}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{fff9}'..='\u{fffb}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];
const ALONE: [char; 7] =
    ['\u{ad}', '\u{34f}', '\u{61c}', '\u{180e}', '\u{3164}', '\u{feff}', '\u{ffa0}'];
/// Where writing begins that needs joiners: Hebrew and beyond.
const JOINS: char = '\u{590}';

fn is_hidden(c: char, before: char, next: Option<char>) -> bool {
    match c {
        '\n' | '\t' => false,
        // Alone it takes a terminal back to the start of the line.
        '\r' => next != Some('\n'),
        // Part of how some words are written; between Latin letters, or in a row, it hides something.
        '\u{200c}' => before < JOINS || !before.is_alphabetic(),
        // Joins emoji and letters.
        '\u{200d}' => before < JOINS || is_unseen(before),
        // Chooses a form of the character before it; in a row, they spell out bytes.
        '\u{fe00}'..='\u{fe0f}' => {
            matches!(before, ' ' | '\n' | '\u{fe00}'..='\u{fe0f}') || is_unseen(before)
        }
        c => is_unseen(c),
    }
}

fn is_unseen(c: char) -> bool {
    let range = || INVISIBLE.iter().any(|range| range.contains(&c));
    c.is_control() || ALONE.contains(&c) || range()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_hidden() {
        for (given, seen) in [
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
            assert_eq!(sanitize(given), seen);
        }
    }

    #[test]
    fn what_people_write_stays() {
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
    fn every_text_of_a_value_is_shown() {
        let mut value = json!({"a\u{200b}": ["\u{1b}", {"b": "\u{e0041}"}], "n": 1, "z": null});
        sanitize_value(&mut value);
        assert_eq!(
            value,
            json!({"a\\u{200b}": ["\\u{1b}", {"b": "\\u{e0041}"}], "n": 1, "z": null})
        );
    }

    #[test]
    fn json_that_hides_nothing_stays_as_it_is() {
        assert_eq!(sanitize_json(r#"{"a":"x \"y\" \n","n":0.1}"#), None);
        assert_eq!(sanitize_json(r#"["\u001b"]"#), Some(json!(["\\u{1b}"])));
        assert_eq!(sanitize_json("[\"\u{202e}\"]"), Some(json!(["\\u{202e}"])));
    }

    proptest! {
        #[test]
        fn what_is_shown_hides_nothing(text in any::<String>()) {
            let once = sanitize(&text).into_owned();
            prop_assert!(!has_hidden(&once), "{once:?}");
            let plain: String = text.chars().filter(|c| matches!(c, ' '..='~')).collect();
            prop_assert!(once.len() >= plain.len());
        }
    }
}
