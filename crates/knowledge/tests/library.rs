//! Folders in, answers out.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::fs;
use std::path::Path;

use kenning_knowledge::dependencies::{DependenciesRequest, Direction};
use kenning_knowledge::list::ListRequest;
use kenning_knowledge::retrieve::{DEFAULT_MAX_TOKENS, Format, RetrieveRequest};
use kenning_knowledge::search::{SearchRequest, SearchType};
use kenning_knowledge::{Base, Error, Library, Snapshot};
use proptest::prelude::*;
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self(TempDir::new().unwrap());
        for (path, text) in files {
            folder.write(path, text);
        }
        folder
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn base(&self, name: &str) -> Base {
        let patterns = ["**/*.md".to_owned()];
        let excluded = ["**/node_modules/**".to_owned()];
        Base::new(name, self.path(), &patterns, &excluded).unwrap()
    }

    fn library(&self) -> Library {
        Library::open(vec![self.base("kb")], &|_, _| {}).unwrap()
    }
}

fn ids(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.nodes().map(kenning_knowledge::NodeRef::id).collect()
}

fn notes(snapshot: &Snapshot) -> Vec<String> {
    snapshot.diagnostics().iter().map(ToString::to_string).collect()
}

fn search(snapshot: &Snapshot, query: &str) -> Vec<String> {
    let found = snapshot.search(&request(query)).unwrap();
    found.results.into_iter().map(|hit| hit.id).collect()
}

fn request(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.into(),
        search_type: SearchType::Keyword,
        scope: vec![],
        max_results: 10,
    }
}

fn get(ids: &[&str]) -> RetrieveRequest {
    RetrieveRequest {
        ids: ids.iter().map(ToString::to_string).collect(),
        include_children: false,
        format: Format::Markdown,
        max_tokens: DEFAULT_MAX_TOKENS,
    }
}

#[test]
fn missing_ids_come_from_file_and_heading() {
    let folder = Folder::new(&[
        ("SETUP.md", "# Set up\n## On Linux\n## On Linux\n### Arch\n"),
        ("docs/SETUP.md", "# Other\n## X\n"),
        ("plain.md", "no heading\n"),
    ]);
    assert_eq!(
        ids(&folder.library().snapshot()),
        [
            "SETUP",
            "SETUP.on-linux",
            "SETUP.on-linux-2",
            "SETUP.on-linux-2.arch",
            "docs.SETUP",
            "docs.SETUP.x",
            "plain"
        ]
    );
}

#[test]
fn duplicate_ids_are_reported_and_made_distinct() {
    let node = "# T\n- id: same\n<!-- content -->\n";
    let folder = Folder::new(&[("a.md", node), ("b.md", node), ("same-2.md", "# X\n")]);
    let snapshot = folder.library().snapshot();
    assert_eq!(ids(&snapshot), ["same", "same-2", "same-2-2"]);
    assert_eq!(
        notes(&snapshot),
        ["b.md:1: id `same` is already used by a.md:1; this one goes by `same-2`"]
    );
}

#[test]
fn ignored_and_excluded_files_are_not_read() {
    let folder = Folder::new(&[
        ("a.md", "# A\n"),
        ("b.txt", "# B\n"),
        ("secret.md", "# S\n"),
        ("drafts/d.md", "# D\n"),
        ("node_modules/x/y.md", "# Y\n"),
        (".gitignore", "secret.md\n"),
        (".kenningignore", "drafts/\n"),
    ]);
    assert_eq!(ids(&folder.library().snapshot()), ["a"]);
}

#[test]
fn a_file_that_is_too_large_is_reported_and_the_rest_is_read() {
    let folder = Folder::new(&[("a.md", "# A\n"), ("big.md", &"x ".repeat(500_001))]);
    let snapshot = folder.library().snapshot();
    assert_eq!(ids(&snapshot), ["a"]);
    assert_eq!(notes(&snapshot), ["big.md: is larger than 1000000 bytes and is left out"]);
}

#[cfg(unix)]
#[test]
fn symbolic_links_do_not_lead_out() {
    let outside = Folder::new(&[("secret.md", "# Secret\n")]);
    let folder = Folder::new(&[("a.md", "# A\n")]);
    std::os::unix::fs::symlink(outside.path().join("secret.md"), folder.path().join("link.md"))
        .unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("dir")).unwrap();
    let snapshot = folder.library().snapshot();
    assert_eq!(ids(&snapshot), ["a"]);
    assert_eq!(notes(&snapshot), ["link.md: is a symbolic link, which is not followed"]);
}

