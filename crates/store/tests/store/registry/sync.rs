//! Synchronization with skill folders.

use std::fs;
use std::path::{Path, PathBuf};

use kenning_registry::sync::{Mode, SyncResponse};
use kenning_registry::{places, skills};
use serde_json::Value;
use tempfile::TempDir;

use super::fixture::{all_of, names, register_one};
use crate::fixture::Fixture;

fn write(root: &Path, place: &str, name: &str, text: &str) -> PathBuf {
    let folder = root.join(place).join(name);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), text).unwrap();
    folder
}

fn skill(name: &str, version: &str, description: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: {description}\nmetadata:\n  version: {version}\n---\n# x\n"
    )
}

fn brief(answer: &SyncResponse) -> [Vec<&str>; 4] {
    [&answer.added, &answer.updated, &answer.unchanged, &answer.deactivated]
        .map(|list| list.iter().map(|one| one.skill_name.as_str()).collect())
}

pub(crate) fn registers_updates_and_deactivates_folders(fixture: &Fixture) {
    let registry = fixture.registry();
    let (project, home) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (root, own) = (project.path(), home.path());
    write(root, ".claude/skills", "tdd", &skill("tdd", "1.2", "Tests first"));
    write(root, ".github/skills", "review", &skill("review", "2.0.0", "Reads code"));
    let docker = write(own, ".claude/skills", "docker", "---\nname: docker\n---\n");
    write(own, ".codex/skills", "tdd", &skill("tdd", "9.9.9", "Of less weight"));
    write(own, ".config/opencode/skill", "nested/deep", &skill("deep", "0.1.0", "Deep"));
    write(own, ".gemini/skills", "broken", "no front matter");
    register_one(&registry, "by-hand", "1.0.0");
    register_one(&registry, "review", "1.0.0");
    let sync = |mode| {
        let found = skills::read(&places::usual(root, Some(own))).unwrap();
        registry.sync(11, &found, mode).unwrap()
    };

    let before = all_of(&registry, 11);
    let planned = sync(Mode::DryRun);
    assert_eq!(brief(&planned), [vec!["deep", "docker", "tdd"], vec!["review"], vec![], vec![]]);
    assert_eq!(planned.problems.len(), 2, "one shadowed, one broken: {:?}", planned.problems);
    assert_eq!(all_of(&registry, 11), before, "a dry run changes nothing");

    let done = sync(Mode::Apply);
    assert_eq!(brief(&done), brief(&planned));
    assert_eq!(done.updated[0].previous_version.as_deref(), Some("1.0.0"));
    assert_eq!(done.message, "Synced agent 11: 3 added, 1 updated, 0 unchanged, 0 deactivated");
    let got = all_of(&registry, 11);
    let versions = [
        ("by-hand", "1.0.0"),
        ("deep", "0.1.0"),
        ("docker", "0.0.0"),
        ("review", "2.0.0"),
        ("tdd", "1.2.0"),
    ];
    assert_eq!(names(&got), versions);
    assert_eq!(got.capabilities[4].metadata.as_ref().unwrap()["description"], "Tests first");

    let again = sync(Mode::Apply);
    assert_eq!(brief(&again)[2], ["deep", "docker", "review", "tdd"]);
    assert_eq!(all_of(&registry, 11).revision, got.revision, "nothing to do is nothing done");

    fs::remove_dir_all(docker).unwrap();
    write(root, ".claude/skills", "tdd", &skill("tdd", "1.2.0", "Tests first, always"));
    let after = sync(Mode::Apply);
    assert_eq!(brief(&after), [vec![], vec!["tdd"], vec!["deep", "review"], vec!["docker"]]);
    let got = all_of(&registry, 11);
    assert_eq!((got.total_count, got.active_count), (5, 4), "deactivated, not deleted");
    assert!(got.capabilities[0].active, "what was registered by hand stays");
    assert_eq!(got.capabilities[0].metadata, None::<serde_json::Map<String, Value>>);
    assert!(skills::read(&[root.join("nowhere")]).is_err());
}
