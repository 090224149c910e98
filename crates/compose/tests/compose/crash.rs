//! Kills a process while it writes.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use kenning_compose::assemble::AssembleRequest;
use kenning_compose::config::ConfigType;
use kenning_compose::generate::GenerateRequest;
use kenning_compose::{Compose, Limits, Parts};
use serde_json::json;

use crate::fixture::{artifact, content, files, fixture};

const VARIABLE: &str = "KENNING_TEST_WORKSPACE_OF_CHILD";
const CONTENTS: usize = 1_000;

fn open(root: &Path, state: &Path) -> Compose {
    let limits = Limits { max_artifact_components: CONTENTS, ..Limits::default() };
    Compose::open(Parts { limits, ..Parts::new(root, state) }).unwrap()
}

/// Generates and assembles all contents repeatedly until it is killed.
pub(crate) fn child() {
    let Ok(folders) = std::env::var(VARIABLE) else { return };
    let (root, state) = folders.split_once('|').unwrap();
    let compose = open(Path::new(root), Path::new(state));
    println!("\nbegun");
    for round in 0.. {
        let context = json!({"round": round}).as_object().cloned();
        for n in 0..CONTENTS {
            let request = GenerateRequest {
                content_config_id: format!("c{n}"),
                context: context.clone(),
                force: true,
            };
            compose.generate_content(&request).unwrap();
            println!("\ngenerated {n}");
        }
        let artifact_config_id = "all".to_owned();
        let request = AssembleRequest { artifact_config_id, context, ..AssembleRequest::default() };
        compose.assemble_artifact(&request).unwrap();
        println!("\nassembled");
    }
}

/// Kills a child process `pause` after it has printed `word` for the given number of times.
fn kill_after(root: &Path, state: &Path, word: &str, times: usize, pause: Duration) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]);
    command.env(VARIABLE, format!("{}|{}", root.display(), state.display()));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let said = lines.filter(|line| line.starts_with(word)).take(times).count();
    assert_eq!(said, times, "the child goes on until it is killed");
    std::thread::sleep(pause);
    child.kill().unwrap();
    child.wait().unwrap();
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
