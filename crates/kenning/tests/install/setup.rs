//! `init` and `doctor`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::install::home::{Home, write};

/// Every file below a folder, with its content.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.insert(path.clone(), Vec::new());
            all.extend(tree(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

fn with_markdown() -> Home {
    let home = Home::new();
    write(&home.project().join("docs/a.md"), "# A\nalpha\n## B\nbeta\n");
    write(&home.project().join("docs/c.md"), "# C\n");
    home
}

#[test]
fn init_finds_the_markdown_and_writes_settings_once() {
    let home = with_markdown();
    insta::assert_snapshot!("init", home.run(&["init"]));
    let file = home.project().join("kenning.toml");
    let written = fs::read_to_string(&file).unwrap();
    insta::assert_snapshot!("init_settings", written);
    insta::assert_snapshot!("init_again", home.run(&["init"]));
    write(&home.project().join("kenning.toml"), "# mine\n");
    home.run(&["init"]).success();
    assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\n");
    let index = home.run(&["index", "--json"]).success();
    assert_eq!(index.json()["files"], 2);
}

#[test]
fn init_handles_several_folders_and_none() {
    let home = with_markdown();
    write(&home.project().join("README.md"), "# R\n");
    let found = home.run(&["init", "--json"]).success().json();
    assert_eq!(found["folders"], serde_json::json!({".": 1, "docs": 2}));
    assert_eq!(found["written"], true);
    let written = fs::read_to_string(home.project().join("kenning.toml")).unwrap();
    assert!(written.contains("root_path = \".\""), "{written}");
    let empty = Home::new();
    let found = empty.run(&["init", "--json"]).success().json();
    assert!(found["next"].as_str().unwrap().starts_with("write some Markdown"), "{found}");
}

#[test]
fn init_writes_the_skill_on_request() {
    let home = with_markdown();
    let found = home.run(&["init", "--skill", "--json"]).success().json();
    assert_eq!(found["skill"]["written"], true, "{found}");
    let read = kenning_registry::skills::read(&[home.project().join(".agents/skills")]).unwrap();
    let names: Vec<_> = read.skills.iter().map(|skill| (&*skill.name, &*skill.version)).collect();
    assert_eq!(names, [("kenning", "1.0.0")]);
    let index = home.run(&["index", "--json"]).success();
    assert_eq!(index.json()["files"], 2, "a skill is not knowledge");
    let file = home.project().join(".agents/skills/kenning/SKILL.md");
    write(&file, "mine");
    let again = home.run(&["init", "--skill", "--json"]).success().json();
    assert_eq!(again["skill"]["written"], false, "{again}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    home.run(&["init", "--skill", ".claude/skills"]).success();
    assert!(home.project().join(".claude/skills/kenning/SKILL.md").is_file());
}

fn check<'f>(findings: &'f Value, name: &str) -> &'f Value {
    let checks = findings["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {findings}"))
}

/// With port 0, so that the check of the port does not depend on other tests.
fn doctor(home: &Home, args: &[&str]) -> crate::install::home::Outcome {
    let mut command = home.command(&["doctor"]);
    home.outcome(command.args(args).env("KENNING_SERVER_PORT", "0"))
}

#[test]
fn doctor_changes_nothing() {
    let home = with_markdown();
    write(&home.home().join(".cursor/mcp.json"), "{");
    let before = (tree(&home.home()), tree(&home.project()));
    let findings = doctor(&home, &["--json"]).success().json();
    assert_eq!((tree(&home.home()), tree(&home.project())), before);
    assert_eq!(check(&findings, "base project")["status"], "ok");
    assert_eq!(check(&findings, "model")["status"], "ok");
    assert_eq!(check(&findings, "store")["status"], "ok");
    assert_eq!(check(&findings, "vectors")["status"], "warn");
    assert_eq!(check(&findings, "cursor (user)")["status"], "warn");
    assert_eq!(check(&findings, "http port")["status"], "ok");
    assert_eq!(findings["failed"], 0);
}

#[test]
fn doctor_reports_a_complete_setup_as_ok() {
    let home = with_markdown();
    home.run(&["index", "--embed"]).success();
    home.run(&["install", "claude-code"]).success();
    let before = tree(&home.home()).keys().cloned().collect::<Vec<_>>();
    let findings = doctor(&home, &["--json"]).success().json();
    assert_eq!(tree(&home.home()).keys().cloned().collect::<Vec<_>>(), before);
    assert_eq!(check(&findings, "vectors")["status"], "ok", "{findings}");
    assert!(check(&findings, "store")["message"].as_str().unwrap().contains("schema "));
    assert_eq!(check(&findings, "claude-code (user)")["status"], "ok");
    assert_eq!(findings["warned"], 0, "{findings}");
    let output = doctor(&home, &[]).success();
    assert!(output.stdout.ends_with("No problems found\n"), "{output}");
}

#[test]
fn doctor_fails_with_the_next_step() {
    let home = with_markdown();
    let fails = |name: &str, args: &[&str], part: &str| {
        let outcome = doctor(&home, &[args, &["--json"]].concat());
        assert_eq!(outcome.code, 1, "{outcome}");
        let findings = outcome.json();
        let check = check(&findings, name);
        assert_eq!(check["status"], "fail", "{findings}");
        assert!(check["message"].as_str().unwrap().contains(part), "{check}");
        assert!(check["next"].is_string(), "{check}");
    };
    fails("bases", &["--root", "nowhere"], "nowhere");
    fails("model", &["--model-path", "docs"], "docs");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let url = format!("postgres://me:s3cret@127.0.0.1:{port}/team");
    fails("store", &["--store", &url], "postgres://me@127.0.0.1");
    write(&home.project().join("data/kenning.db"), "not a database, whatever its name says");
    write(&home.project().join("kenning.toml"), "[index]\nstorage_path = \"data\"\n");
    fails("store", &[], "kenning.db");
    write(&home.project().join("kenning.toml"), "[server]\nprot = 1\n");
    fails("settings", &[], "there is no setting `server.prot`");
}

#[test]
fn doctor_reports_entries_with_missing_paths() {
    let home = with_markdown();
    let gone = "{\"mcpServers\": {\"k\": {\"command\": \"/gone/kenning\", \"args\": [\"serve\"]}}}";
    write(&home.project().join(".mcp.json"), gone);
    let moved = "{\"mcpServers\": {\"k\": {\"command\": \"[KENNING]\", \"args\": [\"--root\", \"/gone\", \"serve\"]}}}";
    let moved = moved.replace("[KENNING]", crate::install::home::program());
    write(&home.home().join(".cursor/mcp.json"), &moved);
    let outcome = doctor(&home, &[]);
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("`/gone/kenning`, which does not exist"), "{outcome}");
    assert!(outcome.stdout.contains("names `/gone`, which does not exist"), "{outcome}");
    assert!(outcome.stdout.contains("next: `kenning install claude-code --scope project`"));
}

#[test]
fn doctor_warns_of_a_port_in_use() {
    let home = with_markdown();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut command = home.command(&["doctor", "--json"]);
    let findings = home.outcome(command.env("KENNING_SERVER_PORT", port)).success().json();
    assert_eq!(check(&findings, "http port")["status"], "warn");
}
