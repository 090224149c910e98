//! A look at a store changes nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::fs;
use std::path::Path;

use kenning_knowledge::semantic::{Embedded, TextKey, VectorCache};
use kenning_store::{Location, Look, Schema, Store};
use kenning_testkit::Postgres;
use tempfile::TempDir;

fn look(location: &str) -> Look {
    Store::look(&location.parse::<Location>().unwrap()).unwrap()
}

fn schema(location: &str) -> Schema {
    match look(location) {
        Look::Present { schema, .. } => schema,
        Look::Absent { place } => panic!("nothing at {place}"),
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
fn what_is_not_there_is_not_made() {
    let folder = TempDir::new().unwrap();
    let inside = folder.path().join("data");
    assert!(matches!(look(inside.to_str().unwrap()), Look::Absent { .. }));
    assert!(!inside.exists());
}

#[test]
fn a_file_is_read_while_it_is_in_use_and_after() {
    let folder = TempDir::new().unwrap();
    let location = folder.path().to_str().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let embedded = Embedded::from_bytes(&[0; 8], &[0; 384 * 4]).unwrap();
    store.save("m", &[(TextKey::from_bytes(&[1; 16]).unwrap(), &embedded)]).unwrap();
    let in_use = names(folder.path());
    let Look::Present { store: seen, schema } = look(location) else { panic!("it is there") };
    assert_eq!(schema.found, schema.known);
    assert_eq!(seen.embedding_count("m").unwrap(), 1, "what is only in the log is seen as well");
    assert!(seen.save("m", &[(TextKey::from_bytes(&[2; 16]).unwrap(), &embedded)]).is_err());
    drop(seen);
    assert_eq!(names(folder.path()), in_use);
}

/// As a store is that somebody copied, or that was closed in order.
#[test]
fn a_file_alone_stays_alone() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("kenning.db");
    let made = TempDir::new().unwrap();
    let store = Store::open(made.path()).unwrap();
    // The log holds everything until somebody tidies up: without it the file is empty.
    fs::copy(made.path().join("kenning.db"), &file).unwrap();
    let Look::Present { .. } = look(folder.path().to_str().unwrap()) else { panic!("it is there") };
    assert_eq!(names(folder.path()), ["kenning.db"]);
    drop(store);
}

#[test]
fn a_database_gets_no_tables() {
    let location = Postgres::shared().database();
    assert_eq!(schema(&location).found, 0);
    assert_eq!(schema(&location).found, 0, "the first look made them");
    Store::connect(&location.parse::<Location>().unwrap()).unwrap();
    let Schema { found, known } = schema(&location);
    assert_eq!(found, known);
}

#[test]
fn what_is_no_store_is_an_error() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("kenning.db"), "this is not a database, but long enough").unwrap();
    let location: Location = folder.path().to_str().unwrap().parse().unwrap();
    assert!(Store::look(&location).is_err());
}
