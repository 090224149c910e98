//! Copies of a text: the same section in another version or another language of the documentation.

use std::collections::HashMap;

use crate::merge::Candidate;
use crate::node::NodeRef;

/// Folders that hold one of several versions, besides numbers.
const VERSIONS: [&str; 3] = ["latest", "stable", "next"];
/// Folders that hold one of several languages.
const LANGUAGES: [&str; 24] = [
    "ar", "cs", "de", "en", "es", "fa", "fr", "he", "hi", "id", "it", "ja", "ko", "nl", "pl", "pt",
    "ru", "sv", "th", "tr", "uk", "vi", "zh", "zh-cn",
];
/// A newer version takes the place of an older one that scores hardly better.
const ABOUT_AS_GOOD: f64 = 0.9;

/// Keeps one of several copies, which names the others: the best, and the newest of those that are about
/// as good. `candidates` are sorted, best first.
pub(crate) fn merge_copies(candidates: Vec<Candidate<'_>>) -> Vec<Candidate<'_>> {
    let mut kept: Vec<Candidate<'_>> = Vec::new();
    let mut by_place: HashMap<Place, usize> = HashMap::new();
    for candidate in candidates {
        let Some(place) = place(candidate.node) else {
            kept.push(candidate);
            continue;
        };
        let Some(&at) = by_place.get(&place) else {
            by_place.insert(place, kept.len());
            kept.push(candidate);
            continue;
        };
        let first = &mut kept[at];
        if candidate.score >= ABOUT_AS_GOOD * first.score
            && version(candidate.node) > version(first.node)
        {
            first.copies.push(first.node);
            first.node = candidate.node;
        } else {
            first.copies.push(candidate.node);
        }
    }
    kept
}

/// The same for all copies of a section: the base, the path without versions and languages, and the
/// section. A translated heading has another text, so that of translations only the anchor counts; where
/// that is translated too, both stay recommendations.
#[derive(PartialEq, Eq, Hash)]
struct Place {
    base: usize,
    folders: Vec<String>,
    file: String,
    anchor: String,
    title: Option<String>,
}

/// `None` if the path names neither a version nor a language: then nothing tells a copy from another page
/// of the same name.
fn place(node: NodeRef<'_>) -> Option<Place> {
    let path = node.document().path.as_str();
    let (folders, file) = path.rsplit_once('/')?;
    let variants = || folders.split('/').filter(|folder| is_variant(folder));
    variants().next()?;
    let is_translation = variants().all(is_language);
    Some(Place {
        base: node.file().base,
        // The variant itself leaves a mark, so that `v1/guide.md` is no copy of `guide.md`.
        folders: folders
            .split('/')
            .map(|folder| if is_variant(folder) { "*".to_owned() } else { folder.to_owned() })
            .collect(),
        file: file.to_owned(),
        anchor: node.anchor().unwrap_or_default().to_owned(),
        title: (!is_translation).then(|| node.title().to_owned()),
    })
}

fn is_variant(folder: &str) -> bool {
    let lower = folder.to_ascii_lowercase();
    VERSIONS.contains(&lower.as_str()) || is_language(folder) || number(&lower).is_some()
}

fn is_language(name: &str) -> bool {
    LANGUAGES.iter().any(|language| name.eq_ignore_ascii_case(language))
}

/// The number of `v2`, `2.1`, `1.x` or `version-3.0`.
fn number(folder: &str) -> Option<Vec<u32>> {
    let number = folder.strip_prefix("version-").or_else(|| folder.strip_prefix('v'));
    let number = number.unwrap_or(folder);
    if number.len() == folder.len() && !number.contains('.') {
        return None;
    }
    let number = number.strip_suffix(".x").unwrap_or(number);
    number.split('.').map(|part| part.parse().ok()).collect()
}

/// How new a version is: names such as `latest` are newer than all numbers.
fn version(node: NodeRef<'_>) -> Option<Vec<u32>> {
    let folders = node.document().path.as_str().split('/').map(str::to_ascii_lowercase);
    folders
        .filter_map(|folder| match VERSIONS.iter().position(|name| *name == folder) {
            Some(at) => Some(vec![u32::MAX - u32::try_from(at).unwrap_or(0)]),
            None => number(&folder),
        })
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_versions_and_languages_are_recognised() {
        for folder in ["v1", "v2.3", "2.1", "1.x", "version-3.0", "latest", "de", "zh-CN"] {
            assert!(is_variant(folder), "{folder}");
        }
        for folder in ["guides", "api", "2024", "vim", "x", "version", "dev", "main", "v", "io"] {
            assert!(!is_variant(folder), "{folder}");
        }
        assert!(number("v10") > number("v9.2"));
    }
}
