//! Copies of a text: the same section in another version or another language of the documentation.

use std::collections::HashMap;

use crate::merge::Candidate;
use crate::node::NodeRef;

/// Folders that hold one of several versions.
const VERSIONS: [&str; 7] = ["latest", "stable", "next", "current", "main", "master", "dev"];
/// Folders that hold one of several languages.
const LANGUAGES: [&str; 24] = [
    "ar", "cs", "de", "en", "es", "fa", "fr", "he", "hi", "id", "it", "ja", "ko", "nl", "pl", "pt",
    "ru", "sv", "th", "tr", "uk", "vi", "zh", "zh-cn",
];

/// Keeps the best of several copies, which names the others. `candidates` are sorted, best first.
pub(crate) fn merge_copies(candidates: Vec<Candidate<'_>>) -> Vec<Candidate<'_>> {
    let mut kept: Vec<Candidate<'_>> = Vec::new();
    let mut by_place: HashMap<String, usize> = HashMap::new();
    for candidate in candidates {
        let place = place(candidate.node);
        match by_place.get(&place) {
            // Sections of one file may share a title.
            Some(&at) if is_other_file(kept[at].node, candidate.node) => {
                kept[at].copies.push(candidate.node);
            }
            _ => {
                by_place.entry(place).or_insert(kept.len());
                kept.push(candidate);
            }
        }
    }
    kept
}

fn is_other_file(a: NodeRef<'_>, b: NodeRef<'_>) -> bool {
    a.document().path != b.document().path
}

/// The path without versions and languages, and the anchor: the same for all copies of a section.
/// Headings are translated and anchors are not always kept, so that a section that is not found in
/// its copy stays a recommendation of its own.
fn place(node: NodeRef<'_>) -> String {
    let path = node.document().path.as_str();
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let kept: Vec<&str> = folders.split('/').filter(|folder| !is_variant(folder)).collect();
    // `README.zh.md`, `guide_de.md` and the like.
    let stem = file.strip_suffix(".md").unwrap_or(file);
    let stem = match stem.rsplit_once(['.', '_']) {
        Some((name, end)) if is_language(end) => name,
        _ => stem,
    };
    format!("{}\n{stem}\n{}", kept.join("/"), node.anchor().unwrap_or_default())
}

fn is_variant(folder: &str) -> bool {
    let folder = folder.to_ascii_lowercase();
    VERSIONS.contains(&folder.as_str()) || is_language(&folder) || is_version(&folder)
}

fn is_language(name: &str) -> bool {
    LANGUAGES.iter().any(|language| name.eq_ignore_ascii_case(language))
}

/// `v2`, `2.1`, `1.x`, `version-3.0`.
fn is_version(folder: &str) -> bool {
    let number = folder.strip_prefix("version-").or_else(|| folder.strip_prefix('v'));
    let number = number.unwrap_or(folder);
    let has_dot_or_prefix = number.len() < folder.len() || number.contains('.');
    number.starts_with(|c: char| c.is_ascii_digit())
        && has_dot_or_prefix
        && number.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'x'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_versions_and_languages_are_recognised() {
        for folder in ["v1", "v2.3", "2.1", "1.x", "version-3.0", "latest", "de", "zh-CN"] {
            assert!(is_variant(folder), "{folder}");
        }
        for folder in ["guides", "api", "2024", "vim", "x", "version", "deploy", "v", "io"] {
            assert!(!is_variant(folder), "{folder}");
        }
    }
}
