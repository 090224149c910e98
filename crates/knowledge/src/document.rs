//! One Markdown file as a tree of sections.
//!
//! Parsing never fails: the result holds the sections and diagnostics of what was not understood.
//! The sources of the sections concatenated are the text of the file, so no text is lost.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use crate::diagnostic::Diagnostic;
use crate::dialect::{Dialect, commonmark};
use crate::keyword::stems;
use crate::links::Target;
use crate::metadata::Metadata;
use crate::parse::{Parsed, parse};
use crate::path::RelPath;
use crate::role::Role;
use crate::text::{plain_of, slug};

/// Further sections of a file become text of the last one.
pub const MAX_NODES_PER_FILE: usize = 500;

pub(crate) const DEFAULT_TYPE: &str = "context";
pub(crate) const DEFAULT_STATUS: &str = "active";

/// One Markdown file. Its first section is the root of all others.
#[derive(Debug)]
pub struct Document {
    pub path: RelPath,
    /// BLAKE3 of the file's bytes.
    pub hash: blake3::Hash,
    pub sections: Vec<Section>,
    pub diagnostics: Vec<Diagnostic>,
    text: String,
    pub(crate) dialect: Dialect,
    /// Read when links are first asked for; a document that does not change keeps them.
    pub(crate) targets: OnceLock<Vec<Vec<Target>>>,
}

/// A heading and the text below it, up to the next heading.
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
    /// The name below its parent, from the text of the heading or its `{#anchor}`.
    pub slug: String,
    /// The words of the title as the index has them, computed on first use.
    pub(crate) title_stems: OnceLock<Vec<String>>,
    /// What kind of text it is, by the path of the file and the shape of the text.
    pub role: Role,
    /// Everything that belongs to this section: heading, metadata and body.
    pub(crate) source: Range<usize>,
    /// Text before the first heading of the file.
    pub(crate) lead: Range<usize>,
    pub(crate) body: Range<usize>,
}

impl Document {
    pub fn parse(path: RelPath, bytes: &[u8]) -> Self {
        let Parsed { text, dialect, diagnostics, sections } = parse(&path, bytes);
        let targets = OnceLock::new();
        Self { hash: blake3::hash(bytes), path, sections, diagnostics, text, dialect, targets }
    }

    /// A document of one section, whatever headings its text has.
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
            dialect: Dialect::Markdown,
            targets: OnceLock::new(),
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

    /// A section's text in `CommonMark`, for the keyword index: what is for a tool is left out, what
    /// an author could search for, such as the target of a link, is not.
    pub(crate) fn commonmark(&self, section: usize) -> Cow<'_, str> {
        match self.body(section) {
            Cow::Borrowed(body) => commonmark(body, self.dialect),
            Cow::Owned(body) => Cow::Owned(commonmark(&body, self.dialect).into_owned()),
        }
    }

    /// A section's text as a reader sees it: [`Self::body`] without markup.
    pub fn plain(&self, section: usize) -> String {
        plain_of(&self.body(section), self.dialect)
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

impl Section {
    pub(crate) fn title_stems(&self) -> &[String] {
        self.title_stems.get_or_init(|| stems(&self.title))
    }

    pub(crate) fn blank(level: u8, metadata: Metadata) -> Self {
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
            title_stems: OnceLock::new(),
            role: Role::Guidance,
            source: 0..0,
            lead: 0..0,
            body: 0..0,
        }
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
