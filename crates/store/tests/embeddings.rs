//! Vectors are computed once, and remembered.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kenning_knowledge::semantic::{Embedded, Indexer, ModelSource, Pass, TextKey, VectorCache};
use kenning_knowledge::{Base, Library};
use kenning_store::Store;
use tempfile::TempDir;

fn library(root: &Path) -> Arc<Library> {
    let base = Base::new("kb", root, &["**/*.md".to_owned()], &[]).unwrap();
    Arc::new(Library::open(vec![base], &|_, _| {}).unwrap())
}

fn store(folder: &TempDir) -> Arc<Store> {
    Arc::new(Store::open(folder.path()).unwrap())
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
fn only_what_changed_is_computed() {
    let (files, data) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let write = |name: &str, text: &str| fs::write(files.path().join(name), text).unwrap();
    write("a.md", "# A\nalpha\n## B\nbeta\n## C\ngamma\n");
    write("d.md", "# D\ndelta\n");
    let store = store(&data);
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

#[test]
fn models_do_not_mix() {
    let data = TempDir::new().unwrap();
    let store = store(&data);
    store.save("one", &[(key(1), &embedded(0.5))]).unwrap();
    assert_eq!(store.load("one", &[key(1), key(2)]).unwrap().get(&key(1)), Some(&embedded(0.5)));
    assert!(store.load("other", &[key(1)]).unwrap().is_empty());
    assert_eq!(
        (store.embedding_count("one").unwrap(), store.embedding_count("other").unwrap()),
        (1, 0)
    );
}

#[test]
fn many_keys_are_loaded_in_one_go() {
    let data = TempDir::new().unwrap();
    let store = store(&data);
    let keys: Vec<TextKey> = (0..2_000_u32)
        .map(|n| TextKey::from_bytes(&[n.to_le_bytes(); 4].concat()).unwrap())
        .collect();
    let one = embedded(0.1);
    let entries: Vec<(TextKey, &Embedded)> = keys.iter().map(|key| (*key, &one)).collect();
    store.save("m", &entries).unwrap();
    assert_eq!(store.load("m", &keys).unwrap().len(), 2_000);
}

#[test]
fn several_processes_share_a_store() {
    let data = TempDir::new().unwrap();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let data = &data;
            scope.spawn(move || {
                let store = store(data);
                for round in 0..5 {
                    store.save("m", &[(key(n * 5 + round), &embedded(0.2))]).unwrap();
                }
            });
        }
    });
    assert_eq!(store(&data).embedding_count("m").unwrap(), 40);
}

#[test]
fn exports_come_back_and_rubbish_is_refused() {
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let file = one.path().join("export.db");
    store(&one).save("m", &[(key(1), &embedded(0.5)), (key(2), &embedded(0.25))]).unwrap();
    assert_eq!(store(&one).export_embeddings(&file).unwrap().entries, 2);
    let other = store(&two);
    other.save("m", &[(key(1), &embedded(0.75))]).unwrap();
    assert_eq!(other.import_embeddings(&file).unwrap().entries, 1, "what is there stays");
    let loaded = other.load("m", &[key(1), key(2)]).unwrap();
    assert_eq!((&loaded[&key(1)], &loaded[&key(2)]), (&embedded(0.75), &embedded(0.25)));
    let rubbish = two.path().join("rubbish");
    fs::write(&rubbish, "not a database, but long enough to look at").unwrap();
    assert!(other.import_embeddings(&rubbish).is_err());
    assert_eq!(other.embedding_count("m").unwrap(), 2, "a refused import changes nothing");
}
