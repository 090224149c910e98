//! Kills a process while it writes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use kenning_compose::config::ConfigType;
use kenning_compose::{Compose, Limits, Parts};
use kenning_testkit::{LineProcess, wait};
use serde_json::json;

use crate::fixture::{artifact, content, files, fixture};

const CONTENTS: usize = 1_000;

fn open(root: &Path, state: &Path) -> Compose {
    let limits = Limits { max_artifact_components: CONTENTS, ..Limits::default() };
    Compose::open(Parts { limits, ..Parts::new(root, state) }).unwrap()
}

/// Kills a child process `pause` after it has printed `word` for the given number of times.
fn kill_after(root: &Path, state: &Path, word: &str, times: usize, pause: Duration) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_compose-crash-child"));
    command.arg(root).arg(state).arg(CONTENTS.to_string()).stderr(Stdio::null());
    let mut process = LineProcess::start(&mut command);
    let mut printed = 0;
    while printed < times {
        let line = process.line();
        assert!(!line.is_empty(), "the child goes on until it is killed");
        printed += usize::from(line.starts_with(word));
    }
    std::thread::sleep(pause);
    process.child.kill().unwrap();
    wait(&mut process.child);
}

#[test]
fn a_killed_process_leaves_no_partial_file() {
    let fixture = fixture();
    let line = "0123456789".repeat(400);
    for n in 0..CONTENTS {
        let template = format!("c{n} round {{{{ round|string }}}} {line} end\n");
        fixture.put(&content(&format!("c{n}"), json!({"template": template})));
    }
    let children: Vec<_> = (0..CONTENTS).map(|n| json!({"id": format!("c{n}")})).collect();
    fixture.put(&artifact("all", "concat", json!(children)));
    let (root, state) = (fixture.root.path(), fixture.state.path());
    for (word, times, pause) in [
        ("generated", 1, 0),
        ("generated", 300, 1),
        ("generated", 700, 2),
        ("generated", CONTENTS, 3),
        ("assembled", 1, 5),
    ] {
        kill_after(root, state, word, times, Duration::from_millis(pause));
        check(root, state);
    }
}

/// Every listed version can be read and is complete, and so is the artifact.
fn check(root: &Path, state: &Path) {
    let compose = open(root, state);
    let contents = compose.content_ids().unwrap();
    assert!(!contents.is_empty());
    for id in contents {
        for version in compose.version_ids(&id).unwrap() {
            let version = compose.content(&id, Some(&version)).unwrap();
            let text = version.content.unwrap();
            assert!(text.starts_with(&format!("{id} round")) && text.ends_with(" end\n"), "{id}");
            assert_eq!(text.len(), version.size_bytes);
        }
    }
    for file in files(state).iter().filter(|file| file.extension().is_some_and(|e| e == "json")) {
        let text = std::fs::read_to_string(file).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
    }
    if let Ok(text) = std::fs::read_to_string(root.join("OUT.md")) {
        assert_eq!(text.matches(" end\n").count(), CONTENTS);
    }
    compose.config(ConfigType::Artifact, "all").unwrap();
}
