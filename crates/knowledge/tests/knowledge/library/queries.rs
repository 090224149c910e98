//! Retrieve, search, list and dependencies on a snapshot.

use kenning_knowledge::Error;
use kenning_knowledge::dependencies::{DependenciesRequest, Direction};
use kenning_knowledge::list::ListRequest;
use kenning_knowledge::retrieve::{Format, RetrieveRequest};
use kenning_knowledge::search::SearchRequest;

use crate::{Folder, diagnostics, keyword_request, retrieve_request, search};

#[test]
fn retrieve_reports_every_unknown_id_with_suggestions() {
    let folder = Folder::new(&[("guide.md", "# G\nbody\n## Setup\nmore\n")]);
    let reply = folder
        .library()
        .snapshot()
        .retrieve(&retrieve_request(&["guide", "guide.setpu", "zzz", "../x.md"]))
        .unwrap();
    assert_eq!(reply.nodes.len(), 1);
    assert_eq!(reply.nodes[0].content, "body");
    assert_eq!(reply.nodes[0].children_ids, ["guide.setup"]);
    assert!(reply.nodes[0].children.is_empty());
    let missing: Vec<_> =
        reply.not_found.iter().map(|m| (m.id.as_str(), m.hint.as_str())).collect();
    assert_eq!(missing[0], ("guide.setpu", "did you mean `guide.setup` or `guide`?"));
    assert_eq!(missing[1].0, "zzz");
    assert!(reply.not_found[2].message.contains("`..` component"), "{:?}", reply.not_found[2]);
}

#[test]
fn retrieve_nests_children_and_counts_every_node_once() {
    let folder = Folder::new(&[("g.md", "# G\none two\n## A\nthree\n### B\nfour\n")]);
    let request = RetrieveRequest { include_children: true, ..retrieve_request(&["g", "g.a"]) };
    let reply = folder.library().snapshot().retrieve(&request).unwrap();
    assert_eq!(reply.nodes.len(), 1, "g.a is already in the response, below g");
    assert_eq!(reply.nodes[0].children[0].children[0].content, "four");
    assert_eq!(reply.total_tokens, 4);
}

#[test]
fn formats_change_the_content_only() {
    let folder =
        Folder::new(&[("g.md", "# G\n- blocked_by: [x]\n<!-- content -->\nSome *bold* text\n")]);
    let snapshot = folder.library().snapshot();
    let plain = snapshot
        .retrieve(&RetrieveRequest { format: Format::Plain, ..retrieve_request(&["g"]) })
        .unwrap();
    assert_eq!(plain.nodes[0].content, "Some bold text");
    let json = snapshot
        .retrieve(&RetrieveRequest { format: Format::Json, ..retrieve_request(&["g"]) })
        .unwrap();
    let entry = json.nodes[0].entry.as_ref().unwrap();
    assert_eq!(entry.blocked_by, ["x"]);
    assert_eq!(entry.content_hash.len(), 64);
    assert_eq!(entry.keywords, ["some", "bold", "text"]);
}

#[test]
fn retrieve_is_bounded_in_ids_and_tokens() {
    let folder = Folder::new(&[("g.md", "# G\none two three\n")]);
    let snapshot = folder.library().snapshot();
    let tight = RetrieveRequest { max_tokens: 2, ..retrieve_request(&["g"]) };
    let reply = snapshot.retrieve(&tight).unwrap();
    assert!(reply.nodes.is_empty());
    assert_eq!((reply.omitted[0].id.as_str(), reply.omitted[0].token_count), ("g", 3));
    let many: Vec<&str> = vec!["g"; 21];
    let error = snapshot.retrieve(&retrieve_request(&many)).unwrap_err();
    assert_eq!(error.to_string(), "`number of ids` is 21; it can be 1 to 20");
    assert_eq!(
        snapshot.retrieve(&retrieve_request(&[])).unwrap_err().to_string(),
        "`ids` is empty"
    );
}

#[test]
fn search_ranks_by_words_and_their_stems() {
    let folder = Folder::new(&[
        ("a.md", "# Migrations\nHow migrations run.\n"),
        ("b.md", "# Other\nOne migration is mentioned among many other words here.\n"),
        ("c.md", "# Nothing\nAbout cats.\n"),
    ]);
    let snapshot = folder.library().snapshot();
    assert_eq!(search(&snapshot, "running a migration?"), ["a", "b"]);
    assert_eq!(search(&snapshot, "\"(migrating) AND:* ~^"), ["a", "b"], "queries have no syntax");
    let none = snapshot.search(&keyword_request("xylophone")).unwrap();
    assert_eq!(none.message.unwrap(), "no node has any of the words: xylophone");
    assert!(
        snapshot
            .search(&keyword_request("the of"))
            .unwrap()
            .message
            .unwrap()
            .contains("no word to look for")
    );
    assert!(matches!(snapshot.search(&keyword_request("  ")), Err(Error::Empty { .. })));
}

