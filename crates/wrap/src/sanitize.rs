//! Writes out invisible characters in a wrapped server's tool titles and descriptions.
//!
//! A model reads these texts as instructions, so people must be able to see all of them. Everything
//! else keeps its bytes; names and values, which the server compares, are left alone.

use std::borrow::Cow;

use kenning_sanitize::{has_hidden, sanitize};
use serde_json::Value;

use crate::raw::{Object, items, place, string};

/// Members that a model reads as prose.
const PROSE: [&str; 2] = ["description", "title"];
/// Deeper nesting is not searched, to bound the recursion.
const MAX_DEPTH: usize = 64;
const UNREADABLE: &str = "(this text cannot be read)";

/// The tool with invisible characters written out; `None` if it has none.
pub(crate) fn sanitize_tool(tool: &str) -> Option<String> {
    // A JSON escape may spell any character.
    if !tool.contains('\\') && !has_hidden(tool) {
        return None;
    }
    let mut changes = Vec::new();
    collect(tool, MAX_DEPTH, &mut changes);
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

/// Collects texts with invisible characters, in order, and their replacements.
fn collect<'a>(json: &'a str, depth: usize, changes: &mut Vec<(&'a str, String)>) {
    if depth == 0 {
        return;
    }
    if let Some(object) = Object::read(json) {
        for (name, value) in object.members() {
            match value.as_bytes().first() {
                Some(b'"') if PROSE.contains(&name) => {
                    changes.extend(sanitized(value).map(|text| (value, text)));
                }
                Some(b'{' | b'[') => collect(value, depth - 1, changes),
                _ => {}
            }
        }
    } else {
        items(json).into_iter().flatten().for_each(|item| collect(item, depth - 1, changes));
    }
}

fn sanitized(json: &str) -> Option<String> {
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
    fn a_tool_without_hidden_characters_keeps_its_bytes() {
        for tool in [
            r#"{"name":"a","description":"Adds. \"Quoted\" \u00e9 \n"}"#,
            r#"{"name":"a\u200b","inputSchema":{"enum":["\u200b"],"default":"\u001b"}}"#,
            r#"[1, {"x": "\u200b"}]"#,
            "no JSON \\",
        ] {
            assert_eq!(sanitize_tool(tool), None, "{tool}");
        }
    }

    #[test]
    fn hidden_characters_in_descriptions_are_written_out() {
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
            assert_eq!(sanitize_tool(tool).as_deref(), Some(expected), "{tool}");
        }
    }
}
