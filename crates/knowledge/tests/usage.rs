//! What was used of what is known.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::fs;

use kenning_knowledge::retrieve::{DEFAULT_MAX_TOKENS, Format, RetrieveRequest};
use kenning_knowledge::usage::{Usage, UsageKind, UsageRequest, Used};
use kenning_knowledge::{Base, Error, Library};
use serde_json::json;
use tempfile::TempDir;

const NOW: u64 = 1_800_000_000_000;

fn library(folder: &TempDir) -> Library {
    let text = "# Guide\n\nHow.\n\n## Setup\n\nFirst.\n\n## Use\n\nThen.\n";
    fs::write(folder.path().join("guide.md"), text).unwrap();
    fs::write(folder.path().join("plan.md"), "# Plan\n\nWhat.\n").unwrap();
    let base = Base::new("kb", folder.path(), &["**/*.md".to_owned()], &[]).unwrap();
    Library::open(vec![base], &|_, _| {}).unwrap()
}

fn used(node: &str, kind: UsageKind, times: u64) -> Used {
    Used { node: node.into(), kind, times, last_at: NOW }
}

#[test]
fn nodes_are_most_used_or_never_found() {
    let folder = TempDir::new().unwrap();
    let snapshot = library(&folder).snapshot();
    let counts = [
        used("guide", UsageKind::Discovered, 9),
        used("guide.setup", UsageKind::Retrieved, 2),
        used("guide.setup", UsageKind::Searched, 1),
        used("renamed", UsageKind::Retrieved, 5),
    ];
    let answer = snapshot.usage(&UsageRequest::default(), &counts).unwrap();
    let expected = json!({
        "total_nodes": 4,
        "found_nodes": 2,
        "most_used": [
            {"id": "guide.setup", "path": "guide.md#setup", "title": "Setup", "discovered": 0,
             "searched": 1, "retrieved": 2, "last_used": "2027-01-15"},
            {"id": "guide", "path": "guide.md", "title": "Guide", "discovered": 9,
             "searched": 0, "retrieved": 0, "last_used": "2027-01-15"},
        ],
        "never_found_nodes": 2,
        "never_found": [
            {"id": "guide.use", "path": "guide.md#use", "title": "Use"},
            {"id": "plan", "path": "plan.md", "title": "Plan"},
        ],
        "gone": ["renamed"],
    });
    assert_eq!(serde_json::to_value(&answer).unwrap(), expected);
    let one = UsageRequest { max_results: Some(1), ..UsageRequest::default() };
    let answer = snapshot.usage(&one, &counts).unwrap();
    assert_eq!((answer.most_used.len(), answer.never_found.len()), (1, 1));
    assert_eq!((answer.found_nodes, answer.never_found_nodes), (2, 2), "counts are of all");
}

#[test]
fn questions_that_make_no_sense_are_refused() {
    let folder = TempDir::new().unwrap();
    let snapshot = library(&folder).snapshot();
    let none = UsageRequest { base: Some("none".into()), ..UsageRequest::default() };
    assert!(matches!(snapshot.usage(&none, &[]), Err(Error::UnknownBase { .. })));
    let many = UsageRequest { max_results: Some(501), ..UsageRequest::default() };
    assert!(matches!(snapshot.usage(&many, &[]), Err(Error::OutOfRange { .. })));
    let kb = UsageRequest { base: Some("kb".into()), ..UsageRequest::default() };
    assert_eq!(snapshot.usage(&kb, &[]).unwrap().never_found_nodes, 4);
}

#[test]
fn what_is_read_below_a_node_counts() {
    let folder = TempDir::new().unwrap();
    let request = RetrieveRequest {
        ids: vec!["guide".into()],
        include_children: true,
        format: Format::Markdown,
        max_tokens: DEFAULT_MAX_TOKENS,
    };
    let answer = library(&folder).snapshot().retrieve(&request).unwrap();
    let mut usage = Usage::retrieved(&answer, NOW);
    usage.nodes.sort_unstable();
    assert_eq!(usage.nodes, ["guide", "guide.setup", "guide.use"]);
}
