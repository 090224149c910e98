//! Markdown text → a tree of sections.
//!
//! Parsing never fails. The result holds what was understood and a list of what was not, and the
//! sections' sources laid end to end are the text itself, so nothing an author wrote gets lost.

use std::borrow::Cow;
use std::ops::Range;

use crate::blocks::{Block, Kind, top_level_blocks};
use crate::diagnostic::Diagnostic;
use crate::metadata::{KNOWN_STATUSES, KNOWN_TYPES, Metadata, looks_like_metadata};
use crate::path::RelPath;
use crate::text::slug;

/// More sections than this in one file are kept as text of the last one.
pub const MAX_NODES_PER_FILE: usize = 500;

const DEFAULT_TYPE: &str = "context";
const DEFAULT_STATUS: &str = "active";

/// One Markdown file. Its first section is the root of all others.
#[derive(Debug)]
pub struct Document {
    pub path: RelPath,
    /// BLAKE3 of the file's bytes.
    pub hash: blake3::Hash,
    pub sections: Vec<Section>,
    pub diagnostics: Vec<Diagnostic>,
    text: String,
}

/// A heading and what stands below it, up to the next heading.
#[derive(Debug)]
pub struct Section {
    pub title: String,
    /// 1 to 6; 0 for a file that has no single top heading.
    pub level: u8,
    /// Line of the heading, from 1.
    pub line: usize,
    pub parent: Option<usize>,
    pub children: Vec<usize>,
    pub metadata: Metadata,
    /// Its own type, or that of the nearest section above that has one.
    pub kind: String,
    /// Its own status, or that of the nearest section above that has one.
    pub status: String,
    pub last_checked: Option<String>,
    /// The name below its parent, from the heading's text or its `{#anchor}`.
    pub slug: String,
    /// Everything that belongs to this section: heading, metadata and body.
    source: Range<usize>,
    /// Text that stood before the file's first heading.
    lead: Range<usize>,
    body: Range<usize>,
}

impl Document {
    pub fn parse(path: RelPath, bytes: &[u8]) -> Self {
        let (text, decoding) = decode(bytes);
        let mut parse = Parse::new(&path, &text);
        parse.diagnostics.extend(decoding);
        let sections = parse.sections();
        let diagnostics = parse.diagnostics;
        Self {
            hash: blake3::hash(bytes),
            path,
            sections,
            diagnostics: diagnostics
                .into_iter()
                .map(|(line, message)| Diagnostic::new(line, message))
                .collect(),
            text,
        }
    }

    /// A text that is one node, whatever headings it has.
    pub fn single(path: RelPath, title: &str, text: &str) -> Self {
        let section = Section {
            slug: slug(title),
            title: title.to_owned(),
            kind: DEFAULT_TYPE.to_owned(),
            status: DEFAULT_STATUS.to_owned(),
            source: 0..text.len(),
            body: 0..text.len(),
            ..Section::blank(0, Metadata::default())
        };
        Self {
            hash: blake3::hash(text.as_bytes()),
            path,
            sections: vec![section],
            diagnostics: Vec::new(),
            text: text.to_owned(),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// A section as the author wrote it, without the sections below it.
    pub fn own_source(&self, section: usize) -> &str {
        &self.text[self.sections[section].source.clone()]
    }

    /// A section as the author wrote it, with the sections below it.
    pub fn source(&self, section: usize) -> &str {
        let start = self.sections[section].source.start;
        let end = self.sections[self.last_below(section)].source.end;
        &self.text[start..end]
    }

    /// A section's text without heading and metadata.
    pub fn body(&self, section: usize) -> Cow<'_, str> {
        let section = &self.sections[section];
        let lead = trim_lines(&self.text[section.lead.clone()]);
        let body = trim_lines(&self.text[section.body.clone()]);
        match (lead.is_empty(), body.is_empty()) {
            (true, _) => Cow::Borrowed(body),
            (false, true) => Cow::Borrowed(lead),
            (false, false) => Cow::Owned(format!("{lead}\n\n{body}")),
        }
    }

    /// The sections from `section` to its last descendant, in reading order.
    pub fn subtree(&self, section: usize) -> std::ops::RangeInclusive<usize> {
        section..=self.last_below(section)
    }

    fn last_below(&self, mut section: usize) -> usize {
        while let Some(&last) = self.sections[section].children.last() {
            section = last;
        }
        section
    }
}

/// What the parser notices, with the line it stands on.
type Notes = Vec<(usize, String)>;

fn decode(bytes: &[u8]) -> (String, Notes) {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => (text.to_owned(), Vec::new()),
        Cow::Owned(text) => {
            let at = text.find(char::REPLACEMENT_CHARACTER).unwrap_or_default();
            let line = text[..at].matches('\n').count() + 1;
            let note = "not valid UTF-8; the bytes in question are shown as \u{fffd}";
            (text, vec![(line, note.to_owned())])
        }
    }
}

