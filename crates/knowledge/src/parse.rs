//! The parser: from the bytes of a file to sections and diagnostics.

use std::borrow::Cow;

use crate::blocks::{Block, Kind, top_level_blocks};
use crate::diagnostic::Diagnostic;
use crate::dialect::{Dialect, anchor_line, heading, hidden};
use crate::document::{DEFAULT_STATUS, DEFAULT_TYPE, MAX_NODES_PER_FILE, Section};
use crate::metadata::{
    KNOWN_STATUSES, KNOWN_TYPES, Metadata, MetadataError, is_pair, look_like_metadata,
};
use crate::path::RelPath;
use crate::role;
use crate::text::slug;

/// What is read from the bytes of a file.
pub(crate) struct Parsed {
    pub(crate) text: String,
    pub(crate) dialect: Dialect,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// At least one.
    pub(crate) sections: Vec<Section>,
}

pub(crate) fn parse(path: &RelPath, bytes: &[u8]) -> Parsed {
    let (text, mut diagnostics) = decode(bytes);
    let mut parser = Parser::new(path, &text);
    let mut sections = parser.sections();
    diagnostics.append(&mut parser.diagnostics);
    let dialect = parser.dialect;
    role::assign(path, &text, &mut sections);
    Parsed { text, dialect, diagnostics, sections }
}

fn decode(bytes: &[u8]) -> (String, Vec<Diagnostic>) {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => (text.to_owned(), Vec::new()),
        Cow::Owned(text) => {
            let at = text.find(char::REPLACEMENT_CHARACTER).unwrap_or_default();
            let line = text[..at].matches('\n').count() + 1;
            let message = "not valid UTF-8; invalid bytes are replaced by \u{fffd}";
            (text, vec![Diagnostic::new(line, message)])
        }
    }
}

/// One file while it is parsed.
struct Parser<'a> {
    path: &'a RelPath,
    text: &'a str,
    dialect: Dialect,
    line_starts: Vec<usize>,
    front_matter: Metadata,
    /// Where the Markdown starts, after the front matter.
    start: usize,
    diagnostics: Vec<Diagnostic>,
}

/// A heading with its metadata, before it becomes a section.
struct Heading {
    level: u8,
    title: String,
    anchor: Option<String>,
    at: usize,
    metadata: Metadata,
    body_start: usize,
}

impl<'a> Parser<'a> {
    fn new(path: &'a RelPath, text: &'a str) -> Self {
        let newlines = text.match_indices('\n').map(|(at, _)| at + 1);
        let mut parser = Self {
            path,
            text,
            dialect: Dialect::of(path, text),
            line_starts: std::iter::once(0).chain(newlines).collect(),
            front_matter: Metadata::default(),
            start: 0,
            diagnostics: Vec::new(),
        };
        parser.read_front_matter();
        parser
    }

    fn line_of(&self, at: usize) -> usize {
        self.line_starts.partition_point(|&start| start <= at)
    }

    fn line_after(&self, at: usize) -> usize {
        let next = self.line_starts.partition_point(|&start| start < at);
        self.line_starts.get(next).copied().unwrap_or(self.text.len())
    }

