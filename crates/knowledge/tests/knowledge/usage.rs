//! Usage counts joined with the nodes of a snapshot.

use kenning_knowledge::Error;
use kenning_knowledge::retrieve::RetrieveRequest;
use kenning_knowledge::usage::{Usage, UsageKind, UsageRequest, Used};
use serde_json::json;

use crate::{Folder, retrieve_request};

const NOW: u64 = 1_800_000_000_000;

fn folder() -> Folder {
    let guide = "# Guide\n\nHow.\n\n## Setup\n\nFirst.\n\n## Use\n\nThen.\n";
    Folder::new(&[("guide.md", guide), ("plan.md", "# Plan\n\nWhat.\n")])
}

fn used(node: &str, kind: UsageKind, times: u64) -> Used {
    Used { node: node.into(), kind, times, last_at: NOW }
}

#[test]
fn nodes_are_most_used_or_never_found() {
    let snapshot = folder().library().snapshot();
    let counts = [
        used("guide", UsageKind::Discovered, 9),
        used("guide.setup", UsageKind::Retrieved, 2),
        used("guide.setup", UsageKind::Searched, 1),
        used("renamed", UsageKind::Retrieved, 5),
    ];
    let response = snapshot.usage(&UsageRequest::default(), &counts).unwrap();
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
    assert_eq!(serde_json::to_value(&response).unwrap(), expected);
    let one = UsageRequest { max_results: Some(1), ..UsageRequest::default() };
    let response = snapshot.usage(&one, &counts).unwrap();
    assert_eq!((response.most_used.len(), response.never_found.len()), (1, 1));
    assert_eq!(
        (response.found_nodes, response.never_found_nodes),
        (2, 2),
        "the totals ignore max_results"
    );
}

#[test]
fn invalid_requests_are_rejected() {
    let snapshot = folder().library().snapshot();
    let none = UsageRequest { base: Some("none".into()), ..UsageRequest::default() };
    assert!(matches!(snapshot.usage(&none, &[]), Err(Error::UnknownBase { .. })));
    let many = UsageRequest { max_results: Some(501), ..UsageRequest::default() };
    assert!(matches!(snapshot.usage(&many, &[]), Err(Error::OutOfRange { .. })));
    let kb = UsageRequest { base: Some("kb".into()), ..UsageRequest::default() };
    assert_eq!(snapshot.usage(&kb, &[]).unwrap().never_found_nodes, 4);
}

#[test]
fn retrieved_children_count_as_used() {
    let request = RetrieveRequest { include_children: true, ..retrieve_request(&["guide"]) };
    let response = folder().library().snapshot().retrieve(&request).unwrap();
    let mut usage = Usage::retrieved(&response, NOW);
    usage.nodes.sort_unstable();
    assert_eq!(usage.nodes, ["guide", "guide.setup", "guide.use"]);
}
