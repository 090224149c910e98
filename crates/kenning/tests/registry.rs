//! The commands for the team's agents and skills.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

struct Team(TempDir);

impl Team {
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
        command.args(args).current_dir(self.0.path()).env("HOME", self.0.path());
        command.env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
        let Output { status, stdout, stderr } = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }

    fn done(&self, args: &[&str]) -> String {
        let (code, out, err) = self.run(args);
        assert_eq!(code, 0, "{args:?}: {err}");
        out
    }
}

#[test]
fn agents_and_skills_are_added_listed_and_removed() {
    let team = Team(TempDir::new().unwrap());
    assert_eq!(team.done(&["agents", "add", "deploy-bot", "--id", "11"]), "11  deploy-bot\n");
    let metadata = r#"{"description": "Deploy services to a Kubernetes cluster"}"#;
    let register = ["skills", "register", "--agent", "deploy-bot", "k8s-rollout", "9.0.0"];
    team.done(&[&register[..], &["--metadata", metadata]].concat());
    team.done(&["skills", "register", "--agent", "11", "tdd-workflow", "2.0.1"]);
    let listed = team.done(&["skills", "list", "--agent", "11"]);
    assert_eq!(
        listed,
        "Agent 11 Capabilities:\nTotal: 2 | Active: 2\n\n  ✓ k8s-rollout v9.0.0\n  \
         ✓ tdd-workflow v2.0.1\n"
    );
    let found = team.done(&["skills", "list", "--query", "who can deploy to kubernetes?"]);
    assert!(found.starts_with("k8s-rollout v9.0.0  deploy-bot\n"), "{found}");
    team.done(&["skills", "deactivate", "--agent", "11", "tdd-workflow"]);
    let json = team.done(&["--json", "agents", "list"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["agents"][0]["total_count"], &json["agents"][0]["active_count"]),
        (&2.into(), &1.into())
    );
    team.done(&["agents", "rename", "11", "ship-bot"]);
    assert!(team.done(&["agents", "remove", "ship-bot"]).contains('2'));
    assert_eq!(team.done(&["agents", "list"]), "");
}

#[test]
fn invalid_input_is_reported() {
    let team = Team(TempDir::new().unwrap());
    team.done(&["agents", "add", "bot", "--id", "1"]);
    let (code, _, err) = team.run(&["skills", "register", "--agent", "1", "x", "1.2"]);
    assert_eq!(code, 1);
    assert!(err.contains("Invalid semantic version format: '1.2'"), "{err}");
    let (code, _, err) = team.run(&["skills", "list", "--agent", "nobody"]);
    assert!(code == 1 && err.contains("nobody"), "{err}");
    let (code, _, err) =
        team.run(&["skills", "register", "--agent", "1", "x", "1.2.0", "--metadata", "[]"]);
    assert!(code == 2 && err.contains("--metadata"), "{err}");
    let (code, _, err) = team.run(&["--store", "mysql://u:geheim@h/d", "agents", "list"]);
    assert!(code == 2 && err.contains("mysql") && !err.contains("geheim"), "{err}");
}

#[test]
fn skills_are_synced_from_their_folders() {
    let team = Team(TempDir::new().unwrap());
    team.done(&["agents", "add", "bot", "--id", "1"]);
    let (code, _, err) = team.run(&["skills", "sync", "--agent", "bot"]);
    assert!(code == 1 && err.contains("none of the usual folders"), "{err}");
    let folder = team.0.path().join(".claude/skills/pdf");
    fs::create_dir_all(&folder).unwrap();
    let skill =
        "---\nname: pdf\ndescription: Fill in forms\nmetadata:\n  version: 1.4.0\n---\n# PDF\n";
    fs::write(folder.join("SKILL.md"), skill).unwrap();
    let planned = team.done(&["skills", "sync", "--agent", "bot", "--dry-run"]);
    assert!(planned.starts_with("+ pdf v1.4.0\n"), "{planned}");
    assert!(team.done(&["skills", "list", "--agent", "1"]).contains("Total: 0"));
    team.done(&["skills", "sync", "--agent", "bot"]);
    assert!(team.done(&["skills", "list", "--agent", "1"]).contains("✓ pdf v1.4.0"));
}

#[test]
fn a_project_cannot_choose_the_store_and_passwords_are_not_printed() {
    let team = Team(TempDir::new().unwrap());
    fs::write(team.0.path().join("kenning.toml"), "[store]\nurl = \"postgres://a:geheim@b/c\"\n")
        .unwrap();
    let (code, _, err) = team.run(&["agents", "list"]);
    assert!(code == 2 && err.contains("project") && !err.contains("geheim"), "{err}");
    let (_, out, err) = team.run(&["config", "show", "--origin"]);
    assert!(
        out.contains("store.url") && !out.contains("geheim") && !err.contains("geheim"),
        "{out}"
    );
}

#[test]
fn a_registry_moves_to_another_kind_of_database_and_back() {
    let (team, other) = (Team(TempDir::new().unwrap()), Team(TempDir::new().unwrap()));
    team.done(&["agents", "add", "deploy-bot", "--id", "11"]);
    team.done(&["skills", "register", "--agent", "11", "k8s-rollout", "9.0.0"]);
    let (file, back) = (team.0.path().join("out.jsonl"), team.0.path().join("back.jsonl"));
    let (file, back) = (file.to_str().unwrap(), back.to_str().unwrap());
    let exported = team.done(&["store", "export", file]);
    assert!(exported.starts_with("exported 1 agents and 1 skills"), "{exported}");
    let postgres = kenning_testkit::Postgres::shared().database();
    let imported = other.done(&["--store", &postgres, "store", "import", file]);
    assert!(imported.starts_with("imported 1 agents and 1 skills"), "{imported}");
    assert!(other.done(&["--store", &postgres, "skills", "list"]).contains("k8s-rollout v9.0.0"));
    other.done(&["--store", &postgres, "store", "export", back]);
    assert_eq!(fs::read_to_string(file).unwrap(), fs::read_to_string(back).unwrap());
    let (code, _, err) = team.run(&["store", "export", file]);
    assert!(code == 2 && err.contains("name a new file"), "{err}");
    fs::write(back, "{}").unwrap();
    let (code, _, err) = team.run(&["store", "import", back]);
    assert!(code == 1 && err.contains("not an export"), "{err}");
}
