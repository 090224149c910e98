//! What the sections of one file link to, as written.

use std::collections::HashMap;
use std::fmt;

use pulldown_cmark::{BrokenLink, CowStr, Event, Parser, Tag};

use crate::dialect::{attribute_value, commonmark};
use crate::document::Document;
use crate::text::markdown_options;

/// More links of one section are not followed.
const MAX_PER_SECTION: usize = 500;

/// Where a link leads, as written; never to another host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// `../guide.md#setup`, `/guide/`, `#setup`.
    Url(String),
    /// `[[Page#Section]]`, without its label.
    Wiki(String),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(url),
            Self::Wiki(page) => write!(f, "[[{page}]]"),
        }
    }
}

pub(super) fn targets(document: &Document) -> Vec<Vec<Target>> {
    let definitions = definitions(document.text());
    let sections = 0..document.sections.len();
    sections.map(|section| section_targets(document, section, &definitions)).collect()
}

/// The definitions of reference links, which may be in another section: `[label]: target`.
fn definitions(text: &str) -> HashMap<String, String> {
    if !text.contains("]:") {
        return HashMap::new();
    }
    let parser = Parser::new_ext(text, markdown_options());
    let all = parser.reference_definitions().iter();
    all.map(|(label, link)| (label.to_lowercase(), link.dest.to_string())).collect()
}

fn section_targets(
    document: &Document,
    section: usize,
    definitions: &HashMap<String, String>,
) -> Vec<Target> {
    let body = document.body(section);
    if !body.contains(['[', '=']) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let markdown = commonmark(&body, document.dialect);
    let defined = |link: BrokenLink<'_>| {
        let target = definitions.get(&link.reference.to_lowercase())?;
        Some((CowStr::from(target.clone()), CowStr::Borrowed("")))
    };
    let parser =
        Parser::new_with_broken_link_callback(&markdown, markdown_options(), Some(defined));
    for event in parser {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => push_url(&mut found, &dest_url),
            Event::Html(html) | Event::InlineHtml(html) => {
                if let Some(url) = attribute_value(html.trim_end_matches('>'), "href") {
                    push_url(&mut found, url);
                }
            }
            _ => {}
        }
    }
    // Rewriting to `CommonMark` leaves the labels only.
    push_wikilinks(&mut found, &body);
    push_components(&mut found, &body);
    found.truncate(MAX_PER_SECTION);
    found
}

fn push_url(found: &mut Vec<Target>, url: &str) {
    let scheme = url.split(['/', '#', '?']).next().unwrap_or_default();
    let leaves = scheme.contains(':') || url.starts_with("//");
    if !url.is_empty() && !leaves && is_page(url) {
        let target = Target::Url(url.to_owned());
        if !found.contains(&target) {
            found.push(target);
        }
    }
}

/// Whether a link may lead to a page; one to a picture or a source file does not.
fn is_page(url: &str) -> bool {
    let path = url.split(['#', '?']).next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_other = (1..=4).contains(&extension.len())
        && extension.starts_with(|c: char| c.is_ascii_alphabetic())
        && !["md", "mdx", "html", "htm"].contains(&extension.to_lowercase().as_str());
    !is_other
}

fn push_wikilinks(found: &mut Vec<Target>, body: &str) {
    if !body.contains("[[") {
        return;
    }
    let mut is_code = false;
    for line in body.lines() {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        is_code ^= is_fence;
        // Every second piece between backticks is code.
        for piece in line.split('`').step_by(2).filter(|_| !is_code && !is_fence) {
            for part in piece.split("[[").skip(1).take(MAX_PER_SECTION) {
                let Some((inside, after)) = part.split_once("]]") else { continue };
                let page = inside.split('|').next().unwrap_or_default().trim();
                let is_name = !page.is_empty() && !inside.starts_with(' ') && !page.contains('[');
                if is_name && !after.starts_with(['(', '[']) {
                    found.push(Target::Wiki(page.to_owned()));
                }
            }
        }
    }
}

/// `<Card href="/guide">` and `<Link to="/guide">`: tags of MDX are not in the rewritten text.
fn push_components(found: &mut Vec<Target>, body: &str) {
    let mut is_code = false;
    for line in body.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            is_code = !is_code;
        }
        for piece in line.split('`').step_by(2).filter(|_| !is_code) {
            if piece.contains('<') || trimmed.starts_with("href=") || trimmed.starts_with("to=") {
                for name in ["href", "to"] {
                    if let Some(url) = attribute_value(piece, name) {
                        push_url(found, url);
                    }
                }
            }
        }
    }
}
