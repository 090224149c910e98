//! Which files are read, which ids their sections get, and how a sync applies changes.

use std::fs;

use kenning_knowledge::list::ListRequest;
use kenning_knowledge::search::SearchRequest;
use kenning_knowledge::{Error, Library};
use proptest::prelude::*;

use crate::{Folder, base, diagnostics, ids, keyword_request, open, search};

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
        diagnostics(&snapshot),
        ["b.md:1: id `same` is already used by a.md:1; this one gets `same-2`"]
    );
}

#[test]
fn ignored_and_excluded_files_are_skipped() {
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
fn a_file_that_is_too_large_is_reported_and_skipped() {
    let folder = Folder::new(&[("a.md", "# A\n"), ("big.md", &"x ".repeat(500_001))]);
    let snapshot = folder.library().snapshot();
    assert_eq!(ids(&snapshot), ["a"]);
    assert_eq!(diagnostics(&snapshot), ["big.md: is larger than 1000000 bytes and is skipped"]);
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_not_followed() {
    let outside = Folder::new(&[("secret.md", "# Secret\n")]);
    let folder = Folder::new(&[("a.md", "# A\n")]);
    std::os::unix::fs::symlink(outside.path().join("secret.md"), folder.path().join("link.md"))
        .unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("dir")).unwrap();
    let snapshot = folder.library().snapshot();
    assert_eq!(ids(&snapshot), ["a"]);
    assert_eq!(diagnostics(&snapshot), ["link.md: is a symbolic link, which is not followed"]);
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
fn ids_of_several_bases_never_collide() {
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
    let scoped = SearchRequest { scope: vec!["two".into()], ..keyword_request("a2") };
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
fn a_sync_applies_what_changed_and_nothing_else() {
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
    assert_eq!(search(&before, "beta"), ["b"], "an older snapshot is not affected");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Every path resolves to a node of the base or to an error.
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
            let library = open(base("base", &parent.path().join("base")));
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
