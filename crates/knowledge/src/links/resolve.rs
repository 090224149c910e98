//! From a target, as written, to a node.

use std::collections::HashMap;

use crate::node::NodeRef;
use crate::path::RelPath;
use crate::snapshot::Snapshot;
use crate::text::slug;

use super::Target;

/// Files by the names under which pages link to them; values are indexes of files.
#[derive(Debug, Default)]
pub(crate) struct FileNames {
    /// By base and path without extension, index name and ordering prefixes; `None` if several.
    pages: HashMap<(usize, String), Option<usize>>,
    /// Page names and files by base and last part of the page name.
    last_parts: HashMap<(usize, String), Vec<(String, usize)>>,
    /// By base and lower-case stem.
    stems: HashMap<(usize, String), Vec<usize>>,
}

impl FileNames {
    pub(crate) fn of(snapshot: &Snapshot) -> Self {
        let mut names = Self::default();
        for (index, file) in snapshot.files().iter().enumerate() {
            let path = &file.document.path;
            let page = page_name(path.as_str());
            let last = page.rsplit('/').next().unwrap_or_default().to_owned();
            names.last_parts.entry((file.base, last)).or_default().push((page.clone(), index));
            names
                .pages
                .entry((file.base, page))
                .and_modify(|known| *known = None)
                .or_insert(Some(index));
            let stem = path.stem().to_lowercase();
            names.stems.entry((file.base, stem)).or_default().push(index);
        }
        names
    }
}

/// `01-app/02-routing/index.mdx` → `app/routing`
fn page_name(path: &str) -> String {
    const EXTENSIONS: [&str; 4] = [".mdx", ".md", ".markdown", ".html"];
    let path = path.trim_end_matches('/');
    let bare = EXTENSIONS.iter().find_map(|end| path.strip_suffix(end)).unwrap_or(path);
    let mut parts: Vec<&str> = bare.split('/').map(without_order).collect();
    let is_index = |part: &&str| {
        ["index", "_index", "readme", "page"].iter().any(|name| part.eq_ignore_ascii_case(name))
    };
    if parts.len() > 1 && parts.last().is_some_and(is_index) {
        parts.pop();
    }
    parts.join("/").to_lowercase()
}

/// `01-app` → `app`; a name of digits alone stays.
fn without_order(part: &str) -> &str {
    let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
    let name = rest.trim_start_matches(['-', '_', '.']);
    if rest.len() < part.len() && name.len() < rest.len() && !name.is_empty() { name } else { part }
}

