//! Files of a knowledge base.

use kenning_knowledge::Document;
use kenning_knowledge::document::MAX_NODES_PER_FILE;
use kenning_knowledge::path::RelPath;

/// Any bytes parse to a document, no text is lost, and its sections form a tree.
pub(crate) fn markdown(bytes: &[u8]) {
    let path = RelPath::parse("guides/FILE.md").unwrap();
    let document = Document::parse(path, bytes);
    let sections = document.sections.len();
    assert!((1..=MAX_NODES_PER_FILE).contains(&sections), "{sections} sections");
    let end_to_end: String = (0..sections).map(|i| document.own_source(i)).collect();
    assert_eq!(end_to_end, document.text(), "text was lost");
    for (i, section) in document.sections.iter().enumerate() {
        assert!(section.parent.is_none_or(|parent| parent < i), "a parent comes first");
        assert!(document.subtree(i).contains(&i));
        assert!(document.source(i).len() >= document.own_source(i).len());
        assert!(document.body(i).len() <= document.text().len() + 1);
    }
}
