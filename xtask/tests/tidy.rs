//! Rules of the house that the compiler does not know.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Which of our crates may use which. A new arrow is a decision; it is written here and in
/// ARCHITECTURE.md.
const ARROWS: [(&str, &[&str]); 17] = [
    (
        "kenning",
        &[
            "kenning-catalog",
            "kenning-compose",
            "kenning-embed",
            "kenning-gaps",
            "kenning-knowledge",
            "kenning-mcp",
            "kenning-registry",
            "kenning-store",
            "kenning-sanitize",
            "kenning-settings",
            "kenning-web",
            "kenning-wrap",
        ],
    ),
    (
        "kenning-mcp",
        &[
            "kenning-catalog",
            "kenning-compose",
            "kenning-gaps",
            "kenning-knowledge",
            "kenning-registry",
            "kenning-sanitize",
        ],
    ),
    (
        "kenning-fuzz",
        &[
            "kenning-catalog",
            "kenning-compose",
            "kenning-gaps",
            "kenning-knowledge",
            "kenning-mcp",
            "kenning-sanitize",
            "kenning-settings",
            "kenning-wrap",
        ],
    ),
    ("kenning-store", &["kenning-gaps", "kenning-knowledge", "kenning-registry"]),
    ("kenning-knowledge", &["kenning-embed"]),
    (
        "kenning-web",
        &[
            "kenning-catalog",
            "kenning-compose",
            "kenning-gaps",
            "kenning-knowledge",
            "kenning-registry",
            "kenning-sanitize",
        ],
    ),
    ("kenning-wrap", &["kenning-gaps", "kenning-sanitize"]),
    ("kenning-catalog", &[]),
    ("kenning-compose", &[]),
    ("kenning-registry", &[]),
    ("kenning-gaps", &[]),
    ("kenning-embed", &[]),
    ("kenning-testkit", &[]),
    ("kenning-sanitize", &[]),
    ("kenning-settings", &["kenning-knowledge"]),
    ("recorded-server", &["kenning-gaps", "kenning-wrap"]),
    ("xtask", &["kenning-testkit"]),
];

/// What the rooms must not know: protocols, servers and databases.
const ROOMS: [&str; 5] =
    ["kenning-catalog", "kenning-compose", "kenning-gaps", "kenning-knowledge", "kenning-registry"];
const NOT_IN_ROOMS: [&str; 7] = ["rmcp", "axum", "hyper", "reqwest", "tokio", "clap", "sqlx"];

#[test]
fn arrows_between_crates_are_declared() {
    let seen = arrows();
    let declared: BTreeMap<String, BTreeSet<String>> = ARROWS
        .iter()
        .map(|(from, to)| ((*from).to_owned(), to.iter().map(|&to| to.to_owned()).collect()))
        .collect();
    assert_eq!(seen, declared, "declare the arrow in xtask/tests/tidy.rs and ARCHITECTURE.md");
}

#[test]
fn rooms_know_no_protocol() {
    let metadata = MetadataCommand::new().exec().unwrap();
    for package in metadata.workspace_packages() {
        if !ROOMS.contains(&package.name.as_str()) {
            continue;
        }
        for dependency in &package.dependencies {
            assert!(
                !NOT_IN_ROOMS.contains(&dependency.name.as_str()),
                "{} must not depend on {}",
                package.name,
                dependency.name
            );
        }
    }
}

#[test]
fn every_crate_keeps_the_workspace_lints() {
    for manifest in files(".toml").iter().filter(|path| path.ends_with("Cargo.toml")) {
        let text = std::fs::read_to_string(manifest).unwrap();
        let inherits = text.contains("[lints]\nworkspace = true");
        assert!(inherits || text.contains("[workspace]"), "{} has no [lints]", manifest.display());
    }
}

#[test]
fn nothing_is_left_undone() {
    let marks = ["todo!", "unimplemented!", "dbg!", "FIXME", "#[ignore"];
    for file in files(".rs").iter().filter(|path| !path.ends_with("tidy.rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        for mark in marks {
            assert!(!text.contains(mark), "{} has `{mark}`", file.display());
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    for document in files(".md").iter().filter(|path| !path.starts_with(root().join("crates"))) {
        let text = std::fs::read_to_string(document).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://") && !target.starts_with('#')) {
            let path = target.split('#').next().unwrap();
            let found = document.parent().unwrap().join(path);
            assert!(found.exists(), "{}: `{target}` leads nowhere", document.display());
        }
    }
}

/// A promise names the tests that hold it up; a test that is renamed takes its promise along.
#[test]
fn promises_name_tests_that_are_there() {
    let security = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let promised = security.split("## Limitations").next().unwrap();
    let rows = promised.lines().filter(|line| line.starts_with("| "));
    let rows = rows.filter(|line| !line.starts_with("| promise |"));
    let sources: Vec<String> =
        files(".rs").iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let mut promises = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
        let [promise, tests] = cells[..] else { panic!("two columns: {row}") };
        check_promise(promise, tests, &sources);
        promises += 1;
    }
    assert!(promises > 10, "{promises} promises were read");
}

fn check_promise(promise: &str, tests: &str, sources: &[String]) {
    let quoted: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
    assert!(!quoted.is_empty(), "`{promise}` names no test");
    for name in quoted {
        let written = format!("fn {name}(");
        let is_there = sources.iter().any(|source| source.contains(&written));
        assert!(is_there, "`{promise}` names `{name}`, and there is no such test");
    }
    for file in tests.split('(').skip(1).filter_map(|rest| rest.split(')').next()) {
        let file = file.split(',').next().unwrap_or(file);
        assert!(root().join(file).exists(), "`{promise}` names {file}, which is not there");
    }
}

fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = MetadataCommand::new().exec().unwrap();
    let ours: BTreeSet<String> =
        metadata.workspace_packages().iter().map(|package| package.name.to_string()).collect();
    let arrows = metadata.workspace_packages().into_iter().map(|package| {
        let used = package.dependencies.iter().filter(|d| d.kind != DependencyKind::Development);
        let used = used.map(|dependency| dependency.name.clone());
        (package.name.to_string(), used.filter(|name| ours.contains(name)).collect())
    });
    arrows.collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// The files git would commit that end like this.
fn files(ending: &str) -> Vec<PathBuf> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let listed = String::from_utf8(git.output().unwrap().stdout).unwrap();
    let files = listed.lines().filter(|path| path.ends_with(ending)).map(|path| root().join(path));
    files.filter(|path| path.exists()).collect()
}
