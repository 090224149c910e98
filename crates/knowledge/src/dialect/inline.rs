//! What is recognised inside lines: attribute lists, shortcodes, JSX, comments, wikilinks.
//!
//! One pass over the text. Every construct is either consumed or searched for in a bounded part of
//! the text, so that the cost grows with the length and not faster.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{Dialect, attributes};

/// A shortcode that is not closed within this many bytes is text.
const MAX_SHORTCODE: usize = 1000;
const MAX_TAG: usize = 10_000;
/// Attributes whose values a reader sees.
const VISIBLE: [&str; 3] = ["title", "label", "summary"];

/// Text that is not code.
pub(super) fn text(text: &str, dialect: Dialect) -> String {
    let code = code_spans(text);
    Scanner::new(text, &code, dialect, Place::Body).run().0
}

/// A title and its anchor.
pub(super) fn heading(
    title: &str,
    code: &[Range<usize>],
    dialect: Dialect,
) -> (String, Option<String>) {
    let (cleaned, anchor) = Scanner::new(title, code, dialect, Place::Title).run();
    let cleaned = cleaned.trim();
    let is_code_last = code.last().is_some_and(|code| code.end == title.trim_end().len());
    let bracketed = cleaned.strip_suffix(']').and_then(|rest| rest.rsplit_once(" [#"));
    match bracketed.filter(|(_, name)| !is_code_last && !name.contains([' ', '[', ']'])) {
        Some((title, name)) => (title.trim_end().to_owned(), Some(name.to_owned())),
        None => (cleaned.to_owned(), anchor),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Body,
    Title,
}

struct Scanner<'a> {
    text: &'a str,
    code: &'a [Range<usize>],
    dialect: Dialect,
    place: Place,
    /// The closing brace of every opening one; only for MDX.
    braces: HashMap<usize, usize>,
    /// Ends that do not occur any more.
    exhausted: HashSet<&'static str>,
    out: String,
    anchor: Option<String>,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str, code: &'a [Range<usize>], dialect: Dialect, place: Place) -> Self {
        let braces = match dialect {
            Dialect::Mdx => matching_braces(text, code),
            Dialect::Markdown => HashMap::new(),
        };
        let out = String::with_capacity(text.len());
        Self { text, code, dialect, place, braces, exhausted: HashSet::new(), out, anchor: None }
    }

    fn run(mut self) -> (String, Option<String>) {
        let (mut at, mut kept) = (0, 0);
        let mut code = self.code.iter().peekable();
        while let Some(found) = self.text[at..].find(['{', '<', '[', '\\', '`']) {
            at += found;
            while code.peek().is_some_and(|span| span.end <= at) {
                code.next();
            }
            if let Some(span) = code.peek().filter(|span| span.contains(&at)) {
                at = span.end;
                continue;
            }
            if self.text[at..].starts_with('\\') {
                at += 1 + self.text[at + 1..].chars().next().map_or(0, char::len_utf8);
                continue;
            }
            match self.construct(at) {
                Some((end, shown)) => {
                    self.out.push_str(&self.text[kept..at]);
                    self.out.push_str(&shown);
                    (at, kept) = (end, end);
                }
                None => at += 1,
            }
        }
        self.out.push_str(&self.text[kept..]);
        (self.out, self.anchor)
    }

    /// Where the construct at `at` ends and what a reader sees of it.
    fn construct(&mut self, at: usize) -> Option<(usize, String)> {
        match self.text.as_bytes()[at] {
            b'{' => self.brace(at),
            b'<' if self.dialect == Dialect::Mdx || self.place == Place::Title => self.tag(at),
            b'[' => wikilink(self.text, at),
            _ => None,
        }
    }

    fn brace(&mut self, at: usize) -> Option<(usize, String)> {
        let rest = &self.text[at..];
        for (open, close) in [("{{<", ">}}"), ("{{%", "%}}"), ("{%", "%}"), ("{{#", "}}")] {
            if rest.starts_with(open) {
                return shortcode(rest, close).map(|(length, shown)| (at + length, shown));
            }
        }
        if rest.starts_with("{/*") {
            let end = self.find(at, "*/}")?;
            let comment = self.text[at + 3..end - 3].trim();
            if let Some(anchor) = comment.strip_prefix('#').filter(|_| self.place == Place::Title) {
                self.anchor = Some(anchor.trim().to_owned());
            }
            return Some((end, String::new()));
        }
        if rest.starts_with("{{") && self.text[..at].ends_with('(') {
            return shortcode(rest, "}}").map(|(length, _)| (at + length, String::new()));
        }
        self.attribute_list(at).or_else(|| self.expression(at))
    }

    fn attribute_list(&mut self, at: usize) -> Option<(usize, String)> {
        let inside = &self.text[at + 1..];
        let length = inside.find(['{', '}', '\n']).filter(|&end| inside[end..].starts_with('}'))?;
        let id = attributes::parse(&inside[..length])?.id;
        let end = at + length + 2;
        let before = self.text[..at].chars().next_back();
        // `x_{i=1}` is a formula. A pair alone behind a space could be prose, except at the end.
        let attached = before.is_none_or(|c| c.is_whitespace() || ")]`*\"':>".contains(c));
        let is_marked = inside[..length].trim_start().starts_with([':', '#', '.']);
        let is_last = self.text[end..].lines().next().unwrap_or_default().trim().is_empty();
        let is_free = before.is_none_or(char::is_whitespace);
        let in_title = self.place == Place::Title;
        if !(attached || in_title) || (is_free && !is_marked && !is_last) {
            return None;
        }
        if in_title && !is_last {
            return None;
        }
        if let Some(id) = id.filter(|_| in_title) {
            self.anchor = Some(id.to_owned());
        }
        Some((end, String::new()))
    }

    /// A JSX expression: a string is text, anything else is not for a reader.
    fn expression(&self, at: usize) -> Option<(usize, String)> {
        let end = *self.braces.get(&at)?;
        let inside = self.text[at + 1..end].trim();
        let string = ['"', '\'', '`']
            .iter()
            .find_map(|&quote| inside.strip_prefix(quote)?.strip_suffix(quote))
            .filter(|string| !string.contains(['"', '\'', '`']));
        Some((end + 1, string.unwrap_or_default().to_owned()))
    }

    fn tag(&mut self, at: usize) -> Option<(usize, String)> {
        if self.text[at..].starts_with("<!--") {
            return self.find(at, "-->").map(|end| (end, String::new()));
        }
        let tag = Tag::parse(self.text, at, &self.braces)?;
        if self.place == Place::Title {
            return self.tag_in_title(at, &tag);
        }
        let label = VISIBLE.iter().find_map(|name| attribute_value(tag.attributes, name));
        let shown = match label {
            Some(label) => format!("\n\n{label}\n\n"),
            None if tag.name == "br" => " ".to_owned(),
            None => String::new(),
        };
        Some((tag.end, shown))
    }

    /// `Vec<T>` is a title; `<a name="x"></a>` and `<Badge />` are not part of one.
    fn tag_in_title(&mut self, at: usize, tag: &Tag<'a>) -> Option<(usize, String)> {
        // No tool renders a script in a title; an author who writes one means its text.
        if ["script", "style"].iter().any(|name| tag.name.eq_ignore_ascii_case(name)) {
            return None;
        }
        let is_markup = !tag.attributes.trim().is_empty()
            || tag.is_closed
            || is_html(tag.name)
            || self.text[tag.end..].contains(&format!("</{}", tag.name))
            || (self.text[at..].starts_with("</")
                && self.text[..at].contains(&format!("<{}", tag.name)));
        if !is_markup {
            return None;
        }
        let name = ["id", "name"].iter().find_map(|name| attribute_value(tag.attributes, name));
        if let Some(name) = name.filter(|_| self.anchor.is_none()) {
            self.anchor = Some(name.to_owned());
        }
        Some((tag.end, String::new()))
    }

    /// Where `end` ends, from `at` on.
    fn find(&mut self, at: usize, end: &'static str) -> Option<usize> {
        if self.exhausted.contains(end) {
            return None;
        }
        let found = self.text[at..].find(end).map(|found| at + found + end.len());
        if found.is_none() {
            self.exhausted.insert(end);
        }
        found
    }
}