/// The slices of one file that the parser is working out.
struct Parse<'a> {
    path: &'a RelPath,
    text: &'a str,
    line_starts: Vec<usize>,
    front_matter: Metadata,
    /// Where the Markdown starts, after the front matter.
    start: usize,
    diagnostics: Notes,
}

/// A heading with its metadata, before it has a place in the tree.
struct Heading {
    level: u8,
    title: String,
    anchor: Option<String>,
    at: usize,
    metadata: Metadata,
    body_start: usize,
}

impl<'a> Parse<'a> {
    fn new(path: &'a RelPath, text: &'a str) -> Self {
        let newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        let mut parse = Self {
            path,
            text,
            line_starts: std::iter::once(0).chain(newlines).collect(),
            front_matter: Metadata::default(),
            start: 0,
            diagnostics: Vec::new(),
        };
        parse.read_front_matter();
        parse
    }

    fn line_of(&self, at: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= at)
    }

    fn line_after(&self, at: usize) -> usize {
        let next = self.line_starts.partition_point(|&start| start < at);
        self.line_starts.get(next).copied().unwrap_or(self.text.len())
    }

    fn note(&mut self, at: usize, message: impl Into<String>) {
        self.diagnostics.push((self.line_of(at), message.into()));
    }

    fn read_front_matter(&mut self) {
        let Some((yaml, end)) = front_matter(self.text) else {
            return;
        };
        self.start = end;
        match Metadata::from_yaml(yaml) {
            Ok(metadata) => self.front_matter = metadata,
            Err(fault) => self
                .diagnostics
                .push((fault.line + 1, format!("front matter is left aside: {}", fault.message))),
        }
    }

    fn sections(&mut self) -> Vec<Section> {
        let blocks = top_level_blocks(self.text, self.start);
        self.note_open_fence(&blocks);
        let mut headings = self.headings(&blocks);
        let has_top = has_single_top(&headings);
        let room = MAX_NODES_PER_FILE - usize::from(!has_top);
        if let Some(first_over) = headings.get(room) {
            let at = first_over.at;
            let over = headings.len() - room;
            self.note(
                at,
                format!(
                    "more than {MAX_NODES_PER_FILE} sections; the {over} from here on are kept as \
                     text of the section before"
                ),
            );
            headings.truncate(room);
        }
        let mut sections = self.lay_out(headings, has_top);
        grow_tree(&mut sections);
        self.settle(&mut sections);
        sections
    }

    fn note_open_fence(&mut self, blocks: &[Block]) {
        let open = blocks.iter().find(|b| matches!(b.kind, Kind::OpenFence));
        if let Some(at) = open.map(|block| block.range.start) {
            self.note(at, "this code fence is never closed; it runs to the end of the file");
        }
    }

    fn headings(&mut self, blocks: &[Block]) -> Vec<Heading> {
        let mut headings = Vec::new();
        for (i, block) in blocks.iter().enumerate() {
            let Kind::Heading { level, title } = &block.kind else {
                continue;
            };
            let (title, anchor) = split_anchor(title);
            let (metadata, body_start) = self.heading_metadata(block, &blocks[i + 1..]);
            headings.push(Heading {
                level: *level,
                title,
                anchor,
                at: block.range.start,
                metadata,
                body_start,
            });
        }
        headings
    }

    /// The metadata between a heading and its `<!-- content -->` line, and where the body starts.
    /// Without that line a list below a heading is content, whatever it looks like.
    fn heading_metadata(&mut self, heading: &Block, below: &[Block]) -> (Metadata, usize) {
        let bare = (Metadata::default(), self.line_after(heading.range.end));
        match below {
            [marker, ..] if marker.kind == Kind::ContentMarker => {
                (Metadata::default(), self.line_after(marker.range.end))
            }
            [list, marker, ..] if marker.kind == Kind::ContentMarker => {
                let Kind::List { items } = &list.kind else {
                    return bare;
                };
                let texts = items.iter().map(|item| &self.text[item.clone()]);
                let (metadata, malformed) = Metadata::from_items(texts);
                for position in malformed {
                    let item = items[position].clone();
                    let shown = self.text[item.clone()].trim().to_owned();
                    self.note(item.start, format!("`{shown}` is not `- key: value`"));
                }
                (metadata, self.line_after(marker.range.end))
            }
            [list, ..] => {
                if let Kind::List { items } = &list.kind
                    && items.iter().all(|item| looks_like_metadata(&self.text[item.clone()]))
                {
                    self.note(
                        list.range.start,
                        "looks like metadata, but no `<!-- content -->` line follows; it is kept \
                         as content",
                    );
                }
                bare
            }
            [] => bare,
        }
    }

    /// Gives every heading its stretch of the text. A file with one top heading has that as its
    /// root, with what stands before it; any other file gets a root of its own.
    fn lay_out(&self, headings: Vec<Heading>, has_top: bool) -> Vec<Section> {
        let end = self.text.len();
        let mut sections = Vec::with_capacity(headings.len() + 1);
        let first_at = headings.first().map_or(end, |heading| heading.at);
        if !has_top {
            sections.push(self.file_section(first_at));
        }
        let starts: Vec<usize> = headings.iter().map(|h| h.at).chain([end]).collect();
        for (i, heading) in headings.into_iter().enumerate() {
            let is_root = sections.is_empty();
            let metadata = if is_root {
                self.front_matter.clone().overlaid(heading.metadata)
            } else {
                heading.metadata
            };
            let (source_start, lead) = if is_root {
                (0, self.start..heading.at)
            } else {
                (heading.at, heading.at..heading.at)
            };
            sections.push(Section {
                slug: heading.anchor.unwrap_or_else(|| slug(&heading.title)),
                title: if heading.title.is_empty() {
                    self.path.stem().to_owned()
                } else {
                    heading.title
                },
                line: self.line_of(heading.at),
                source: source_start..starts[i + 1],
                lead,
                body: heading.body_start.min(starts[i + 1])..starts[i + 1],
                ..Section::blank(heading.level, metadata)
            });
        }
        sections
    }

    fn file_section(&self, end: usize) -> Section {
        let title = self.front_matter.text("title");
        let title = title.unwrap_or_else(|| self.path.stem().to_owned());
        Section {
            slug: slug(&title),
            title,
            source: 0..end,
            lead: 0..0,
            body: self.start..end,
            ..Section::blank(0, self.front_matter.clone())
        }
    }

    /// Settles type, status and date of every section, parents before children.
    fn settle(&mut self, sections: &mut [Section]) {
        for i in 0..sections.len() {
            let own = &sections[i].metadata;
            let (kind, status, checked) =
                (own.text("type"), own.text("status"), own.text("last_checked"));
            let line = sections[i].line;
            if let Some(kind) = kind.as_deref().filter(|kind| !KNOWN_TYPES.contains(kind)) {
                self.diagnostics.push((line, format!("unknown type `{kind}`, kept as it is")));
            }
            if let Some(status) = status.as_deref().filter(|status| !is_known_status(status)) {
                self.diagnostics.push((line, format!("unknown status `{status}`, kept as it is")));
            }
            let above = sections[i].parent.map(|parent| &sections[parent]);
            let kind = kind.or_else(|| above.map(|above| above.kind.clone()));
            let status = status.or_else(|| above.map(|above| above.status.clone()));
            let checked = checked.or_else(|| above.and_then(|above| above.last_checked.clone()));
            sections[i].kind = kind.unwrap_or_else(|| DEFAULT_TYPE.to_owned());
            sections[i].status = status.unwrap_or_else(|| DEFAULT_STATUS.to_owned());
            sections[i].last_checked = checked;
        }
    }
}

