//! The top-level blocks of a Markdown text, as far as the section tree needs them.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

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
            Event::End(end) => {
                depth -= 1;
                if depth == 0 && matches!(end, TagEnd::Heading(_)) {
                    trim_title(&mut blocks);
                }
            }
            Event::Text(piece) | Event::Code(piece) | Event::InlineHtml(piece) => {
                if let Some(Kind::Heading { title, .. }) = blocks.last_mut().map(|b| &mut b.kind)
                    && depth > 0
                {
                    title.push_str(&piece);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(Kind::Heading { title, .. }) = blocks.last_mut().map(|b| &mut b.kind) {
                    title.push(' ');
                }
            }
            _ if depth == 0 => blocks.push(Block { kind: Kind::Other, range }),
            _ => {}
        }
    }
    blocks
}

fn kind_of(tag: &Tag<'_>, source: &str) -> Kind {
    match tag {
        Tag::Heading { level, .. } => Kind::Heading { level: *level as u8, title: String::new() },
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

fn trim_title(blocks: &mut [Block]) {
    if let Some(Kind::Heading { title, .. }) = blocks.last_mut().map(|b| &mut b.kind) {
        *title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}
