//! Files of ours with damaged contents.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use reqwest::StatusCode;
use serde_json::Value;

use super::{check_knowledge, check_registry_refuses, check_store_is_not_ready, pelicans};
use crate::server::monitoring::readiness_becomes;
use crate::server::support::{Project, finished, within};

fn store(project: &Project) -> PathBuf {
    project.data().join("kenning.db")
}

fn with_store() -> Project {
    let project = pelicans();
    project.run(&["agents", "add", "bot", "--id", "11"]).success();
    // Moves everything from the write-ahead log into the database file.
    sql(&project, "PRAGMA wal_checkpoint(TRUNCATE)");
    project
}

/// A damaged store is not overwritten, and nothing is answered from it.
async fn check_refused_and_unchanged(project: &Project) {
    let store = store(project);
    let before = fs::read(&store).unwrap();
    project.run(&["agents", "list"]).fails_with(&["kenning.db", "cannot be opened", "damaged"]);
    let client = project.client(&[]).await;
    check_knowledge(&client).await;
    check_registry_refuses(&client).await;
    within(client.cancel()).await.unwrap();
    assert!(fs::read(&store).unwrap() == before, "it may still be repaired");
    fs::rename(&store, store.with_extension("damaged")).unwrap();
    project.run(&["agents", "add", "bot"]).success();
}

#[tokio::test]
async fn a_store_that_is_no_database_is_refused_and_unchanged() {
    let project = with_store();
    let text = "this is not a database, whatever its name says. ".repeat(200);
    fs::write(store(&project), text).unwrap();
    check_refused_and_unchanged(&project).await;
}

#[tokio::test]
async fn a_store_with_a_damaged_schema_is_refused_and_unchanged() {
    let project = with_store();
    // The first page holds the list of tables, after a header of 100 bytes.
    let mut file = OpenOptions::new().write(true).open(store(&project)).unwrap();
    file.seek(SeekFrom::Start(100)).unwrap();
    file.write_all(&[0xa5; 900]).unwrap();
    drop(file);
    check_refused_and_unchanged(&project).await;
}

/// Overwrites all but the beginning of the file.
fn damage(project: &Project) {
    let mut file = OpenOptions::new().write(true).open(store(project)).unwrap();
    let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
    file.seek(SeekFrom::Start(4096)).unwrap();
    file.write_all(&vec![0xa5; length - 4096]).unwrap();
}

#[tokio::test]
async fn a_server_whose_store_is_damaged_is_not_ready() {
    let project = with_store();
    let server = project.http(&[], &[]);
    let ready = readiness_becomes(&server, StatusCode::OK).await;
    assert_eq!(ready["parts"]["store"]["ready"], true, "{ready}");
    damage(&project);
    check_store_is_not_ready(&server, "the store is damaged").await;
    assert_eq!(server.get("/healthz").await.status, StatusCode::OK, "a restart would not help");
    server.kill().await;
    fs::write(store(&project), "no database ".repeat(1_000)).unwrap();
    let server = project.http(&[], &[]);
    check_store_is_not_ready(&server, "the store is damaged").await;
    server.stop().await;
}

#[tokio::test]
async fn a_server_whose_store_was_removed_is_not_ready() {
    let project = with_store();
    let server = project.http(&[], &[]);
    readiness_becomes(&server, StatusCode::OK).await;
    fs::remove_file(store(&project)).unwrap();
    check_store_is_not_ready(&server, "the store cannot be opened").await;
    assert!(!store(&project).exists(), "the check leaves nothing behind");
    server.stop().await;
}

/// A truncated store is noticed at the latest when a missing part is read.
#[test]
fn a_truncated_store_gives_no_wrong_answer() {
    let project = with_store();
    let file = OpenOptions::new().write(true).open(store(&project)).unwrap();
    file.set_len(file.metadata().unwrap().len() / 3).unwrap();
    drop(file);
    let listed = project.run(&["agents", "list"]);
    assert_eq!(listed.code, Some(1), "{listed:?}");
    assert!(!listed.err.contains("panicked"), "{listed:?}");
}

/// Runs SQL on the store from outside of the program.
fn sql(project: &Project, statement: &str) {
    let mut python = std::process::Command::new("python3");
    let script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); \
                  c.execute(sys.argv[2]); c.commit(); c.close()";
    finished(python.args(["-c", script]).arg(store(project)).arg(statement)).success();
}

/// What was found, with its score, and without the excerpt.
fn found(answer: &Value) -> Vec<(String, String)> {
    let results = answer["results"].as_array().unwrap().iter();
    results.map(|hit| (hit["id"].to_string(), hit["score"].to_string())).collect()
}

/// Damaged vectors, and damaged positions of the text they belong to, are never used.
#[test]
fn damaged_vectors_are_recomputed() {
    let project = pelicans();
    project.write("heron.md", "# Herons\nA heron stands in the reeds and waits for frogs.\n");
    let question = ["search", "--wait", "--type", "semantic", "a bird that keeps fish"];
    let before: Value = project.json(&question);
    assert_eq!(before["results"][0]["id"], "pelican", "{before}");
    for damage in [
        "vectors = zeroblob(length(vectors))",
        "vectors = CAST(x'0000c07f' || substr(vectors, 5) AS BLOB)",
        "vectors = randomblob(length(vectors))",
        "windows = x'', vectors = substr(vectors, 1, 100)",
        "windows = x'ffffff7f00000000'",
    ] {
        sql(&project, &format!("UPDATE embeddings SET {damage}"));
        assert_eq!(found(&project.json(&question)), found(&before), "{damage}");
    }
}