impl Section {
    fn blank(level: u8, metadata: Metadata) -> Self {
        Self {
            title: String::new(),
            level,
            line: 1,
            parent: None,
            children: Vec::new(),
            metadata,
            kind: String::new(),
            status: String::new(),
            last_checked: None,
            slug: String::new(),
            source: 0..0,
            lead: 0..0,
            body: 0..0,
        }
    }
}

fn has_single_top(headings: &[Heading]) -> bool {
    headings
        .split_first()
        .is_some_and(|(first, rest)| rest.iter().all(|heading| heading.level > first.level))
}

fn grow_tree(sections: &mut [Section]) {
    let mut open: Vec<usize> = Vec::new();
    for i in 0..sections.len() {
        while open.last().is_some_and(|&above| sections[above].level >= sections[i].level) {
            open.pop();
        }
        if let Some(&parent) = open.last() {
            sections[i].parent = Some(parent);
            sections[parent].children.push(i);
        }
        open.push(i);
    }
}

fn is_known_status(status: &str) -> bool {
    KNOWN_STATUSES.contains(&status.replace('_', "-").as_str())
}

/// `---` on the first line up to the next `---` or `...`; unclosed, it is a thematic break.
fn front_matter(text: &str) -> Option<(&str, usize)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next()?;
    if first.trim_end() != "---" {
        return None;
    }
    let start = first.len();
    let mut end = start;
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((&text[start..end], end + line.len()));
        }
        end += line.len();
    }
    None
}

/// `Services {#svc}` → `Services`, `svc`.
fn split_anchor(title: &str) -> (String, Option<String>) {
    let split = title
        .strip_suffix('}')
        .and_then(|rest| rest.rsplit_once("{#"))
        .filter(|(_, anchor)| !anchor.is_empty() && !anchor.contains([' ', '{', '}', '#']));
    match split {
        Some((title, anchor)) => (title.trim().to_owned(), Some(anchor.to_owned())),
        None => (title.trim().to_owned(), None),
    }
}

/// Leading blank lines and trailing white space removed; the first line keeps its indentation.
fn trim_lines(text: &str) -> &str {
    let text = text.trim_end();
    let start = text
        .char_indices()
        .find(|(_, c)| !c.is_whitespace())
        .map_or(text.len(), |(first, _)| text[..first].rfind('\n').map_or(0, |at| at + 1));
    &text[start..]
}