    fn report(&mut self, at: usize, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::new(self.line_of(at), message));
    }

    fn read_front_matter(&mut self) {
        let Some((parsed, end)) = front_matter(self.text) else {
            return;
        };
        self.start = end;
        match parsed {
            Ok(metadata) => self.front_matter = metadata,
            Err(error) => {
                let message = format!("front matter is ignored: {}", error.message);
                self.diagnostics.push(Diagnostic::new(error.line + 1, message));
            }
        }
    }

    fn sections(&mut self) -> Vec<Section> {
        let blocks = top_level_blocks(self.text, self.start);
        self.report_open_fence(&blocks);
        let mut headings = self.headings(&blocks);
        // A page that is titled in its front matter may start with any of its sections.
        let is_titled = self.front_matter.text("title").is_some();
        let has_top = has_single_top(&headings) && (!is_titled || headings[0].level == 1);
        let limit = MAX_NODES_PER_FILE - usize::from(!has_top);
        if let Some(first_over) = headings.get(limit) {
            let at = first_over.at;
            let over = headings.len() - limit;
            self.report(
                at,
                format!(
                    "more than {MAX_NODES_PER_FILE} sections; the {over} from here on are kept as \
                     text of the section before"
                ),
            );
            headings.truncate(limit);
        }
        let mut sections = self.slice(headings, has_top);
        link_parents(&mut sections);
        self.inherit(&mut sections);
        sections
    }

    fn report_open_fence(&mut self, blocks: &[Block]) {
        let open = blocks.iter().find(|b| matches!(b.kind, Kind::OpenFence));
        if let Some(at) = open.map(|block| block.range.start) {
            self.report(at, "this code fence is never closed; it runs to the end of the file");
        }
    }

    fn headings(&mut self, blocks: &[Block]) -> Vec<Heading> {
        let mut headings = Vec::new();
        let hidden = hidden(self.text);
        for (i, block) in blocks.iter().enumerate() {
            let Kind::Heading { level, title, code } = &block.kind else {
                continue;
            };
            if hidden.iter().any(|range| range.contains(&block.range.start)) {
                continue;
            }
            let (title, anchor) = heading(title, code, self.dialect);
            let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
            let anchor = anchor.or_else(|| self.anchor_below(block));
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

    /// `{: #anchor }` in the line below a heading.
    fn anchor_below(&self, heading: &Block) -> Option<String> {
        let below = &self.text[self.line_after(heading.range.end)..];
        below.lines().next().and_then(anchor_line).map(str::to_owned)
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
                // Without a single pair it is a list of the author's, such as bold terms.
                if !texts.clone().any(is_pair) {
                    return bare;
                }
                let (metadata, malformed) = Metadata::from_items(texts);
                for position in malformed {
                    let item = items[position].clone();
                    let line = self.text[item.clone()].trim().to_owned();
                    self.report(item.start, format!("`{line}` is not `- key: value`"));
                }
                (metadata, self.line_after(marker.range.end))
            }
            [list, ..] => {
                if let Kind::List { items } = &list.kind
                    && look_like_metadata(items.iter().map(|item| &self.text[item.clone()]))
                {
                    self.report(
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

    /// Divides the text among the headings. If the file has a single top heading, that is the root
    /// and includes the text before it; any other file gets a root without a heading.
    fn slice(&self, headings: Vec<Heading>, has_top: bool) -> Vec<Section> {
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
        let title = title.map(|title| heading(&title, &[], self.dialect).0);
        let title = title.filter(|title| !title.is_empty());
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

    /// Sets type, status and date of every section, inherited from its parent where it has none.
    /// Parents come before their children.
    fn inherit(&mut self, sections: &mut [Section]) {
        for i in 0..sections.len() {
            let own = &sections[i].metadata;
            let (kind, status, checked) =
                (own.text("type"), own.text("status"), own.text("last_checked"));
            let line = sections[i].line;
            if let Some(kind) = kind.as_deref().filter(|kind| !KNOWN_TYPES.contains(kind)) {
                let message = format!("unknown type `{kind}`, kept as it is");
                self.diagnostics.push(Diagnostic::new(line, message));
            }
            if let Some(status) = status.as_deref().filter(|status| !is_known_status(status)) {
                let message = format!("unknown status `{status}`, kept as it is");
                self.diagnostics.push(Diagnostic::new(line, message));
            }
            let parent = sections[i].parent.map(|parent| &sections[parent]);
            let kind = kind.or_else(|| parent.map(|parent| parent.kind.clone()));
            let status = status.or_else(|| parent.map(|parent| parent.status.clone()));
            let checked = checked.or_else(|| parent.and_then(|parent| parent.last_checked.clone()));
            sections[i].kind = kind.unwrap_or_else(|| DEFAULT_TYPE.to_owned());
            sections[i].status = status.unwrap_or_else(|| DEFAULT_STATUS.to_owned());
            sections[i].last_checked = checked;
        }
    }
}

fn has_single_top(headings: &[Heading]) -> bool {
    headings
        .split_first()
        .is_some_and(|(first, rest)| rest.iter().all(|heading| heading.level > first.level))
}

/// Sets parents and children from the levels of the headings.
fn link_parents(sections: &mut [Section]) {
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

type FrontMatter = Result<Metadata, MetadataError>;

/// The front matter and where it ends: YAML between `---` (or up to `...`), TOML between `+++`, or
/// a JSON object between lines of `{` and `}`. Unclosed, it is text.
fn front_matter(text: &str) -> Option<(FrontMatter, usize)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next()?;
    let (ends, read): (&[&str], fn(&str) -> FrontMatter) = match first.trim_end() {
        "---" => (&["---", "..."], Metadata::from_yaml),
        "+++" => (&["+++"], Metadata::from_toml),
        "{" => (&["}"], Metadata::from_json),
        _ => return None,
    };
    let start = first.len();
    let mut end = start;
    for line in lines {
        if ends.contains(&line.trim_end()) {
            let parsed = read(&text[start..end]);
            // A text may start with a brace; only what is JSON is front matter.
            let is_text = ends == ["}"] && parsed.is_err();
            return (!is_text).then_some((parsed, end + line.len()));
        }
        end += line.len();
    }
    None
}