struct Tag<'a> {
    name: &'a str,
    attributes: &'a str,
    is_closed: bool,
    end: usize,
}

impl<'a> Tag<'a> {
    /// `<Name a="b" c={d}>`, `</Name>`, `<>` and `</>`; no autolink.
    fn parse(text: &'a str, at: usize, braces: &HashMap<usize, usize>) -> Option<Self> {
        let start = at + 1 + usize::from(text[at + 1..].starts_with('/'));
        let name_end = text[start..].find(|c: char| !(c.is_alphanumeric() || "._-".contains(c)))?;
        let name = &text[start..start + name_end];
        let after = start + name_end;
        let is_name = name.is_empty() || name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !is_name || !text[after..].starts_with(['>', '/', ' ', '\n', '\t', '\r']) {
            return None;
        }
        let end = tag_end(text, after, braces)?;
        let inside = &text[after..end - 1];
        let is_closed = inside.ends_with('/');
        if name.is_empty() && !inside.trim().is_empty() {
            return None;
        }
        Some(Self { name, attributes: inside.trim_end_matches('/'), is_closed, end })
    }
}

/// Behind the `>` that ends a tag, outside quotes and expressions.
fn tag_end(text: &str, from: usize, braces: &HashMap<usize, usize>) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while at < bytes.len() && at - from < MAX_TAG {
        match bytes[at] {
            b'>' => return Some(at + 1),
            b'<' => return None,
            quote @ (b'"' | b'\'') => {
                let rest = &bytes[at + 1..bytes.len().min(at + MAX_TAG)];
                at += 1 + rest.iter().position(|&byte| byte == quote)?;
            }
            b'{' => at = *braces.get(&at).unwrap_or(&at),
            _ => {}
        }
        at += 1;
    }
    None
}

