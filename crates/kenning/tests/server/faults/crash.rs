//! Killed at any moment, without a chance to clean up. What was acknowledged is stored, nothing is
//! stored in part, and the next start works.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use kenning_testkit::DEADLINE;
use serde_json::{Value, json};

use super::pelicans;
use crate::server::support::{Answer, Project, Server, batch, event, within};

/// Kills the process once `reached` returns true. Returns `false` if it had ended by then.
fn kill_when(mut child: Child, reached: impl Fn() -> bool) -> bool {
    let started = Instant::now();
    loop {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        let is_late = started.elapsed() > DEADLINE;
        if reached() || is_late {
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(!is_late, "this was not reached within {DEADLINE:?}");
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn aviary() -> Project {
    let project = pelicans();
    for n in 0..60 {
        let sections =
            (0..5).map(|part| format!("## Part {part} of {n}\nAbout bird {n}-{part}.\n"));
        project.write(
            &format!("bird{n}.md"),
            &format!("# Bird {n}\n{}", sections.collect::<String>()),
        );
    }
    project
}

/// Vectors are stored in portions; the size of the write-ahead log shows the progress.
#[test]
fn while_vectors_are_computed() {
    let project = aviary();
    let log = project.data().join("kenning.db-wal");
    let size = || fs::metadata(&log).map_or(0, |log| log.len());
    let mut interrupted = 0;
    for step in [1, 120_000, 240_000, 360_000] {
        let mut index = project.kenning(&["index", "--embed"]);
        let child = index.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        interrupted += usize::from(kill_when(child, || size() >= step));
    }
    assert!(interrupted > 0, "no run was long enough to be interrupted");
    let question = ["search", "--wait", "--type", "semantic", "a bird that fishes"];
    let after = project.json(&question);
    fs::remove_dir_all(project.data()).unwrap();
    assert_eq!(after, project.json(&question), "the same answer as without a crash");
}

/// Posts `body(n)` for one `n` after the other. Kills the server some time after the first is
/// acknowledged, and returns the first `n` that was not.
async fn post_until_killed(
    server: Server,
    path: &str,
    first: u64,
    body: impl Fn(u64) -> Value + Send + 'static,
    life: Duration,
) -> u64 {
    let (http, url) = (server.http.clone(), server.url(path));
    let (acknowledge, mut acknowledged) = tokio::sync::mpsc::unbounded_channel();
    let client = tokio::spawn(async move {
        for n in first.. {
            let request = http.post(&url).header("Content-Type", "application/json");
            let answer = Answer::try_to(request.body(body(n).to_string())).await;
            if !answer.is_ok_and(|answer| answer.status == 200) {
                return n;
            }
            let _ = acknowledge.send(());
        }
        unreachable!("the server is killed before numbers run out")
    });
    within(acknowledged.recv()).await.expect("a server that runs acknowledges the first");
    tokio::time::sleep(life).await;
    server.kill().await;
    within(client).await.unwrap()
}

fn ten_events(number: u64) -> Value {
    let events = (0..10).map(|n| event(number * 10 + n, "list", &json!({})));
    batch("shop", &events.collect::<Vec<_>>())
}

fn stored_calls(project: &Project) -> u64 {
    let report = project.json(&["gaps", "report", "--project", "shop", "--since", "1d"]);
    report["calls"].as_u64().unwrap()
}

/// As clients do, the test sends what was not acknowledged again to the next server.
#[tokio::test]
async fn while_events_are_ingested() {
    let project = pelicans();
    let mut number = 0;
    for round in 0..4 {
        let life = Duration::from_millis(150 + 37 * round);
        let server = project.http(&[], &[]);
        number = post_until_killed(server, "/ingest", number, ten_events, life).await;
        let stored = stored_calls(&project);
        assert!(
            stored == number * 10 || stored == number * 10 + 10,
            "{stored} of {number} batches"
        );
    }
    let server = project.http(&[], &[]);
    for again in 0..=number {
        assert_eq!(server.post("/ingest", &ten_events(again)).await.status, 200);
    }
    drop(server);
    assert_eq!(stored_calls(&project), (number + 1) * 10, "what came twice counts once");
}

const SKILLS: usize = 100;

fn skills(version: u64) -> Value {
    let skills = (0..SKILLS)
        .map(|n| json!({"skill_name": format!("skill-{n}"), "version": format!("{version}.0.0")}));
    json!({"agent_id": 11, "capabilities": skills.collect::<Vec<_>>()})
}

#[tokio::test]
async fn while_skills_are_registered() {
    const REGISTER: &str = "/api/v1/register_agent_capabilities";
    let project = pelicans();
    project.run(&["agents", "add", "bot", "--id", "11"]).success();
    let mut version = 1;
    for round in 0..4 {
        let life = Duration::from_millis(150 + 41 * round);
        let server = project.http(&[], &[]);
        version = post_until_killed(server, REGISTER, version, skills, life).await;
        let listed = project.json(&["skills", "list", "--agent", "11"]);
        let listed = listed["capabilities"].as_array().unwrap();
        assert_eq!(listed.len(), SKILLS, "all of a registration or nothing");
        let stored = listed[0]["version"].as_str().unwrap();
        assert!(listed.iter().all(|skill| skill["version"] == stored), "{stored}");
        // The registration that was not acknowledged may have been stored.
        let expected = [format!("{}.0.0", version - 1), format!("{version}.0.0")];
        assert!(expected.contains(&stored.to_owned()), "{stored}, not {expected:?}");
        version = stored.split('.').next().unwrap().parse::<u64>().unwrap() + 1;
    }
}

/// In every round the file is complete or missing, and a last build works.
#[test]
fn while_files_are_composed() {
    let project = aviary();
    project.run(&["index", "--embed"]).success();
    let built = project.root().join("AGENTS.md");
    project.run(&["compose", "build", "agents-md"]).success();
    let whole = fs::read_to_string(&built).unwrap();
    fs::remove_file(&built).unwrap();
    let mut interrupted = 0;
    for round in 0..6_u64 {
        let mut build = project.kenning(&["compose", "build", "agents-md", "--force"]);
        let child = build.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // In turns as soon as the file appears, and some time after the start.
        let began = Instant::now();
        let pause = Duration::from_millis(90 * round);
        interrupted += usize::from(kill_when(child, || match round % 2 {
            0 => built.exists(),
            _ => began.elapsed() >= pause,
        }));
        if let Ok(text) = fs::read_to_string(&built) {
            assert_eq!(text, whole, "the file is incomplete");
            fs::remove_file(&built).unwrap();
        }
        let names = fs::read_dir(project.root()).unwrap().map(|entry| entry.unwrap().file_name());
        for name in names.map(|name| name.to_string_lossy().into_owned()) {
            let is_markdown = Path::new(&name).extension().is_some_and(|ending| ending == "md");
            assert!(name.starts_with('.') || is_markdown, "{name} was left behind");
        }
    }
    assert!(interrupted > 0, "no build was long enough to be interrupted");
    project.run(&["compose", "build", "agents-md", "--force"]).success();
    assert_eq!(fs::read_to_string(&built).unwrap(), whole);
}
