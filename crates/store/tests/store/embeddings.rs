//! Vectors are computed once and stored.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kenning_knowledge::semantic::{Embedded, Indexer, ModelSource, Pass, TextKey, VectorCache};
use kenning_knowledge::{Base, Library};
use kenning_store::Store;
use tempfile::TempDir;

use crate::fixture::Fixture;

fn library(root: &Path) -> Arc<Library> {
    let base = Base::new("kb", root, &["**/*.md".to_owned()], &[]).unwrap();
    Arc::new(Library::open(vec![base], &|_, _| {}).unwrap())
}

fn indexer(library: &Arc<Library>, store: &Arc<Store>) -> Indexer {
    Indexer::new(library.clone(), store.clone(), ModelSource::Bundled.load().unwrap())
}

fn key(n: u8) -> TextKey {
    TextKey::from_bytes(&[n; 16]).unwrap()
}

fn embedded(value: f32) -> Embedded {
    Embedded { windows: std::iter::once(0..3).collect(), vectors: vec![value; 384] }
}

#[test]
fn computes_only_what_changed() {
    let (files, data) = (TempDir::new().unwrap(), Fixture::sqlite());
    let write = |name: &str, text: &str| fs::write(files.path().join(name), text).unwrap();
    write("a.md", "# A\nalpha\n## B\nbeta\n## C\ngamma\n");
    write("d.md", "# D\ndelta\n");
    let store = data.store();
    let first = library(files.path());
    let mut running = indexer(&first, &store);
    let pass = |indexer: &mut Indexer| indexer.catch_up(&|_, _| {}).unwrap();
    assert_eq!(pass(&mut running), Pass { loaded: 0, computed: 4 });
    assert!(first.snapshot().coverage().is_complete());
    assert_eq!(pass(&mut running), Pass::default(), "nothing changed");

    let restarted = library(files.path());
    assert_eq!(pass(&mut indexer(&restarted, &store)), Pass { loaded: 4, computed: 0 });
    assert!(restarted.snapshot().coverage().is_complete());

    write("a.md", "# A\nalpha\n## B\nbeta, edited\n## C\ngamma\n");
    first.sync(&|_, _| {}).unwrap();
    assert!(!first.snapshot().coverage().is_complete(), "an edited file has no vectors yet");
    assert_eq!(pass(&mut running), Pass { loaded: 0, computed: 1 });

    fs::rename(files.path().join("d.md"), files.path().join("renamed.md")).unwrap();
    first.sync(&|_, _| {}).unwrap();
    assert_eq!(pass(&mut running), Pass::default(), "a rename computes nothing");
    assert!(first.snapshot().coverage().is_complete());
}

pub(crate) fn models_do_not_mix(fixture: &Fixture) {
    let store = fixture.store();
    store.save("one", &[(key(1), &embedded(0.5))]).unwrap();
    assert_eq!(store.load("one", &[key(1), key(2)]).unwrap().get(&key(1)), Some(&embedded(0.5)));
    assert!(store.load("other", &[key(1)]).unwrap().is_empty());
    assert_eq!(
        (store.embedding_count("one").unwrap(), store.embedding_count("other").unwrap()),
        (1, 0)
    );
}

pub(crate) fn loads_many_keys_at_once(fixture: &Fixture) {
    let store = fixture.store();
    let keys: Vec<TextKey> = (0..2_000_u32)
        .map(|n| TextKey::from_bytes(&[n.to_le_bytes(); 4].concat()).unwrap())
        .collect();
    let one = embedded(0.1);
    let entries: Vec<(TextKey, &Embedded)> = keys.iter().map(|key| (*key, &one)).collect();
    store.save("m", &entries).unwrap();
    assert_eq!(store.load("m", &keys).unwrap().len(), 2_000);
}

pub(crate) fn several_processes_share_a_store(fixture: &Fixture) {
    std::thread::scope(|scope| {
        for n in 0..8 {
            scope.spawn(move || {
                let store = fixture.store();
                for round in 0..5 {
                    store.save("m", &[(key(n * 5 + round), &embedded(0.2))]).unwrap();
                }
            });
        }
    });
    assert_eq!(fixture.store().embedding_count("m").unwrap(), 40);
}

pub(crate) fn exports_to_the_other_database(fixture: &Fixture) {
    let (files, target) = (TempDir::new().unwrap(), fixture.other());
    let (store, other) = (fixture.store(), target.store());
    store.save("m", &[(key(1), &embedded(0.5)), (key(2), &embedded(0.25))]).unwrap();
    store.save("m", &[(key(2), &embedded(0.75))]).unwrap();
    let loaded = store.load("m", &[key(1), key(2), key(3)]).unwrap();
    assert_eq!((loaded.len(), &loaded[&key(2)]), (2, &embedded(0.75)), "saving again replaces");
    let file = files.path().join("export.db");
    assert_eq!(store.export_embeddings(&file).unwrap().entries, 2);

    other.save("m", &[(key(1), &embedded(0.125))]).unwrap();
    assert_eq!(other.import_embeddings(&file).unwrap().entries, 1, "existing entries stay");
    assert_eq!(other.import_embeddings(&file).unwrap().entries, 0);
    let loaded = other.load("m", &[key(1), key(2)]).unwrap();
    assert_eq!((&loaded[&key(1)], &loaded[&key(2)]), (&embedded(0.125), &embedded(0.75)));
    let rubbish = files.path().join("rubbish");
    fs::write(&rubbish, "not a database, but long enough to look at").unwrap();
    assert!(other.import_embeddings(&rubbish).is_err());
    assert_eq!(other.embedding_count("m").unwrap(), 2, "a refused import changes nothing");
}