#[test]
fn nodes_are_found_by_id_path_and_heading() {
    let folder = Folder::new(&[(
        "guidelines/SECURITY.md",
        "# Security\n- id: guidelines.security\n<!-- content -->\n## Auth Tokens\n\
         - id: guidelines.security.authentication\n<!-- content -->\ntext\n### Inner\n- id: odd\n<!-- content -->\n",
    )]);
    let library = folder.library();
    let snapshot = library.snapshot();
    let id = "guidelines.security.authentication";
    for name in [
        id,
        "guidelines/SECURITY.md#authentication",
        "guidelines/SECURITY.md#guidelines.security.authentication",
        "guidelines/SECURITY.md#auth-tokens",
        "kb/guidelines/SECURITY.md#authentication",
    ] {
        assert_eq!(snapshot.resolve(name).unwrap().id(), id, "{name}");
    }
    assert_eq!(snapshot.resolve(id).unwrap().path(), "guidelines/SECURITY.md#authentication");
    assert_eq!(snapshot.resolve("odd").unwrap().path(), "guidelines/SECURITY.md#odd");
    assert_eq!(snapshot.resolve("guidelines/SECURITY.md").unwrap().id(), "guidelines.security");
}

#[test]
fn names_of_several_bases_never_collide() {
    let (one, two) =
        (Folder::new(&[("a.md", "# A\n")]), Folder::new(&[("a.md", "# A2\n"), ("b.md", "# B\n")]));
    let library = Library::open(vec![one.base("one"), two.base("two")], &|_, _| {}).unwrap();
    let snapshot = library.snapshot();
    assert_eq!(ids(&snapshot), ["one:a", "two:a", "two:b"]);
    assert_eq!(snapshot.resolve("b").unwrap().id(), "two:b");
    assert_eq!(snapshot.resolve("two/a.md").unwrap().id(), "two:a");
    for ambiguous in ["a", "a.md"] {
        let error = snapshot.resolve(ambiguous).unwrap_err();
        assert!(matches!(error, Error::AmbiguousNode { .. }), "{ambiguous}: {error}");
    }
    let scoped = SearchRequest { scope: vec!["two".into()], ..request("a2") };
    assert_eq!(snapshot.search(&scoped).unwrap().total_available, 1);
    assert_eq!(
        snapshot
            .list(&ListRequest { base: Some("one".into()), ..ListRequest::default() })
            .unwrap()
            .total_available,
        1
    );
    let twice = Library::open(vec![one.base("x"), two.base("x")], &|_, _| {});
    assert_eq!(twice.unwrap_err().to_string(), "two knowledge bases are named `x`");
}

#[test]
fn retrieve_reports_every_unknown_id_with_near_misses() {
    let folder = Folder::new(&[("guide.md", "# G\nbody\n## Setup\nmore\n")]);
    let reply = folder
        .library()
        .snapshot()
        .retrieve(&get(&["guide", "guide.setpu", "zzz", "../x.md"]))
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
    let request = RetrieveRequest { include_children: true, ..get(&["g", "g.a"]) };
    let reply = folder.library().snapshot().retrieve(&request).unwrap();
    assert_eq!(reply.nodes.len(), 1, "g.a is in the answer already, below g");
    assert_eq!(reply.nodes[0].children[0].children[0].content, "four");
    assert_eq!(reply.total_tokens, 4);
}

#[test]
fn formats_change_the_content_only() {
    let folder =
        Folder::new(&[("g.md", "# G\n- blocked_by: [x]\n<!-- content -->\nSome *bold* text\n")]);
    let snapshot = folder.library().snapshot();
    let plain =
        snapshot.retrieve(&RetrieveRequest { format: Format::Plain, ..get(&["g"]) }).unwrap();
    assert_eq!(plain.nodes[0].content, "Some bold text");
    let json = snapshot.retrieve(&RetrieveRequest { format: Format::Json, ..get(&["g"]) }).unwrap();
    let entry = json.nodes[0].entry.as_ref().unwrap();
    assert_eq!(entry.blocked_by, ["x"]);
    assert_eq!(entry.content_hash.len(), 64);
    assert_eq!(entry.keywords, ["some", "bold", "text"]);
}

#[test]
fn answers_are_bounded() {
    let folder = Folder::new(&[("g.md", "# G\none two three\n")]);
    let snapshot = folder.library().snapshot();
    let tight = RetrieveRequest { max_tokens: 2, ..get(&["g"]) };
    let reply = snapshot.retrieve(&tight).unwrap();
    assert!(reply.nodes.is_empty());
    assert_eq!((reply.omitted[0].id.as_str(), reply.omitted[0].token_count), ("g", 3));
    let many: Vec<&str> = vec!["g"; 21];
    let error = snapshot.retrieve(&get(&many)).unwrap_err();
    assert_eq!(error.to_string(), "`number of ids` is 21; it can be 1 to 20");
    assert_eq!(snapshot.retrieve(&get(&[])).unwrap_err().to_string(), "`ids` is empty");
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
    assert_eq!(
        search(&snapshot, "\"(migrating) AND:* ~^"),
        ["a", "b"],
        "no syntax to stumble over"
    );
    let none = snapshot.search(&request("xylophone")).unwrap();
    assert_eq!(none.message.unwrap(), "no node has any of the words: xylophone");
    assert!(
        snapshot
            .search(&request("the of"))
            .unwrap()
            .message
            .unwrap()
            .contains("no word to look for")
    );
    assert!(matches!(snapshot.search(&request("  ")), Err(Error::Empty { .. })));
}

