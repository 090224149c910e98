//! A store that may be read but not written.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::{Lines, Place, ended, knows_pelicans, pelicans};

/// The same command without the right of root to write whatever it likes.
fn like_anybody(command: &Command) -> Command {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| {
        use std::os::unix::fs::MetadataExt;
        own.uid() == 0
    });
    if !is_root {
        let mut same = Command::new(command.get_program());
        same.args(command.get_args());
        return like(same, command);
    }
    let mut humble = Command::new("setpriv");
    humble.args(["--bounding-set", "-dac_override,-dac_read_search"]);
    humble.args(["--inh-caps", "-dac_override,-dac_read_search", "--"]);
    humble.arg(command.get_program()).args(command.get_args());
    like(humble, command)
}

fn like(mut command: Command, other: &Command) -> Command {
    command.current_dir(other.get_current_dir().unwrap());
    for (name, value) in other.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A place whose store is there, and not to be changed.
fn closed() -> Place {
    let place = Place::new();
    place.run(&["agents", "add", "bot", "--id", "11"]).good();
    for file in fs::read_dir(place.data()).unwrap() {
        set_mode(&file.unwrap().path(), 0o444);
    }
    set_mode(&place.data(), 0o555);
    place
}

#[test]
fn what_needs_it_says_which_file_it_is() {
    let place = closed();
    let add = place.kenning(&["agents", "add", "other"]);
    let refused = ended(&mut like_anybody(&add));
    set_mode(&place.data(), 0o755);
    refused.says(&["kenning.lock", "Permission denied"]);
    let listed = place.json(&["agents", "list"]);
    assert_eq!(listed["agents"].as_array().unwrap().len(), 1, "{listed}");
}

#[test]
fn a_server_answers_what_needs_none_and_refuses_the_rest() {
    let place = closed();
    let serve = place.kenning(&["serve"]);
    let mut server = Lines::session(like_anybody(&serve));
    knows_pelicans(&server.call("search_knowledge", &pelicans()));
    let refused = server.call("get_agent_capabilities", &json!({"agent_id": 11}));
    set_mode(&place.data(), 0o755);
    assert_eq!(refused["error"], "DATABASE_ERROR", "{refused}");
}
