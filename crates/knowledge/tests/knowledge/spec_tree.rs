//! The metadata format comes from a protocol document. Its outline, with the original headings and
//! metadata, is indexed as the tree that they describe.

use std::path::Path;

use kenning_knowledge::{Base, NodeRef};

#[test]
fn indexes_the_protocol_document_as_its_headings_describe() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let base = Base::new("fixtures", &root, &["META_MCP_AGENT.md".to_owned()], &[]).unwrap();
    let snapshot = crate::open(base).snapshot();
    assert_eq!(snapshot.diagnostics(), []);
    let tree: Vec<String> = snapshot.nodes().map(line).collect();
    insta::assert_snapshot!(tree.join("\n"));
}

fn line(node: NodeRef<'_>) -> String {
    let depth = std::iter::successors(node.parent(), |node| node.parent()).count();
    let blocked_by = match node.blocked_by().as_slice() {
        [] => String::new(),
        ids => format!(" ← {}", ids.join(", ")),
    };
    let (id, title) = (node.id(), node.title());
    format!("{}{id} | {title} | {} {}{blocked_by}", "  ".repeat(depth), node.kind(), node.status())
}
