//! The role of a section by its heading and its text.

use crate::document::Section;
use crate::path::RelPath;

use super::Role;

/// Fewer releases could be anything that has numbers.
const MIN_RELEASES: usize = 3;
/// A list of symbols in code must be longer: guides list values, too.
const MIN_SYMBOLS: usize = 25;
/// A shorter list of links closes a page; it does not index one.
const MIN_LINKS: usize = 8;

pub(super) fn role(section: &Section, body: &str) -> Option<Role> {
    let title = section.title.to_lowercase();
    let words = body.split_whitespace().count();
    match title.trim_end_matches(':') {
        "license" | "licence" | "licensing" | "license and copyright" | "copyright"
            if section.level <= 2 && words < 80 && licence_phrases(body) > 0 =>
        {
            Some(Role::Licence)
        }
        "code of conduct" | "contributor covenant code of conduct" if section.level <= 2 => {
            Some(Role::Conduct)
        }
        "changelog" | "change log" | "release notes" | "release history" | "version history"
            if section.level <= 3 && words < 60 =>
        {
            Some(Role::Changelog)
        }
        _ if is_mostly_links(body) => Some(Role::Index),
        _ => None,
    }
}

/// The sections that are releases, and what is above them if it has nothing else below.
pub(super) fn releases(path: &RelPath, sections: &[Section]) -> Vec<usize> {
    let root = sections.first().map(|root| root.title.to_lowercase()).unwrap_or_default();
    let about = format!("{root} {}", path.as_str().to_lowercase());
    if ["migrat", "upgrad"].iter().any(|word| about.contains(word)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (i, section) in sections.iter().enumerate() {
        let children = section.children.iter().copied();
        let versions: Vec<usize> =
            children.filter(|&child| is_version(&sections[child].title, 3)).collect();
        if versions.len() < MIN_RELEASES || versions.len() * 5 < section.children.len() * 4 {
            continue;
        }
        let title = section.title.to_lowercase();
        if ["migrat", "upgrad", "support", "compatib"].iter().any(|word| title.contains(word)) {
            continue;
        }
        if i == 0 || versions.len() == section.children.len() {
            found.push(i);
        }
        found.extend(versions);
    }
    found
}

/// `[1.2.3] - 2024-01-01`, `v1.2.0 (2024-01-01)`, `Version 1.2`, `Unreleased`; nothing else in it.
/// A version without `v`, date or a word before it has at least `parts` numbers.
pub(super) fn is_version(title: &str, parts: usize) -> bool {
    let title = title.trim().to_lowercase();
    let title = title.trim_start_matches(['[', '(']);
    // `Announcements: v0.5.0 - 2026-01-05`
    let labelled = title.split_once(": ").filter(|(word, _)| word.chars().all(char::is_alphabetic));
    let title = labelled.map_or(title, |(_, version)| version);
    if title.starts_with("unreleased") {
        return title.split_whitespace().count() <= 3;
    }
    let rest = ["version ", "release ", "v."].iter().find_map(|word| title.strip_prefix(word));
    let (rest, is_marked) = (rest.unwrap_or(title), rest.is_some());
    let (rest, is_marked) = match rest.strip_prefix('v') {
        Some(number) if number.starts_with(|c: char| c.is_ascii_digit()) => (number, true),
        _ => (rest, is_marked),
    };
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || ".-+".contains(c)));
    let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
    let numbers = number.split(['.', '-', '+']).take_while(|part| part.parse::<u32>().is_ok());
    let count = numbers.count();
    let after = after.trim_start_matches([']', ')', ' ', '-', '–', '—', '/', ':', '(', '|']);
    let has_date = is_date(after);
    let is_complete = after.trim().is_empty()
        || has_date
        || ["(unreleased)", "unreleased", "latest", "yanked", "lts"]
            .iter()
            .any(|word| after.starts_with(word));
    let looks_like_date = count == 3 && number.len() >= 8 && number.contains('-');
    is_complete
        && !looks_like_date
        && count >= if is_marked || has_date { 2.min(parts) } else { parts }
}

/// Whether a text starts with a date: `2024-01-05`, `January 5, 2024`, `5 Jan 2024`.
pub(super) fn is_date(text: &str) -> bool {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let text = text.trim_start_matches(['(', '[', '_']).to_lowercase();
    let digits: Vec<&str> =
        text.split(|c: char| !c.is_ascii_digit()).take(3).filter(|part| !part.is_empty()).collect();
    let is_year =
        |part: &&str| part.len() == 4 && (part.starts_with("19") || part.starts_with("20"));
    let starts_with_year = digits.len() == 3 && digits.first().is_some_and(is_year);
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    let month = words.iter().take(2).any(|word| MONTHS.iter().any(|month| word.starts_with(month)));
    let year = words.iter().any(|word| is_year(&word.trim_matches(|c: char| !c.is_ascii_digit())));
    starts_with_year && text.starts_with(|c: char| c.is_ascii_digit()) || month && year
}

/// How many phrases of licences a text has.
pub(super) fn licence_phrases(text: &str) -> usize {
    const PHRASES: [&str; 12] = [
        "permission is hereby granted",
        "licensed under",
        "under the terms of",
        "mit license",
        "apache license",
        "apache-2.0",
        "without warranty",
        "all rights reserved",
        "copyright",
        "redistribution and use",
        "mozilla public",
        "(license",
    ];
    const NAMES: [&str; 5] = ["mit", "bsd", "gpl", "isc", "cc0"];
    let text = text.to_lowercase();
    let phrases = PHRASES.iter().filter(|phrase| text.contains(**phrase)).count();
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    phrases + usize::from(words.any(|word| NAMES.contains(&word)))
}

/// Lists whose items are links or symbols, with few other words.
pub(super) fn is_mostly_links(text: &str) -> bool {
    let (mut items, mut linked, mut symbols, mut prose) = (0, 0, 0, 0);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let item = line.strip_prefix(['-', '*', '+']).filter(|rest| rest.starts_with(' '));
        let Some(item) = item else {
            // Headings and tables say nothing about prose.
            let is_prose = !line.starts_with(['#', '|', '<']);
            prose += if is_prose { line.split_whitespace().count() } else { 0 };
            continue;
        };
        items += 1;
        let item = item.trim();
        let is_symbol = item.starts_with('`');
        let is_link = is_symbol || item.starts_with(['[', '<']) || item.starts_with("**[");
        let end = item.rfind([')', '`', '>', ']']).map_or(0, |at| at + 1);
        let rest = item[end..].split_whitespace().count();
        linked += usize::from(is_link);
        symbols += usize::from(is_symbol);
        prose += if is_link { rest } else { item.split_whitespace().count() };
    }
    let wanted = if symbols * 2 > items { MIN_SYMBOLS } else { MIN_LINKS };
    items >= wanted && linked * 10 >= items * 9 && prose <= items + 10
}
