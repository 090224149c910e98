//! What a server says of its tools, with nothing hidden in it.
//!
//! A model reads titles and descriptions as if they were instructions. Characters that people do
//! not see in them are written out; everything else stays the bytes it was. Names and values that
//! a server must know again are left alone.

use std::borrow::Cow;

use kenning_sanitize::{has_hidden, sanitize};
use serde_json::Value;

use crate::raw::{Object, items, place, string};

/// What is read to a model.
const READ: [&str; 2] = ["description", "title"];
/// Nobody describes anything deeper.
const DEPTH: usize = 64;
const UNREADABLE: &str = "(this text cannot be read)";

/// The tool anew; `None` if it hides nothing.
pub(crate) fn seen(tool: &str) -> Option<String> {
    // An escape may spell out anything.
    if !tool.contains('\\') && !has_hidden(tool) {
        return None;
    }
    let mut changes = Vec::new();
    look(tool, DEPTH, &mut changes);
    if changes.is_empty() {
        return None;
    }
    let (mut new, mut at) = (String::with_capacity(tool.len()), 0);
    for (part, text) in changes {
        let part = place(tool, part);
        new.push_str(&tool[at..part.start]);
        new.push_str(&Value::from(text).to_string());
        at = part.end;
    }
    new.push_str(&tool[at..]);
    Some(new)
}

/// Finds texts that hide something, in their order, with what is to stand there.
fn look<'a>(json: &'a str, depth: usize, changes: &mut Vec<(&'a str, String)>) {
    if depth == 0 {
        return;
    }
    if let Some(object) = Object::read(json) {
        for (name, value) in object.members() {
            match value.as_bytes().first() {
                Some(b'"') if READ.contains(&name) => {
                    changes.extend(written_out(value).map(|text| (value, text)));
                }
                Some(b'{' | b'[') => look(value, depth - 1, changes),
                _ => {}
            }
        }
    } else {
        items(json).into_iter().flatten().for_each(|item| look(item, depth - 1, changes));
    }
}

fn written_out(json: &str) -> Option<String> {
    match string(json) {
        Some(text) => match sanitize(&text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(text) => Some(text),
        },
        None => Some(UNREADABLE.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_nothing_stays_the_bytes_it_was() {
        for tool in [
            r#"{"name":"a","description":"Adds. \"Quoted\" \u00e9 \n"}"#,
            r#"{"name":"a\u200b","inputSchema":{"enum":["\u200b"],"default":"\u001b"}}"#,
            r#"[1, {"x": "\u200b"}]"#,
            "no JSON \\",
        ] {
            assert_eq!(seen(tool), None, "{tool}");
        }
    }

    #[test]
    fn what_is_hidden_in_descriptions_is_written_out() {
        for (tool, expected) in [
            (r#"{"description":"a\u200bb"}"#, r#"{"description":"a\\u{200b}b"}"#),
            (r#"{"description":"a\udb40\udc41"}"#, r#"{"description":"a\\u{e0041}"}"#),
            ("{\"title\": \"\u{202e}\", \"x\":1e400}", "{\"title\": \"\\\\u{202e}\", \"x\":1e400}"),
            (
                r#"{"inputSchema":{"properties":{"description":{"description":"\u001b[2J"}}},"title":"\u0007"}"#,
                r#"{"inputSchema":{"properties":{"description":{"description":"\\u{1b}[2J"}}},"title":"\\u{7}"}"#,
            ),
            (r#"{"description":"\ud800"}"#, r#"{"description":"(this text cannot be read)"}"#),
        ] {
            assert_eq!(seen(tool).as_deref(), Some(expected), "{tool}");
        }
    }
}
