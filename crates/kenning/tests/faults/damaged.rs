//! Files of ours that hold something else.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};

use serde_json::{Value, json};

use crate::support::{Lines, Place, knows_pelicans, pelicans};

/// Writes over some bytes of a file.
fn overwrite(place: &Place, at: u64, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(place.store()).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

fn with_store() -> Place {
    let place = Place::new();
    place.run(&["agents", "add", "bot", "--id", "11"]).good();
    // All of it into the one file.
    sql(&place, "PRAGMA wal_checkpoint(TRUNCATE)");
    place
}

/// It is not overwritten, and nothing is answered from it.
#[track_caller]
fn is_refused_and_left_alone(place: &Place) {
    let before = fs::read(place.store()).unwrap();
    place.run(&["agents", "list"]).says(&["kenning.db", "cannot be opened", "damaged"]);
    let mut server = Lines::session(place.kenning(&["--log-level", "error", "serve"]));
    knows_pelicans(&server.call("search_knowledge", &pelicans()));
    let refused = server.call("get_agent_capabilities", &json!({"agent_id": 11}));
    assert_eq!(refused["error"], "DATABASE_ERROR", "{refused}");
    drop(server);
    assert!(fs::read(place.store()).unwrap() == before, "it may still be mended");
    fs::rename(place.store(), place.store().with_extension("damaged")).unwrap();
    place.run(&["agents", "add", "bot"]).good();
}

#[test]
fn a_store_that_is_no_database_is_refused_and_left_alone() {
    let place = with_store();
    fs::write(place.store(), "this is not a database, whatever its name says. ".repeat(200))
        .unwrap();
    is_refused_and_left_alone(&place);
}

#[test]
fn a_store_with_a_damaged_schema_is_refused_and_left_alone() {
    let place = with_store();
    // The first page holds the list of tables, after a header of 100 bytes.
    overwrite(&place, 100, &[0xa5; 900]);
    is_refused_and_left_alone(&place);
}

/// Cut off, it is found out at the latest when something is read that is missing.
#[test]
fn a_store_that_was_cut_off_gives_no_wrong_answer() {
    let place = with_store();
    let length = fs::metadata(place.store()).unwrap().len();
    let file = OpenOptions::new().write(true).open(place.store()).unwrap();
    file.set_len(length / 3).unwrap();
    drop(file);
    let listed = place.run(&["agents", "list"]);
    assert_eq!(listed.code, Some(1), "{listed:?}");
    assert!(!listed.err.contains("panicked"), "{listed:?}");
}

/// Runs SQL on the store, behind the program's back.
fn sql(place: &Place, statement: &str) {
    let mut python = std::process::Command::new("python3");
    let script = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); \
                  c.execute(sys.argv[2]); c.commit(); c.close()";
    let done = python.args(["-c", script]).arg(place.store()).arg(statement).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// What was found, and how near it is; not the stretch that is shown of it.
fn found(answer: &Value) -> Vec<(String, String)> {
    let results = answer["results"].as_array().unwrap().iter();
    results.map(|hit| (hit["id"].to_string(), hit["score"].to_string())).collect()
}

/// Vectors and the stretches of text they belong to: garbage is computed anew, never used.
#[test]
fn damaged_vectors_are_computed_anew() {
    let place = Place::new();
    place.write("heron.md", "# Herons\nA heron stands in the reeds and waits for frogs.\n");
    let question = ["search", "--type", "semantic", "a bird that keeps fish"];
    let before: Value = place.json(&question);
    assert_eq!(before["results"][0]["id"], "pelican", "{before}");
    for damage in [
        "vectors = zeroblob(length(vectors))",
        "vectors = CAST(x'0000c07f' || substr(vectors, 5) AS BLOB)",
        "vectors = randomblob(length(vectors))",
        "windows = x'', vectors = substr(vectors, 1, 100)",
        "windows = x'ffffff7f00000000'",
    ] {
        sql(&place, &format!("UPDATE embeddings SET {damage}"));
        assert_eq!(found(&place.json(&question)), found(&before), "{damage}");
    }
}