#[test]
fn search_is_limited_to_its_scope() {
    let folder = Folder::new(&[("a.md", "# A\nx cat\n## In\ncat\n"), ("b.md", "# B\ncat\n")]);
    let snapshot = folder.library().snapshot();
    let scoped = |scope: &str| {
        let request = SearchRequest { scope: vec![scope.into()], ..keyword_request("cat") };
        snapshot
            .search(&request)
            .map(|found| found.results.into_iter().map(|r| r.id).collect::<Vec<_>>())
    };
    assert_eq!(scoped("b").unwrap(), ["b"]);
    assert_eq!(scoped("a.in").unwrap(), ["a.in"]);
    assert_eq!(scoped("kb").unwrap().len(), 3);
    assert!(matches!(scoped("nope"), Err(Error::UnknownNode { .. })));
}

#[test]
fn list_filters_and_counts() {
    let folder = Folder::new(&[
        ("a.md", "# A\n- type: guideline\n<!-- content -->\nFirst *paragraph*.\n\nSecond.\n## B\n"),
        ("c.md", "# C\n- type: plan\n- status: draft\n<!-- content -->\n"),
    ]);
    let snapshot = folder.library().snapshot();
    let all = snapshot.list(&ListRequest::default()).unwrap();
    assert_eq!(all.total_available, 2);
    assert_eq!(all.knowledge_bases[0].node_count, 2);
    assert_eq!(all.knowledge_bases[0].description, "First paragraph.");
    let drafts = ListRequest { filter_status: Some("draft".into()), ..ListRequest::default() };
    assert_eq!(snapshot.list(&drafts).unwrap().knowledge_bases[0].id, "c");
    let logs = ListRequest { filter_type: Some("log".into()), ..ListRequest::default() };
    assert_eq!(
        snapshot.list(&logs).unwrap().message.unwrap(),
        "no file matches these filters; there is guideline, plan"
    );
    let page = ListRequest { max_results: 1, offset: 1, ..ListRequest::default() };
    assert_eq!(snapshot.list(&page).unwrap().knowledge_bases[0].id, "c");
}

#[test]
fn a_filter_takes_known_values_and_those_of_files_and_names_them_otherwise() {
    let folder =
        Folder::new(&[("a.md", "# A\n- type: recipe\n- status: in_use\n<!-- content -->\n")]);
    let snapshot = folder.library().snapshot();
    let of = |kind: Option<&str>, status: Option<&str>| {
        let (filter_type, filter_status) = (kind.map(Into::into), status.map(Into::into));
        snapshot.list(&ListRequest { filter_type, filter_status, ..ListRequest::default() })
    };
    assert_eq!(of(Some("recipe"), Some("in_use")).unwrap().total_available, 1);
    assert_eq!(of(Some("plan"), None).unwrap().total_available, 0);
    let wrong = of(Some("bogus"), None).unwrap_err();
    assert_eq!(wrong.code(), "INVALID_ARGUMENT");
    let message = wrong.to_string();
    assert!(message.starts_with("`filter_type` is `bogus`; it can be guideline, "), "{message}");
    assert!(message.ends_with(", documentation, recipe"), "{message}");
    assert!(of(None, Some("bogus")).unwrap_err().to_string().contains("in_use"));
}

fn node(id: &str, blocked_by: &str) -> String {
    format!("# {id}\n- id: {id}\n- blocked_by: [{blocked_by}]\n<!-- content -->\n")
}

#[test]
fn dependencies_are_followed_both_ways_to_a_depth() {
    let folder = Folder::new(&[
        ("a.md", &node("a", "")),
        ("b.md", &node("b", "a")),
        ("c.md", &node("c", "b, missing")),
        ("d.md", &node("d", "c")),
    ]);
    let snapshot = folder.library().snapshot();
    let deps = |id: &str, direction, depth| {
        let found = snapshot
            .dependencies(&DependenciesRequest { node_id: id.into(), direction, depth })
            .unwrap();
        let ids = |list: Option<Vec<_>>| {
            list.map(|l: Vec<kenning_knowledge::dependencies::Dependency>| {
                l.into_iter().map(|d| (d.id, d.depth)).collect::<Vec<_>>()
            })
        };
        (ids(found.upstream), ids(found.downstream), found.unresolved.len())
    };
    let at = |id: &str, depth| (id.to_owned(), depth);
    assert_eq!(deps("c", Direction::Both, 1), (Some(vec![at("b", 1)]), Some(vec![at("d", 1)]), 1));
    assert_eq!(
        deps("d", Direction::Upstream, 9),
        (Some(vec![at("c", 1), at("b", 2), at("a", 3)]), None, 1)
    );
    assert_eq!(deps("a", Direction::Downstream, 2), (None, Some(vec![at("b", 1), at("c", 2)]), 0));
    assert_eq!(diagnostics(&snapshot), ["c.md:1: blocked_by `missing` names no node"]);
}

#[test]
fn cycles_are_reported_and_traversed_once() {
    let folder = Folder::new(&[
        ("a.md", &node("a", "c")),
        ("b.md", &node("b", "a")),
        ("c.md", &node("c", "b")),
        ("s.md", &node("s", "s")),
    ]);
    let snapshot = folder.library().snapshot();
    let deps = |id: &str| {
        snapshot
            .dependencies(&DependenciesRequest {
                node_id: id.into(),
                direction: Direction::Upstream,
                depth: 20,
            })
            .unwrap()
    };
    assert_eq!(deps("a").upstream.unwrap().len(), 2);
    assert_eq!(deps("a").cycles, [["a", "c", "b", "a"]]);
    assert_eq!(deps("s").cycles, [["s", "s"]]);
    assert_eq!(diagnostics(&snapshot).len(), 2);
}
