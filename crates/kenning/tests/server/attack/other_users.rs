//! What other users of the machine can reach of a store.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::server::support::{Finished, Project, Server, finished};

fn project() -> Project {
    Project::with(&[("a.md", "# A\n")])
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The modes of what is in a folder, by name.
fn modes(folder: &Path) -> BTreeMap<String, u32> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|one| (one.file_name().into_string().unwrap(), mode(&one.path()))).collect()
}

/// The program of a user who hides nothing by default.
fn without_umask(project: &Project, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_kenning")]);
    project.isolate(&mut command);
    command.args(args).env("KENNING_SERVER_ATTACH", "false");
    command
}

fn run(project: &Project, args: &[&str]) -> Finished {
    finished(&mut without_umask(project, args)).success()
}

#[tokio::test]
async fn other_users_can_reach_no_file_of_a_store() {
    let project = project();
    let mut serve = without_umask(&project, &["serve", "--http", "127.0.0.1:0"]);
    let server = Server::start(&mut serve);
    server.add_agent("bot", 11).await;
    let data = project.data();
    assert_eq!(mode(&data), 0o700);
    let found = modes(&data);
    for name in ["kenning.db", "kenning.db-wal", "kenning.db-shm", "kenning.lock"] {
        assert_eq!(found.get(name), Some(&0o600), "{name} of {found:?}");
    }
    assert_eq!(found.get("compose"), Some(&0o700), "{found:?}");
    for (command, file) in [("cache", "vectors.db"), ("store", "registry.jsonl")] {
        run(&project, &[command, "export", file]);
        assert_eq!(mode(&project.root().join(file)), 0o600, "{file}");
    }
    server.stop().await;
}

fn access_check(project: &Project) -> Value {
    let mut doctor = project.kenning(&["--json", "doctor"]);
    let findings = finished(doctor.env("KENNING_SERVER_PORT", "0"));
    let findings: Value = serde_json::from_str(&findings.out).unwrap();
    let mut checks = findings["checks"].as_array().unwrap().iter();
    let found = checks.find(|check| check["name"] == "store access").cloned();
    found.unwrap_or_else(|| panic!("{findings}"))
}

#[test]
fn a_store_that_others_could_read_is_closed_when_its_owner_opens_it() {
    let project = project();
    project.run(&["agents", "add", "bot"]).success();
    let data = project.data();
    set_mode(&data, 0o755);
    for name in modes(&data).keys() {
        set_mode(&data.join(name), 0o644);
    }
    let before = modes(&data);
    let check = access_check(&project);
    assert_eq!(check["status"], "warn", "{check}");
    assert!(check["message"].as_str().unwrap().contains("kenning.db (0644)"), "{check}");
    assert!(check["next"].as_str().unwrap().contains("chmod go-rwx"), "{check}");
    assert_eq!((mode(&data), modes(&data)), (0o755, before), "`doctor` changes nothing");
    project.run(&["agents", "list"]).success();
    assert_eq!(mode(&data), 0o700);
    assert!(modes(&data).values().all(|mode| *mode == 0o600), "{:?}", modes(&data));
    assert_eq!(access_check(&project)["status"], "ok");
}

#[test]
fn a_folder_with_other_files_keeps_its_mode_and_doctor_says_so() {
    let project = project();
    let shared = project.outside().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::write(shared.join("other.txt"), "of somebody").unwrap();
    set_mode(&shared, 0o755);
    set_mode(&shared.join("other.txt"), 0o644);
    fs::create_dir_all(project.home().join(".config/kenning")).unwrap();
    let settings = format!("[index]\nstorage_path = {shared:?}\n");
    fs::write(project.home().join(".config/kenning/kenning.toml"), settings).unwrap();
    project.run(&["agents", "add", "bot"]).success();
    assert_eq!(mode(&shared), 0o755);
    let mut found = modes(&shared);
    assert_eq!(found.remove("other.txt"), Some(0o644));
    assert!(found.values().all(|mode| *mode == 0o600), "{found:?}");
    let check = access_check(&project);
    assert_eq!(check["status"], "ok", "{check}");
    assert!(check["message"].as_str().unwrap().contains("it holds other files"), "{check}");
}
