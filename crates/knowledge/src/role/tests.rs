use super::*;
use crate::document::Document;

fn roles(path: &str, markdown: &str) -> Vec<Role> {
    let document = Document::parse(RelPath::parse(path).unwrap(), markdown.as_bytes());
    document.sections.iter().map(|section| section.role).collect()
}

fn check(path: &str, markdown: &str, expected: Role) {
    assert_eq!(roles(path, markdown)[0], expected, "{path}\n{markdown}");
}

const RELEASES: &str =
    "# Log\n## [1.2.0] - 2024-02-01\n### Added\n- x\n## [1.1.0] - 2024-01-01\n- y\n## 1.0.0\n- z\n";

#[test]
fn release_notes_are_recognised_by_path_and_shape() {
    for path in ["CHANGELOG.md", "docs/release-notes.md", "HISTORY.md", "docs/anything.md"] {
        assert!(roles(path, RELEASES).iter().all(|role| *role == Role::Changelog), "{path}");
    }
    check("release-notes/v1_118.md", "# June 2024\n## Editor\nText.\n", Role::Changelog);
    check(".changeset/tidy-crabs.md", "---\nx: minor\n---\nFix a bug.\n", Role::Changelog);
    assert_eq!(
        roles("README.md", "# P\nText.\n## Changelog\nSee CHANGELOG.md.\n## Use\nText\n"),
        [Role::Guidance, Role::Changelog, Role::Guidance]
    );
}

#[test]
fn guides_that_mention_releases_stay_guidance() {
    check("docs/upgrading.md", RELEASES, Role::Guidance);
    check("changelog/v4/MIGRATION-GUIDE.md", RELEASES, Role::Guidance);
    check(
        "docs/releases.md",
        "# Releases\n## Cadence\nWeekly.\n## Publish\nRun it.\n",
        Role::Guidance,
    );
    check(
        "docs/changelog.md",
        "# cz changelog\n## Usage\nRun.\n## Configuration\nSet.\n",
        Role::Guidance,
    );
    check(
        "docs/history.md",
        "# History of the command line\nUse the arrow keys.\n",
        Role::Guidance,
    );
    check(
        "docs/limits.md",
        "# Limits\n## 1.1 Scope\nx\n## 1.2 Terms\ny\n## 1.3 Use\nz\n",
        Role::Guidance,
    );
}

#[test]
fn licences_conduct_templates_indexes_and_fixtures_are_recognised() {
    check("LICENSE.md", "Permission is hereby granted, …", Role::Licence);
    check("docs/license.md", "# License\nMIT License\n", Role::Licence);
    check("docs/licences.md", "# Licences\nAssign a seat to a user.\n", Role::Guidance);
    assert_eq!(roles("README.md", "# P\nText\n## License\nMIT © Jane\n")[1], Role::Licence);
    assert_eq!(
        roles("package.md", "# P\nText\n### license\nSet the MIT field.\n")[1],
        Role::Guidance
    );
    check("CODE_OF_CONDUCT.md", "# Our pledge\n", Role::Conduct);
    check(".github/ISSUE_TEMPLATE/bug.md", "**Describe the bug**\n", Role::Template);
    check("docs/issue-templates.md", "# Issue templates\nHow to write one.\n", Role::Guidance);
    let links = (0..9).map(|n| format!("- [Page {n}](p{n}.md)\n")).collect::<Vec<_>>().concat();
    check("src/SUMMARY.md", &format!("# Summary\n\n{links}"), Role::Index);
    check("docs/see.md", "# See\n- [a](a)\n- [b](b)\n- [c](c)\n", Role::Guidance);
    let described = (0..9)
        .map(|n| format!("- [Page {n}](p{n}.md): what it is good for\n"))
        .collect::<Vec<_>>()
        .concat();
    check("docs/tools.md", &format!("# Tools\n\n{described}"), Role::Guidance);
    check("tests/fixtures/site/index.md", "# Hello\n", Role::Fixture);
    check("pkg/__snapshots__/a.md", "# Hello\n", Role::Fixture);
    check("tests/fixtures/README.md", "# How fixtures are made\n", Role::Guidance);
    check("docs/testing/fixtures.md", "# Fixtures\n", Role::Guidance);
    check("docs/fixtures/overview.md", "# Fixtures\n", Role::Guidance);
}

#[test]
fn questions_about_releases_are_told_from_near_misses() {
    for question in [
        "What changed in 2.4?",
        "what's new in version 3",
        "show me the changelog",
        "Which version introduced tabs?",
        "breaking changes since 1.9.0",
        "Is this fixed in v5.2?",
        "when was the async client released",
        "release notes for the latest version",
        "What did the last release fix?",
        "upgrade notes 4.1.2",
        "is x deprecated in 7.0",
    ] {
        assert!(is_about_releases(question), "{question}");
    }
    for question in [
        "release the lock after use",
        "put a file under version control",
        "release memory when a task ends",
        "run the tests on Python 3.12",
        "bind to 127.0.0.1",
        "How do I publish a new release?",
        "what is new in the sidebar",
        "changed in place or copied?",
        "configure TLS 1.3",
        "choose a version of the API in the header",
        "split a text at 2.5 seconds",
        "add a new endpoint",
    ] {
        assert!(!is_about_releases(question), "{question}");
    }
}
