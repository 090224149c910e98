//! Opening a store to read changes nothing.

use std::fs;
use std::path::Path;

use kenning_knowledge::semantic::{Embedded, TextKey, VectorCache};
use kenning_store::{Location, ReadOnly, Schema, Store};
use kenning_testkit::Postgres;
use tempfile::TempDir;

fn open(location: &str) -> ReadOnly {
    Store::open_read_only(&location.parse::<Location>().unwrap()).unwrap()
}

fn schema(location: &str) -> Schema {
    match open(location) {
        ReadOnly::Present { schema, .. } => schema,
        ReadOnly::Absent { place } => panic!("nothing at {place}"),
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn does_not_create_an_absent_store() {
    let folder = TempDir::new().unwrap();
    let inside = folder.path().join("data");
    assert!(matches!(open(inside.to_str().unwrap()), ReadOnly::Absent { .. }));
    assert!(!inside.exists());
}

#[test]
fn reads_a_file_that_is_in_use() {
    let folder = TempDir::new().unwrap();
    let location = folder.path().to_str().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let embedded = Embedded::from_bytes(&[0; 8], &[0; 384 * 4]).unwrap();
    store.save("m", &[(TextKey::from_bytes(&[1; 16]).unwrap(), &embedded)]).unwrap();
    let in_use = names(folder.path());
    let ReadOnly::Present { store: seen, schema } = open(location) else { panic!("it is there") };
    assert_eq!(schema.found, schema.known);
    assert_eq!(seen.embedding_count("m").unwrap(), 1, "entries in the log are read as well");
    assert!(seen.save("m", &[(TextKey::from_bytes(&[2; 16]).unwrap(), &embedded)]).is_err());
    drop(seen);
    assert_eq!(names(folder.path()), in_use);
}

/// A store that was copied or closed properly has no log.
#[test]
fn creates_no_files_beside_a_closed_store() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("kenning.db");
    let made = TempDir::new().unwrap();
    let store = Store::open(made.path()).unwrap();
    // Everything is in the log until a checkpoint: without it the file is empty.
    fs::copy(made.path().join("kenning.db"), &file).unwrap();
    let ReadOnly::Present { .. } = open(folder.path().to_str().unwrap()) else {
        panic!("it is there")
    };
    assert_eq!(names(folder.path()), ["kenning.db"]);
    drop(store);
}

#[test]
fn does_not_migrate_a_database() {
    let location = Postgres::shared().database();
    assert_eq!(schema(&location).found, 0);
    assert_eq!(schema(&location).found, 0, "opening it to read migrated it");
    Store::connect(&location.parse::<Location>().unwrap()).unwrap();
    let Schema { found, known } = schema(&location);
    assert_eq!(found, known);
}

#[test]
fn refuses_a_file_that_is_no_store() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("kenning.db"), "this is not a database, but long enough").unwrap();
    let location: Location = folder.path().to_str().unwrap().parse().unwrap();
    assert!(Store::open_read_only(&location).is_err());
}