impl Snapshot {
    pub(crate) fn link_target<'a>(
        &'a self,
        from: NodeRef<'a>,
        target: &Target,
    ) -> Option<NodeRef<'a>> {
        let (page, fragment) = match target {
            Target::Url(text) | Target::Wiki(text) => {
                text.split_once('#').map_or((text.as_str(), None), |(page, at)| (page, Some(at)))
            }
        };
        let root = match target {
            _ if page.is_empty() => from.root(),
            Target::Url(_) => self.page(from, page)?,
            Target::Wiki(_) => match self.wiki_page(from, page) {
                Some(root) => root,
                None => return self.target(from, page).map(|index| self.at(index)),
            },
        };
        match fragment.filter(|fragment| !fragment.is_empty()) {
            None => Some(root),
            Some(fragment) => section(root, &decoded(fragment)),
        }
    }

    fn page<'a>(&'a self, from: NodeRef<'a>, url: &str) -> Option<NodeRef<'a>> {
        let url = decoded(url.split('?').next().unwrap_or_default());
        let base = from.file().base;
        if let Some(absolute) = url.strip_prefix('/') {
            return self.absolute_page(from, absolute);
        }
        let own = from.document().path.as_str();
        let folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
        // A site that serves `guide.md` as `guide/` has links relative to that folder.
        let as_folder = page_name(own);
        joined(folder, &url)
            .and_then(|path| self.file_named(base, &path))
            .or_else(|| joined(&as_folder, &url).and_then(|path| self.file_named(base, &path)))
    }

    /// A site is rooted at a folder of the base, or is served below a path that the base does not
    /// have: `/docs/guide` is `site/content/docs/guide.md`, or `guide.md`.
    fn absolute_page<'a>(&'a self, from: NodeRef<'a>, path: &str) -> Option<NodeRef<'a>> {
        let base = from.file().base;
        let path = path.trim_matches('/');
        let shorter = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
        let shorter = shorter.take(2).filter(|rest| rest.contains('/'));
        self.file_named(base, path)
            .or_else(|| self.page_below(from, path))
            .or_else(|| shorter.into_iter().find_map(|path| self.file_named(base, path)))
    }

    /// The page whose path ends with `path`, the nearest to `from` if there are several: a site in
    /// several languages has one in each.
    fn page_below<'a>(&'a self, from: NodeRef<'a>, path: &str) -> Option<NodeRef<'a>> {
        let name = page_name(path);
        let last = name.rsplit('/').next().unwrap_or_default().to_owned();
        let own = page_name(from.document().path.as_str());
        let names = self.file_names();
        let ending = names.last_parts.get(&(from.file().base, last))?.iter();
        let ending = ending.filter(|(page, _)| {
            page.strip_suffix(name.as_str()).is_some_and(|folder| folder.ends_with('/'))
        });
        let shared = |page: &str| {
            page.split('/').zip(own.split('/')).take_while(|(its, own)| its == own).count()
        };
        let best = ending.max_by_key(|(page, _)| (shared(page), std::cmp::Reverse(page.len())))?;
        (shared(&best.0) > 0).then(|| self.root_of(&self.files()[best.1]))
    }

    fn file_named(&self, base: usize, path: &str) -> Option<NodeRef<'_>> {
        if let Some(file) = RelPath::parse(path).ok().and_then(|path| self.file(base, &path)) {
            return Some(self.root_of(file));
        }
        let pages = &self.file_names().pages;
        let index = (*pages.get(&(base, page_name(path)))?)?;
        Some(self.root_of(&self.files()[index]))
    }

    /// `[[Page]]` by the name of a file, the nearest one if several have it, or `[[folder/Page]]`.
    fn wiki_page<'a>(&'a self, from: NodeRef<'a>, page: &str) -> Option<NodeRef<'a>> {
        let base = from.file().base;
        let name = page.trim().trim_end_matches(".md").to_lowercase();
        let (folder, stem) = name.rsplit_once('/').unwrap_or(("", &name));
        let stems = &self.file_names().stems;
        let dashed = || stems.get(&(base, stem.replace(' ', "-")));
        let candidates = stems.get(&(base, stem.to_owned())).or_else(dashed)?;
        let own = from.document().path.as_str();
        let own_folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
        let rank = |&&index: &&usize| {
            let path = &self.files()[index].document.path;
            let its = path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
            (its != own_folder, path.depth())
        };
        let files = candidates.iter().filter(|&&index| {
            let path = self.files()[index].document.path.as_str().to_lowercase();
            folder.is_empty() || path.contains(&format!("{folder}/{stem}"))
        });
        files.min_by_key(rank).map(|&index| self.root_of(&self.files()[index]))
    }
}

/// The section that a fragment means, by its id, its anchor, or its heading as any site writes it.
fn section<'a>(root: NodeRef<'a>, fragment: &str) -> Option<NodeRef<'a>> {
    let wanted = squashed(fragment);
    root.section_named(fragment)
        .or_else(|| root.section_named(&slug(fragment)))
        .or_else(|| root.subtree().find(|node| squashed(node.title()) == wanted))
        .or_else(|| numbered(root, fragment))
        .or_else(|| holding_anchor(root, fragment))
}

/// The second of several equal headings is `setup-1`.
fn numbered<'a>(root: NodeRef<'a>, fragment: &str) -> Option<NodeRef<'a>> {
    let (name, number) = fragment.rsplit_once(['-', '_'])?;
    let (name, number) = (squashed(name), number.parse().ok()?);
    root.subtree().filter(|node| squashed(node.title()) == name).nth(number)
}

/// `<a id="fragment">` in the text of a section.
fn holding_anchor<'a>(root: NodeRef<'a>, fragment: &str) -> Option<NodeRef<'a>> {
    let marks =
        [format!("id=\"{fragment}\""), format!("name=\"{fragment}\""), format!("{{#{fragment}")];
    let text = root.document().text();
    if !marks.iter().any(|mark| text.contains(mark)) {
        return None;
    }
    root.subtree().find(|node| {
        let own = node.document().own_source(node.section_index());
        marks.iter().any(|mark| own.contains(mark))
    })
}

/// Letters and digits only: sites differ in what they do with everything else.
fn squashed(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// `guides` and `../api/x.md` → `api/x.md`; `None` if that leaves the base.
fn joined(folder: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// `%20` and the like decoded; what is no valid encoding stays.
fn decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        if let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}
