//! Markdown as documentation tools extend it: attribute lists, admonitions, tabs, shortcodes, MDX
//! and wikilinks.
//!
//! `CommonMark` reads most of these as text, or as code because of their indentation. [`commonmark`]
//! rewrites a text so that what remains is what a reader sees; [`heading`] does the same for a
//! title. Neither changes what a node returns: both are for titles, ids, summaries and the index.

mod attributes;
mod inline;
mod lines;

use std::borrow::Cow;
use std::ops::Range;

use crate::path::RelPath;

pub(crate) use attributes::anchor_line;
pub(crate) use inline::attribute_value;

/// Which markup a file is written in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Dialect {
    #[default]
    Markdown,
    /// Markdown with JSX: braces are expressions, and indentation makes no code.
    Mdx,
}

impl Dialect {
    pub(crate) fn of(path: &RelPath, text: &str) -> Self {
        let name = path.as_str();
        if name.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case("mdx")) {
            return Self::Mdx;
        }
        Self::guess(text)
    }

    /// MDX is often published with the extension `.md`; its imports and components give it away.
    pub(crate) fn guess(text: &str) -> Self {
        if !text.contains("import ") && !text.contains("</") && !text.contains("/>") {
            return Self::Markdown;
        }
        let is_mdx = lines::outside_code(text).any(|line| {
            lines::is_module_line(line) || line.starts_with("export const ") || is_component(line)
        });
        if is_mdx { Self::Mdx } else { Self::Markdown }
    }
}

/// `</Tabs>`, or `<Image … />` in one line.
fn is_component(line: &str) -> bool {
    let line = line.trim();
    let Some(tag) = line.strip_prefix('<') else {
        return false;
    };
    let (name, closed) = match tag.strip_prefix('/') {
        Some(name) => (name, line.ends_with('>')),
        None => (tag, line.ends_with("/>")),
    };
    closed && name.starts_with(|c: char| c.is_ascii_uppercase())
}

/// `markdown` in `CommonMark`, without what is for a tool and not for a reader.
pub(crate) fn commonmark(markdown: &str, dialect: Dialect) -> Cow<'_, str> {
    if dialect == Dialect::Markdown && !may_be_extended(markdown) {
        return Cow::Borrowed(markdown);
    }
    let mut out = String::with_capacity(markdown.len());
    for run in lines::unwrapped(markdown, dialect) {
        if run.is_code {
            out.push_str(&run.text);
        } else {
            out.push_str(&inline::text(&run.text, dialect));
        }
    }
    Cow::Owned(out)
}

fn may_be_extended(markdown: &str) -> bool {
    markdown.contains('{')
        || ["!!!", "???", "///", ":::", "[!", "[[", "=== \"", "--8<--", "[TOC]"]
            .iter()
            .any(|mark| markdown.contains(mark))
}

/// A title as a reader sees it, and its anchor. `code` are the parts of `title` that are code,
/// which stay as they are.
pub(crate) fn heading(
    title: &str,
    code: &[Range<usize>],
    dialect: Dialect,
) -> (String, Option<String>) {
    inline::heading(title, code, dialect)
}

/// The parts of a file that are no Markdown although `CommonMark` finds headings in them: code in
/// shortcodes, and comments.
pub(crate) fn hidden(text: &str) -> Vec<Range<usize>> {
    const KINDS: [(&str, &str); 3] =
        [("{% highlight", "{% endhighlight"), ("{{< highlight", "{{< /highlight"), ("{/*", "*/}")];
    let mut all = Vec::new();
    for (open, close) in KINDS {
        let mut from = 0;
        while let Some(start) = text[from..].find(open).map(|at| from + at) {
            from = start + open.len();
            if !starts_line(text, start) {
                continue;
            }
            let Some(end) = text[from..].find(close).map(|at| from + at) else {
                break;
            };
            all.push(start..end);
            from = end;
        }
    }
    all
}

fn starts_line(text: &str, at: usize) -> bool {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    text[line..at].trim().is_empty()
}

#[cfg(test)]
mod tests;
