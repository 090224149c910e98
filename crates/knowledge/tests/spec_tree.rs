//! The outline of the protocol document that the metadata format comes from, with its headings and
//! metadata as they are, indexes to the tree that they describe.

use std::path::Path;

use kenning_knowledge::{Base, Library, NodeRef};

#[test]
fn the_protocol_document_indexes_to_its_own_tree() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let base = Base::new("fixtures", &root, &["META_MCP_AGENT.md".to_owned()], &[]).unwrap();
    let library = Library::open(vec![base], &|_, _| {}).unwrap();
    let snapshot = library.snapshot();
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