#[test]
fn search_keeps_to_its_scope() {
    let folder = Folder::new(&[("a.md", "# A\nx cat\n## In\ncat\n"), ("b.md", "# B\ncat\n")]);
    let snapshot = folder.library().snapshot();
    let scoped = |scope: &str| {
        let request = SearchRequest { scope: vec![scope.into()], ..request("cat") };
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
fn the_list_filters_and_counts() {
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
        "no file fits these filters; there is guideline, plan"
    );
    let page = ListRequest { max_results: 1, offset: 1, ..ListRequest::default() };
    assert_eq!(snapshot.list(&page).unwrap().knowledge_bases[0].id, "c");
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
    assert_eq!(notes(&snapshot), ["c.md:1: blocked_by `missing` names no node"]);
}

#[test]
fn circles_are_reported_and_end() {
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
    assert_eq!(notes(&snapshot).len(), 2);
}

#[test]
fn a_sync_takes_in_what_changed_and_nothing_else() {
    let folder =
        Folder::new(&[("a.md", "# A\nalpha\n"), ("b.md", "# B\nbeta\n"), ("c.md", "# C\n")]);
    let library = folder.library();
    let before = library.snapshot();
    assert!(library.sync(&|_, _| {}).unwrap().is_empty());
    folder.write("a.md", "# A\ngamma\n");
    fs::remove_file(folder.path().join("b.md")).unwrap();
    fs::rename(folder.path().join("c.md"), folder.path().join("d.md")).unwrap();
    let changes = library.sync(&|_, _| {}).unwrap();
    assert_eq!(changes.changed, ["kb/a.md"]);
    assert_eq!(changes.added, ["kb/d.md"]);
    assert_eq!(changes.removed, ["kb/b.md", "kb/c.md"]);
    let after = library.snapshot();
    assert_eq!(ids(&after), ["a", "d"]);
    assert_eq!(search(&after, "gamma"), ["a"]);
    assert!(search(&after, "beta").is_empty());
    assert_eq!(search(&before, "beta"), ["b"], "an older snapshot still answers as it was");
}

#[test]
fn a_watched_library_follows_its_files() {
    let folder = Folder::new(&[("a.md", "# A\n")]);
    let library = std::sync::Arc::new(folder.library());
    let (tell, heard) = std::sync::mpsc::channel();
    let watcher = kenning_knowledge::watch::Watcher::start(library.clone(), move |changes| {
        let _ = tell.send(changes);
    })
    .unwrap();
    folder.write("new/deep/b.md", "# B\n");
    let mut added = Vec::new();
    while added.is_empty() {
        added = heard.recv().unwrap().added;
    }
    assert_eq!(added, ["kb/new/deep/b.md"]);
    folder.write("new/deep/b.md", "# B\nzeta\n");
    assert_eq!(heard.recv().unwrap().changed, ["kb/new/deep/b.md"]);
    assert_eq!(search(&library.snapshot(), "zeta"), ["b"]);
    drop(watcher);
    assert!(heard.recv().is_err(), "the watching thread ends with the watcher");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever is asked for, the answer comes from inside the base or is a refusal.
    #[test]
    fn hostile_paths_never_leave_the_base(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just(".."), Just("."), Just("/"), Just("\\"), Just("a.md"), Just("A.MD"), Just("sub"),
                Just("%2e%2e"), Just("%2f"), Just("\0"), Just("C:"), Just("#"), Just("~"),
                Just("etc/passwd"), Just("secret.md"), Just(" "), Just("\u{202e}"), Just("//"),
            ],
            1..8,
        )
    ) {
        use std::sync::OnceLock;
        static SHARED: OnceLock<(Folder, Library)> = OnceLock::new();
        let (_, library) = SHARED.get_or_init(|| {
            let parent = Folder::new(&[("secret.md", "# Secret\n"), ("base/a.md", "# A\n"), ("base/sub/b.md", "# B\n")]);
            let base = Base::new("base", &parent.path().join("base"), &["**/*.md".into()], &[]).unwrap();
            let library = Library::open(vec![base], &|_, _| {}).unwrap();
            (parent, library)
        });
        let path = pieces.concat();
        let snapshot = library.snapshot();
        for answer in [snapshot.resolve(&path), snapshot.locate("base", &path, None)] {
            match answer {
                Ok(node) => prop_assert!(["A", "B"].contains(&node.title()), "{path:?}"),
                Err(error) => prop_assert!(!error.hint().is_empty(), "{path:?}: {error}"),
            }
        }
        if path.split('/').any(|part| part == "..") && !path.contains('#') {
            prop_assert!(matches!(snapshot.locate("base", &path, None), Err(Error::Path(_))), "{path:?}");
        }
    }
}
