//! Commands do not wait for vectors: a process in the background computes them.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use kenning_testkit::{DEADLINE, eventually};
use serde_json::Value;

use crate::server::support::{Finished, Project, finished};

fn birds() -> Project {
    let text = |n: usize| format!("## Bird {n}\nIt is bird number {n}, and it eats fish.\n");
    let text: String = (0..20).map(text).collect();
    Project::with(&[("birds.md", &format!("# Birds\nAll of them.\n{text}"))])
}

/// A search that may start the background run.
fn search(project: &Project, args: &[&str]) -> Finished {
    let mut command = project.kenning(&[&["search", "bird"], args].concat());
    finished(command.env("KENNING_INDEX_BACKGROUND", "true"))
}

fn embedded(project: &Project) -> (u64, u64) {
    let status: Value = project.json(&["status"]);
    (status["embedded"].as_u64().unwrap(), status["nodes"].as_u64().unwrap())
}

/// The file that a process locks while it computes vectors.
fn lock(project: &Project) -> Option<PathBuf> {
    let files = fs::read_dir(project.data().join("run")).ok()?;
    let mut files = files.map(|file| file.unwrap().path());
    files.find(|path| path.to_string_lossy().contains("vectors-"))
}

#[test]
fn a_search_answers_by_words_and_does_not_compute_vectors() {
    let project = birds();
    let found = project.run(&["search", "bird", "--json"]).success();
    let answer: Value = serde_json::from_str(&found.out).unwrap();
    assert_eq!(answer["results"].as_array().unwrap().len(), 10, "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.starts_with("meaning: 0 % ready; 21 of 21 nodes"), "{message}");
    assert!(found.err.contains("--wait computes the rest"), "{found:?}");
    assert_eq!(embedded(&project), (0, 21));
    let found = project.run(&["discover", "what bird number 7 eats"]);
    assert!(found.err.contains("meaning: 0 % ready"), "{found:?}");
    assert_eq!(embedded(&project), (0, 21));
    let waited = project.json(&["search", "bird", "--wait"]);
    assert_eq!(waited["message"], Value::Null, "{waited}");
    assert!(waited["results"][0]["score"]["semantic"].is_number(), "{waited}");
    assert_eq!(embedded(&project), (21, 21));
}

#[test]
fn a_background_run_computes_the_rest_and_ends() {
    let project = birds();
    let found = search(&project, &[]).success();
    assert!(found.err.contains("meaning: 0 % ready"), "{found:?}");
    assert!(found.err.contains("the rest is computed in the background"), "{found:?}");
    eventually(DEADLINE, || (embedded(&project) == (21, 21)).then_some(()));
    // It holds the lock until it ends.
    let lock = File::options().write(true).open(lock(&project).unwrap()).unwrap();
    eventually(DEADLINE, || lock.try_lock().ok());
    let found = search(&project, &[]).success();
    assert!(!found.err.contains("meaning"), "{found:?}");
}

#[test]
fn commands_do_not_start_a_second_background_run() {
    let project = birds();
    project.run(&["search", "bird"]).success();
    let lock = File::options().write(true).open(lock(&project).unwrap()).unwrap();
    lock.try_lock().unwrap();
    for _ in 0..3 {
        let found = search(&project, &[]).success();
        assert!(found.err.contains("the rest is computed in the background"), "{found:?}");
    }
    // One that is started at the same moment finds the lock taken, and ends.
    project.run(&["index", "--background"]).success();
    assert_eq!(embedded(&project), (0, 21), "whoever holds the lock computes them");
}

#[test]
fn commands_leave_vectors_to_a_running_server() {
    let project = birds();
    let server = project.http(&[], &[]);
    let waited = project.json(&["search", "bird", "--wait"]);
    assert_eq!(waited["message"], Value::Null, "{waited}");
    project.run(&["index", "--background"]).success();
    drop(server);
}

#[test]
fn commands_that_need_no_model_load_none() {
    let project = birds();
    let loads = |args: &[&str]| {
        let mut command: Command = project.kenning(&["--log-level", "debug"]);
        let ended = finished(command.args(args));
        assert!(!ended.err.contains("panicked"), "{args:?}: {ended:?}");
        ended.err.contains("loading the model")
    };
    assert!(loads(&["search", "bird"]), "this one needs it, so the log shows it");
    for args in [
        &["index"][..],
        &["search", "bird", "--type", "keyword"],
        &["get", "birds"],
        &["bases"],
        &["deps", "birds"],
        &["status"],
        &["usage"],
        &["compose", "list"],
        &["compose", "preview", "agents-md"],
        &["compose", "build", "agents-md"],
        &["lookup", "claude-code", "hooks"],
        &["compare", "hooks"],
        &["capabilities", "--agent", "claude-code"],
        &["sources"],
        &["catalog", "check"],
        &["agents", "list"],
        &["skills", "list"],
        &["gaps"],
        &["proposals"],
        &["token", "list"],
        &["config", "show"],
        &["init"],
    ] {
        assert!(!loads(args), "{args:?}");
    }
}

/// More than one would be started if a process took the lock only after it has read its files.
#[cfg(target_os = "linux")]
#[test]
fn ten_commands_at_once_start_one_background_run() {
    let project = birds();
    project.run(&["search", "bird"]).success();
    let file = lock(&project).unwrap();
    let mut searches: Vec<_> = (0..10)
        .map(|_| {
            let mut command = project.kenning(&["search", "bird"]);
            command.env("KENNING_INDEX_BACKGROUND", "true");
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    // The lock is its standard input.
    let is_run =
        |process: &PathBuf| fs::read_link(process.join("fd/0")).is_ok_and(|input| input == file);
    eventually(DEADLINE, || {
        let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let mut runs: Vec<PathBuf> = processes.map(|one| one.path()).filter(is_run).collect();
        // One may have ended, and another begun, while the list was read.
        runs.retain(is_run);
        assert!(runs.len() <= 1, "{runs:?}");
        searches.retain_mut(|search| search.try_wait().unwrap().is_none());
        searches.is_empty().then_some(())
    });
    eventually(DEADLINE, || (embedded(&project) == (21, 21)).then_some(()));
    let lock = File::options().write(true).open(&file).unwrap();
    eventually(DEADLINE, || lock.try_lock().ok());
}
