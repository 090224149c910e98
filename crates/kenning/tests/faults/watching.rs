//! A system that has no watches left to give: files are looked at now and then.

use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::support::{Lines, Place};

/// A shell in which this many watches, or notifiers, are allowed. A namespace of users has limits of
/// its own, so nobody else is concerned.
fn limited(limit: &str, words: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    let script = format!("echo 0 >/proc/sys/user/{limit} && exec \"$0\" \"$@\"");
    command.args(["--user", "--map-root-user", "sh", "-c", &script]).args(words);
    command
}

fn serve(place: &Place, limit: &str) -> Lines {
    let program = env!("CARGO_BIN_EXE_kenning");
    let is_possible = limited(limit, &["true"]).output().is_ok_and(|tried| tried.status.success());
    if !is_possible {
        eprintln!("{limit} cannot be changed here: files are followed by the watches there are");
        return Lines::session(place.kenning(&["serve"]));
    }
    let mut command = limited(limit, &[program, "--log-level", "error", "serve"]);
    command.current_dir(place.base()).env("HOME", place.home());
    for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "KENNING_STORE_URL"] {
        command.env_remove(variable);
    }
    Lines::session(command)
}

#[test]
fn without_watches_changes_are_still_seen() {
    for limit in ["max_inotify_watches", "max_inotify_instances"] {
        let place = Place::new();
        let mut server = serve(&place, limit);
        place.write("heron.md", "# Herons\nA heron stands in the reeds.\n");
        let question = json!({"query": "heron reeds", "search_type": "keyword"});
        while server.call("search_knowledge", &question)["results"][0]["id"] != "heron" {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
