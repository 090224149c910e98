//! The role of a whole file, by its path and the shape of its headings.

use crate::document::Section;

use super::Role;
use super::shape::{is_date, is_version, licence_phrases};

const CHANGELOGS: [&str; 8] = [
    "changelog",
    "changelogs",
    "releasenotes",
    "whatsnew",
    "changes",
    "history",
    "releases",
    "news",
];
/// These say so by themselves; the others of [`CHANGELOGS`] also name guides.
const CLEAR_CHANGELOGS: [&str; 4] = ["changelog", "changelogs", "releasenotes", "whatsnew"];
const MIGRATIONS: [&str; 3] = ["migrat", "upgrad", "howto"];
const TESTS: [&str; 8] =
    ["test", "tests", "__tests__", "spec", "specs", "e2e", "__e2e__", "testing"];

pub(super) fn role(path: &str, sections: &[Section], text: &str) -> Option<Role> {
    let parts: Vec<String> = path.split('/').map(str::to_lowercase).collect();
    let (file, folders) = parts.split_last()?;
    let stem = file.rsplit_once('.').map_or(file.as_str(), |(stem, _)| stem);
    let name = squashed(stem);
    if is_fixture(folders, &name) {
        return Some(Role::Fixture);
    }
    if is_template(folders, &name) {
        return Some(Role::Template);
    }
    if is_licence(path, &name, text) {
        return Some(Role::Licence);
    }
    if ["codeofconduct", "contributorcovenant"].contains(&name.as_str()) {
        return Some(Role::Conduct);
    }
    if ["summary", "sidebar", "navbar", "toc", "genindex"].contains(&name.as_str())
        && super::shape::is_mostly_links(text)
    {
        return Some(Role::Index);
    }
    is_changelog(folders, stem, &name, sections, text).then_some(Role::Changelog)
}

fn is_fixture(folders: &[String], name: &str) -> bool {
    let at = folders.iter().position(|folder| {
        let folder = squashed(folder);
        ["fixture", "fixtures", "testdata", "testfixtures", "snapshots", "goldens", "golden"]
            .contains(&folder.as_str())
    });
    let Some(at) = at else {
        return false;
    };
    let is_marked = ["__", "testdata", "test-data", "test_data", "test-fixture"]
        .iter()
        .any(|mark| folders[at].starts_with(mark));
    let in_tests = folders[..at].iter().any(|folder| TESTS.contains(&folder.as_str()));
    let in_docs = folders[..at].iter().any(|folder| folder == "docs" || folder == "content");
    // `fixtures/README.md` explains the fixtures; deeper down it is one.
    let explains = name == "readme" && at + 1 == folders.len();
    let is_fixtures = folders[at].starts_with("fixture");
    !explains && (is_marked || in_tests || (is_fixtures && !in_docs))
}

fn is_template(folders: &[String], name: &str) -> bool {
    let folder = folders.last().map(|folder| squashed(folder)).unwrap_or_default();
    let folders =
        ["issuetemplate", "issuetemplates", "pullrequesttemplate", "mergerequesttemplates"];
    folders.contains(&folder.as_str()) || ["issuetemplate", "pullrequesttemplate"].contains(&name)
}

fn is_licence(path: &str, name: &str, text: &str) -> bool {
    let upper = path.rsplit('/').next().unwrap_or_default();
    let is_upper = upper.chars().take_while(|&c| c != '.').all(|c| !c.is_lowercase());
    let is_named = ["license", "licence", "licenses", "licences", "copying", "notice", "unlicense"]
        .contains(&name)
        || name.starts_with("thirdparty") && (name.contains("licen") || name.contains("notice"))
        || is_upper && (name.starts_with("license") || name.starts_with("licence"));
    is_named && (is_upper || licence_phrases(text) > 0)
}

fn is_changelog(
    folders: &[String],
    stem: &str,
    name: &str,
    sections: &[Section],
    text: &str,
) -> bool {
    let title = sections.first().map(|root| root.title.to_lowercase()).unwrap_or_default();
    let moves = |text: &str| MIGRATIONS.iter().any(|word| text.contains(word));
    if moves(name) || moves(&title) {
        return false;
    }
    if folders.iter().any(|folder| folder == ".changeset") {
        return name != "readme";
    }
    // `release-notes/v1_118.md`, `changelog/v3/3.60/Physics.md`.
    let version = stem.replace('_', ".");
    let named_folder = |folder: &String| {
        let folder = squashed(folder);
        CHANGELOGS.contains(&folder.as_str()) || folder.ends_with("releasenotes")
    };
    if let Some(at) = folders.iter().position(named_folder) {
        let below = folders[at + 1..].iter().any(|folder| is_version(folder, 2));
        if below || is_version(&version, 2) {
            return true;
        }
        let folder = squashed(&folders[at]);
        let is_clear = CLEAR_CHANGELOGS.contains(&folder.as_str());
        if is_clear && name != "readme" && (dated(sections) || has_list(text)) {
            return !describes(sections);
        }
        if dated(sections) {
            return true;
        }
    }
    let is_named = |names: &[&str]| names.contains(&name);
    if is_named(&CLEAR_CHANGELOGS) || is_numbered_changelog(name) {
        return !describes(sections);
    }
    is_named(&CHANGELOGS) && dated(sections)
}

/// `CHANGELOG-v4.0`
fn is_numbered_changelog(name: &str) -> bool {
    name.strip_prefix("changelog").is_some_and(|rest| rest.contains(|c: char| c.is_ascii_digit()))
}

/// Two headings or more, or all of them, are versions or dates.
fn dated(sections: &[Section]) -> bool {
    let is_release = |section: &&Section| is_version(&section.title, 2) || is_date(&section.title);
    let releases = sections.iter().filter(is_release).count();
    releases >= 2 && releases * 5 >= sections.len() || releases == 1 && sections.len() <= 4
}

/// A page about changelogs has sections that are neither versions nor kinds of changes.
fn describes(sections: &[Section]) -> bool {
    let others = sections.iter().skip(1).filter(|section| {
        !is_version(&section.title, 2) && !is_date(&section.title) && !is_kind(&section.title)
    });
    !dated(sections) && sections.len() > 1 && others.count() * 2 > sections.len() - 1
}

fn is_kind(title: &str) -> bool {
    const KINDS: [&str; 14] = [
        "added",
        "changed",
        "deprecated",
        "removed",
        "fixed",
        "security",
        "fixes",
        "bug",
        "feature",
        "new",
        "update",
        "breaking",
        "unreleased",
        "what",
    ];
    let title = title.to_lowercase();
    KINDS.iter().any(|kind| title.contains(kind))
}

fn has_list(text: &str) -> bool {
    let items = text.lines().filter(|line| line.trim_start().starts_with(['-', '*'])).count();
    items >= 3
}

fn squashed(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).collect()
}