/// HTML that authors write in titles without attributes.
fn is_html(name: &str) -> bool {
    const NAMES: [&str; 12] =
        ["br", "b", "i", "em", "strong", "code", "sup", "sub", "kbd", "span", "small", "center"];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The value of a quoted attribute: `title="Setup"`.
pub(crate) fn attribute_value<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let mut from = 0;
    while let Some(at) = attributes[from..].find(name).map(|at| from + at) {
        from = at + name.len();
        let starts = attributes[..at].chars().next_back().is_none_or(char::is_whitespace);
        let Some(value) = attributes[from..].strip_prefix('=').filter(|_| starts) else {
            continue;
        };
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        return value[1..].split(quote).next().filter(|value| !value.trim().is_empty());
    }
    None
}

fn shortcode(rest: &str, close: &str) -> Option<(usize, String)> {
    let mut window = rest.len().min(MAX_SHORTCODE);
    while !rest.is_char_boundary(window) {
        window -= 1;
    }
    let end = rest[..window].find(close)?;
    let inside = &rest[2..end.max(2)];
    if inside.contains("\n\n") {
        return None;
    }
    let shown = VISIBLE.iter().find_map(|name| attribute_value(inside, name));
    let shown = shown.map(|label| format!("\n\n{label}\n\n"));
    Some((end + close.len(), shown.unwrap_or_default()))
}

/// `[[Page#Section|label]]` is shown as its label, or as the names it is made of.
fn wikilink(text: &str, at: usize) -> Option<(usize, String)> {
    let inside = text[at..].strip_prefix("[[")?;
    let length = inside.find(['[', ']', '\n']).filter(|&end| inside[end..].starts_with("]]"))?;
    let (target, end) = (&inside[..length], at + length + 4);
    if target.is_empty() || target.starts_with(' ') || text[end..].starts_with(['(', '[']) {
        return None;
    }
    let shown = target.rsplit_once('|').map_or(target, |(_, label)| label);
    Some((end, shown.replace('#', " ").trim().to_owned()))
}

/// The code spans of a text: runs of backticks up to the next run of the same length in the same
/// paragraph.
fn code_spans(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let length = bytes[start..].iter().take_while(|&&byte| byte == b'`').count();
        runs.push((start, length));
        at = start + length;
    }
    let mut by_length: HashMap<usize, Vec<usize>> = HashMap::new();
    for &(start, length) in &runs {
        by_length.entry(length).or_default().push(start);
    }
    let mut spans: Vec<Range<usize>> = Vec::new();
    for (start, length) in runs {
        if spans.last().is_some_and(|span| start < span.end) {
            continue;
        }
        let same = &by_length[&length];
        let next = same.partition_point(|&other| other <= start);
        if let Some(&close) = same.get(next)
            && !text[start..close].contains("\n\n")
        {
            spans.push(start..close + length);
        }
    }
    spans
}

fn matching_braces(text: &str, code: &[Range<usize>]) -> HashMap<usize, usize> {
    let mut open = Vec::new();
    let mut pairs = HashMap::new();
    let mut code = code.iter().peekable();
    for (at, byte) in text.bytes().enumerate() {
        while code.peek().is_some_and(|span| span.end <= at) {
            code.next();
        }
        if !matches!(byte, b'{' | b'}') || code.peek().is_some_and(|span| span.contains(&at)) {
            continue;
        }
        match byte {
            b'{' => open.push(at),
            _ => {
                if let Some(start) = open.pop() {
                    pairs.insert(start, at);
                }
            }
        }
    }
    pairs
}
