//! Rules that the compiler does not know.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Which of our crates may use which. A new arrow is a decision; it is written here and in
/// ARCHITECTURE.md.
const ARROWS: [(&str, &[&str]); 19] = [
    (
        "kenning",
        &[
            "kenning-app",
            "kenning-catalog",
            "kenning-compose",
            "kenning-embed",
            "kenning-gaps",
            "kenning-knowledge",
            "kenning-mcp",
            "kenning-registry",
            "kenning-sanitize",
            "kenning-settings",
            "kenning-store",
            "kenning-web",
            "kenning-wrap",
        ],
    ),
    ("kenning-mcp", &["kenning-app", "kenning-gaps", "kenning-knowledge"]),
    (
        "kenning-web",
        &[
            "kenning-app",
            "kenning-catalog",
            "kenning-compose",
            "kenning-gaps",
            "kenning-knowledge",
            "kenning-registry",
            "kenning-sanitize",
        ],
    ),
    (
        "kenning-app",
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
    ("kenning-store", &["kenning-gaps", "kenning-knowledge", "kenning-registry"]),
    ("kenning-settings", &["kenning-knowledge"]),
    ("kenning-knowledge", &["kenning-embed", "kenning-tokens"]),
    ("kenning-catalog", &[]),
    ("kenning-compose", &["kenning-tokens"]),
    ("kenning-registry", &[]),
    ("kenning-gaps", &[]),
    ("kenning-embed", &[]),
    ("kenning-sanitize", &[]),
    ("kenning-testkit", &[]),
    ("kenning-tokens", &[]),
    (
        "kenning-fuzz",
        &[
            "kenning-app",
            "kenning-catalog",
            "kenning-compose",
            "kenning-gaps",
            "kenning-knowledge",
            "kenning-sanitize",
            "kenning-settings",
            "kenning-wrap",
        ],
    ),
    ("recorded-server", &["kenning-gaps", "kenning-wrap"]),
    ("xtask", &["kenning-testkit"]),
];

/// Domain crates must not know protocols, servers and databases; the application must not know the
/// frameworks of its adapters.
const DOMAIN: [&str; 5] =
    ["kenning-catalog", "kenning-compose", "kenning-gaps", "kenning-knowledge", "kenning-registry"];
const NOT_IN_DOMAIN: [&str; 8] =
    ["rmcp", "axum", "http", "hyper", "reqwest", "tokio", "clap", "sqlx"];
const NOT_IN_APP: [&str; 6] = ["rmcp", "axum", "hyper", "reqwest", "clap", "sqlx"];

/// Words of an earlier version of this code for which the field has its own: they must not come back
/// as names.
const OLD_WORDS: [&str; 18] = [
    "Rooms",
    "House",
    "Desk",
    "Doors",
    "Guesses",
    "Dial",
    "Vitals",
    "Pulse",
    "Ear",
    "Heard",
    "heard",
    "Hearing",
    "Shelf",
    "GapBook",
    "ProposalBox",
    "EventLog",
    "Trial",
    "TRIALS",
];

#[test]
fn arrows_between_crates_are_declared() {
    let found = arrows();
    let declared: BTreeMap<String, BTreeSet<String>> = ARROWS
        .iter()
        .map(|(from, to)| ((*from).to_owned(), to.iter().map(|&to| to.to_owned()).collect()))
        .collect();
    assert_eq!(found, declared, "declare the arrow in xtask/tests/tidy.rs and ARCHITECTURE.md");
}

#[test]
fn domain_crates_and_application_know_no_protocol() {
    let metadata = MetadataCommand::new().exec().unwrap();
    for package in metadata.workspace_packages() {
        let forbidden: &[&str] = match package.name.as_str() {
            name if DOMAIN.contains(&name) => &NOT_IN_DOMAIN,
            "kenning-app" => &NOT_IN_APP,
            _ => continue,
        };
        for dependency in &package.dependencies {
            let (name, used) = (&package.name, dependency.name.as_str());
            assert!(!forbidden.contains(&used), "{name} must not depend on {used}");
        }
    }
}

#[test]
fn old_words_do_not_come_back() {
    for file in files(".rs").iter().filter(|path| !path.ends_with("tidy.rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        let found = words.find(|word| OLD_WORDS.contains(word));
        assert_eq!(found, None, "{}: use the field's word", file.display());
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

/// A promise names the tests that prove it; a test that is renamed takes its promise along.
#[test]
fn promises_name_tests_that_exist() {
    let security = std::fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let promised = security.split("## Limitations").next().unwrap();
    let rows = promised.lines().filter(|line| line.starts_with("| "));
    let rows = rows.filter(|line| !line.starts_with("| promise |"));
    let tests: BTreeSet<String> = files(".rs")
        .iter()
        .flat_map(|file| tests_in(&std::fs::read_to_string(file).unwrap()))
        .collect();
    let mut promises = 0;
    for row in rows {
        let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
        let [promise, proofs] = cells[..] else { panic!("two columns: {row}") };
        check_promise(promise, proofs, &tests);
        promises += 1;
    }
    assert!(promises > 10, "{promises} promises were read");
}

/// The functions behind a test attribute, which may be several lines above, or inside `proptest!`.
fn tests_in(source: &str) -> Vec<String> {
    let mut tests = Vec::new();
    let mut is_test = false;
    for line in source.lines().map(str::trim) {
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let function = line.trim_start_matches("pub ").trim_start_matches("async ");
        if let Some(function) = function.strip_prefix("fn ") {
            let name = function.split(['(', '<']).next().unwrap_or_default();
            tests.extend(is_test.then(|| name.to_owned()));
            is_test = false;
        }
    }
    tests
}

fn check_promise(promise: &str, proofs: &str, tests: &BTreeSet<String>) {
    let quoted: Vec<&str> = proofs.split('`').skip(1).step_by(2).collect();
    assert!(!quoted.is_empty(), "`{promise}` names no test");
    for name in quoted {
        assert!(tests.contains(name), "`{promise}` names `{name}`, and there is no such test");
    }
    for file in proofs.split('(').skip(1).filter_map(|rest| rest.split(')').next()) {
        let file = file.split(',').next().unwrap_or(file);
        assert!(root().join(file).exists(), "`{promise}` names {file}, which does not exist");
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

/// The files in git or about to be added that end like this.
fn files(ending: &str) -> Vec<PathBuf> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root());
    let listed = String::from_utf8(git.output().unwrap().stdout).unwrap();
    let files = listed.lines().filter(|path| path.ends_with(ending)).map(|path| root().join(path));
    files.filter(|path| path.exists()).collect()
}
