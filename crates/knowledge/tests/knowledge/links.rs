//! Links between sections, in both directions.

use kenning_knowledge::retrieve::{MAX_LINKS, RetrieveRequest};
use kenning_knowledge::{NodeRef, Snapshot};

use crate::{Folder, retrieve_request};

fn ids(nodes: &[NodeRef<'_>]) -> Vec<String> {
    nodes.iter().map(|node| node.id().to_owned()).collect()
}

fn links(snapshot: &Snapshot, id: &str) -> Vec<String> {
    ids(&snapshot.resolve(id).unwrap().links())
}

fn backlinks(snapshot: &Snapshot, id: &str) -> Vec<String> {
    ids(&snapshot.resolve(id).unwrap().backlinks())
}

const SETUP: &str =
    "# Setup\n## Linux { #tux }\nx\n## foo.bar()\ny\n## Linux\nz <a id=\"old\"></a>\n";

/// What a file `guides/START.md` with this text links to.
fn check(text: &str, expected: &[&str]) {
    let folder = Folder::new(&[
        ("guides/START.md", &format!("# Start\n\n{text}\n")),
        ("guides/SETUP.md", SETUP),
        ("api/index.md", "# API\n"),
        ("01-tour/02-first-steps.mdx", "# Steps\n"),
        ("site/content/en/deep/page.md", "# Deep\n"),
    ]);
    let base = kenning_knowledge::Base::new(
        "kb",
        folder.path(),
        &["**/*.md".to_owned(), "**/*.mdx".to_owned()],
        &[],
    );
    let library = crate::open(base.unwrap());
    assert_eq!(links(&library.snapshot(), "START"), expected, "{text}");
}

#[test]
fn links_of_all_kinds_lead_to_sections() {
    check("[a](SETUP.md) and [again](./SETUP.md#)", &["SETUP"]);
    check("[a](SETUP.md#tux)", &["SETUP.tux"]);
    check("[a](../guides/SETUP.md#foobar)", &["SETUP.foo-bar"]);
    check("[a](SETUP.md#old)", &["SETUP.linux"]);
    check("[a](../api/) [b](/api/index.html)", &["index"]);
    check("[a](/docs/tour/first-steps)", &["02-first-steps"]);
    check("[a][ref]\n\n## B\n\n[ref]: SETUP.md#tux", &["SETUP.tux"]);
    check("[[SETUP]] and [[setup#Linux|label]]", &["SETUP", "SETUP.linux"]);
    check("<a href=\"SETUP.md\">x</a>\n\n<Card href=\"../api/index.md\" />", &["SETUP", "index"]);
    check("!!! note\n    See [it](SETUP.md).", &["SETUP"]);
    check("`[a](SETUP.md)` and\n\n```\n[[SETUP]]\n```", &[]);
    check("[a](https://x.y/SETUP.md) [b](#start) [c](../../SETUP.md) [d](SETUP.md#none)", &[]);
}

#[test]
fn a_rooted_link_leads_to_the_nearest_site() {
    let folder = Folder::new(&[
        ("site/en/guide.md", "# G\n\n[a](/deep/page)\n"),
        ("site/en/deep/page.md", "# P\n"),
        ("site/de/deep/page.md", "# P\n"),
    ]);
    let library = folder.library();
    let snapshot = library.snapshot();
    let guide = snapshot.resolve("guide").unwrap().links();
    assert_eq!(guide[0].path(), "site/en/deep/page.md");
}

#[test]
fn backlinks_follow_edits_and_links_can_be_retrieved() {
    let folder = Folder::new(&[
        ("A.md", "# A\n\nSee [B](B.md#part).\n"),
        ("B.md", "# B\n\n[[A]]\n\n## Part\nx\n"),
    ]);
    let library = folder.library();
    assert_eq!(backlinks(&library.snapshot(), "B.part"), ["A"]);
    assert_eq!(backlinks(&library.snapshot(), "A"), ["B"]);
    folder.write("C.md", "# C\n\n[a](A.md) [broken](GONE.md) [too](A.md#gone)\n");
    library.sync(&|_, _| {}).unwrap();
    let snapshot = library.snapshot();
    assert_eq!(backlinks(&snapshot, "A"), ["B", "C"]);
    let broken = snapshot.broken_links();
    assert_eq!(
        (broken[0].path.as_str(), broken[0].count, broken[0].first.as_str()),
        ("C.md", 2, "GONE.md")
    );
    assert!(snapshot.diagnostics().is_empty(), "broken links flood no list of problems");
    let request = RetrieveRequest { include_links: true, ..retrieve_request(&["A"]) };
    let links = snapshot.retrieve(&request).unwrap().nodes[0].links.clone().unwrap();
    assert_eq!(
        (links.outgoing[0].id.as_str(), links.incoming.len(), links.omitted),
        ("B.part", 2, 0)
    );
    assert!(snapshot.retrieve(&retrieve_request(&["A"])).unwrap().nodes[0].links.is_none());
}

#[test]
fn a_node_names_no_more_links_than_the_limit() {
    let list = (0..50).map(|n| format!("- [p](P{n}.md)\n")).collect::<Vec<_>>().concat();
    let folder = Folder::new(&[("A.md", &format!("# A\n\n{list}"))]);
    for n in 0..50 {
        folder.write(&format!("P{n}.md"), "# P\n");
    }
    let request = RetrieveRequest { include_links: true, ..retrieve_request(&["A"]) };
    let response = folder.library().snapshot().retrieve(&request).unwrap();
    let links = response.nodes[0].links.clone().unwrap();
    assert_eq!((links.outgoing.len(), links.omitted), (MAX_LINKS, 50 - MAX_LINKS));
}
