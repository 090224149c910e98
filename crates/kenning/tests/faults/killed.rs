//! Killed at any moment, without a chance to put anything in order. What was acknowledged is there,
//! nothing is there in halves, and the next start works.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Place, Web};

/// Kills it once `reached` says so. `false` if it had ended by then.
fn kill_when(mut child: Child, reached: impl Fn() -> bool) -> bool {
    loop {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        if reached() {
            child.kill().unwrap();
            child.wait().unwrap();
            return true;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn aviary() -> Place {
    let place = Place::new();
    for n in 0..60 {
        let sections =
            (0..5).map(|part| format!("## Part {part} of {n}\nAbout bird {n}-{part}.\n"));
        place.write(
            &format!("bird{n}.md"),
            &format!("# Bird {n}\n{}", sections.collect::<String>()),
        );
    }
    place
}

/// Vectors are remembered in portions; the log of the store shows how far it has come.
#[test]
fn while_vectors_are_computed() {
    let place = aviary();
    let log = place.data().join("kenning.db-wal");
    let size = || fs::metadata(&log).map_or(0, |log| log.len());
    let mut interrupted = 0;
    for step in [1, 120_000, 240_000, 360_000] {
        let mut index = place.kenning(&["index", "--embed"]);
        let child = index.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        interrupted += usize::from(kill_when(child, || size() >= step));
    }
    assert!(interrupted > 0, "no run was long enough to be interrupted");
    let question = ["search", "--type", "semantic", "a bird that fishes"];
    let after = place.json(&question);
    fs::remove_dir_all(place.data()).unwrap();
    assert_eq!(after, place.json(&question), "as if nothing had happened");
}

fn batch(number: u64) -> Value {
    let events = (0..10).map(|n: u64| {
        json!({"callId": crate::clock::call_id(number * 10 + n), "toolName": "list", "arguments": {},
            "isError": false, "timestamp": crate::clock::now(), "durationMs": 1})
    });
    json!({"projectId": "shop", "identity": {}, "events": events.collect::<Vec<_>>()})
}

fn calls(place: &Place) -> u64 {
    let report = place.json(&["gaps", "report", "--project", "shop", "--since", "1d"]);
    report["calls"].as_u64().unwrap()
}

/// A client goes on sending; the server is killed in between. What was not acknowledged is sent
/// again to the next one, as clients do, and counts once.
#[test]
fn while_events_are_taken_in() {
    let place = Place::new();
    let mut number = 0;
    for round in 0..4_u64 {
        let server = Web::start(&place);
        let address = server.address();
        let sender = std::thread::spawn(move || {
            let mut acknowledged = number;
            loop {
                let sent = crate::support::ask(&address, "POST", "/ingest", &batch(acknowledged));
                let Some((200, _)) = sent else { return acknowledged };
                acknowledged += 1;
            }
        });
        std::thread::sleep(Duration::from_millis(150 + 37 * round));
        server.kill();
        number = sender.join().unwrap();
        let kept = calls(&place);
        assert!(kept == number * 10 || kept == number * 10 + 10, "{kept} of {number} batches");
    }
    let server = Web::start(&place);
    for again in 0..=number {
        assert_eq!(server.ask("POST", "/ingest", &batch(again)).unwrap().0, 200);
    }
    drop(server);
    assert_eq!(calls(&place), (number + 1) * 10, "what came twice counts once");
}

const SKILLS: usize = 100;

fn skills(version: u64) -> Value {
    let skills = (0..SKILLS)
        .map(|n| json!({"skill_name": format!("skill-{n}"), "version": format!("{version}.0.0")}));
    json!({"agent_id": 11, "capabilities": skills.collect::<Vec<_>>()})
}

#[test]
fn while_skills_are_registered() {
    let place = Place::new();
    place.run(&["agents", "add", "bot", "--id", "11"]).good();
    let mut version = 1;
    for round in 0..4_u64 {
        let server = Web::start(&place);
        let address = server.address();
        let writer = std::thread::spawn(move || {
            let path = "/api/v1/register_agent_capabilities";
            loop {
                let sent = crate::support::ask(&address, "POST", path, &skills(version));
                let Some((200, _)) = sent else { return version };
                version += 1;
            }
        });
        std::thread::sleep(Duration::from_millis(150 + 41 * round));
        server.kill();
        version = writer.join().unwrap();
        let listed = place.json(&["skills", "list", "--agent", "11"]);
        let listed = listed["capabilities"].as_array().unwrap();
        if version == 1 && listed.is_empty() {
            continue;
        }
        assert_eq!(listed.len(), SKILLS, "all of a registration or nothing");
        let kept = listed[0]["version"].as_str().unwrap();
        assert!(listed.iter().all(|skill| skill["version"] == kept), "{kept}");
        // The one that was not acknowledged may have been made.
        let expected = [format!("{}.0.0", version - 1), format!("{version}.0.0")];
        assert!(expected.contains(&kept.to_owned()), "{kept}, not {expected:?}");
        version = kept.split('.').next().unwrap().parse::<u64>().unwrap() + 1;
    }
}

/// Every file of it is there whole or not at all, in every round, and a last build works.
#[test]
fn while_files_are_composed() {
    let place = aviary();
    place.run(&["index", "--embed"]).good();
    let made = place.base().join("AGENTS.md");
    place.run(&["compose", "build", "agents-md"]).good();
    let whole = fs::read_to_string(&made).unwrap();
    fs::remove_file(&made).unwrap();
    for round in 0..6_u64 {
        let mut build = place.kenning(&["compose", "build", "agents-md", "--force"]);
        let child = build.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // By turns as soon as the file appears, and some time after the start.
        let began = std::time::Instant::now();
        let pause = Duration::from_millis(90 * round);
        kill_when(child, || match round % 2 {
            0 => made.exists(),
            _ => began.elapsed() >= pause,
        });
        if let Ok(text) = fs::read_to_string(&made) {
            assert_eq!(text, whole, "half a file was seen");
            fs::remove_file(&made).unwrap();
        }
        let names = fs::read_dir(place.base()).unwrap().map(|entry| entry.unwrap().file_name());
        for name in names.map(|name| name.to_string_lossy().into_owned()) {
            let is_markdown = Path::new(&name).extension().is_some_and(|ending| ending == "md");
            assert!(name.starts_with('.') || is_markdown, "{name} was left behind");
        }
    }
    place.run(&["compose", "build", "agents-md", "--force"]).good();
    assert_eq!(fs::read_to_string(&made).unwrap(), whole);
}
