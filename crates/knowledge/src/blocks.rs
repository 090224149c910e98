//! The top-level blocks of a Markdown text, as far as the section tree needs them.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use crate::text::markdown_options;

#[derive(Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) kind: Kind,
    pub(crate) range: Range<usize>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Kind {
    Heading {
        level: u8,
        title: String,
        /// The parts of the title that are code.
        code: Vec<Range<usize>>,
    },
    List {
        items: Vec<Range<usize>>,
    },
    /// The line `<!-- content -->`, which ends a heading's metadata.
    ContentMarker,
    /// A fenced code block that is never closed.
    OpenFence,
    Other,
}

/// The blocks of `text` from `start` on. A heading inside a quote or a list is part of that block.
pub(crate) fn top_level_blocks(text: &str, start: usize) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut depth = 0_usize;
    let events = Parser::new_ext(&text[start..], markdown_options()).into_offset_iter();
    for (event, range) in events {
        let range = range.start + start..range.end + start;
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    let kind = kind_of(&tag, &text[range.clone()]);
                    blocks.push(Block { kind, range });
                } else if depth == 1
                    && tag == Tag::Item
                    && let Some(Kind::List { items }) = blocks.last_mut().map(|b| &mut b.kind)
                {
                    items.push(range);
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            Event::Code(piece) => {
                if let Some(Kind::Heading { title, code, .. }) = heading(&mut blocks, depth) {
                    code.push(title.len()..title.len() + piece.len());
                    title.push_str(&piece);
                }
            }
            Event::Text(piece) | Event::InlineHtml(piece) => {
                if let Some(Kind::Heading { title, .. }) = heading(&mut blocks, depth) {
                    title.push_str(&piece);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(Kind::Heading { title, .. }) = heading(&mut blocks, depth) {
                    title.push(' ');
                }
            }
            _ if depth == 0 => blocks.push(Block { kind: Kind::Other, range }),
            _ => {}
        }
    }
    blocks
}

/// The block that is being read, if it is a heading.
fn heading(blocks: &mut [Block], depth: usize) -> Option<&mut Kind> {
    let kind = blocks.last_mut().map(|block| &mut block.kind)?;
    (depth > 0 && matches!(kind, Kind::Heading { .. })).then_some(kind)
}

fn kind_of(tag: &Tag<'_>, source: &str) -> Kind {
    match tag {
        Tag::Heading { level, .. } => {
            Kind::Heading { level: *level as u8, title: String::new(), code: Vec::new() }
        }
        Tag::List(None) => Kind::List { items: Vec::new() },
        Tag::HtmlBlock if is_content_marker(source) => Kind::ContentMarker,
        Tag::CodeBlock(CodeBlockKind::Fenced(_)) if !is_closed(source) => Kind::OpenFence,
        _ => Kind::Other,
    }
}

fn is_content_marker(html: &str) -> bool {
    html.trim()
        .strip_prefix("<!--")
        .and_then(|rest| rest.strip_suffix("-->"))
        .is_some_and(|inside| inside.trim().eq_ignore_ascii_case("content"))
}

fn is_closed(fence: &str) -> bool {
    let mut lines = fence.lines();
    let opening = lines.next().unwrap_or_default().trim_start();
    let mark = opening.chars().next().unwrap_or('`');
    let length = opening.chars().take_while(|&c| c == mark).count();
    lines.next_back().is_some_and(|last| {
        let last = last.trim();
        last.chars().count() >= length && last.chars().all(|c| c == mark)
    })
}
