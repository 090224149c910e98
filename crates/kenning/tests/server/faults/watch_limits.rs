//! A system that has no file watches left: the server polls instead.

use std::process::Command;

use serde_json::json;

use super::pelicans;
use crate::support::{DEADLINE, Project, call, connect, eventually, within};

/// A command in a user namespace in which the limit is 0. Such a namespace has limits of its own,
/// so nothing else on the machine is affected.
fn limited(limit: &str, command: &[&str]) -> Command {
    let script = format!("echo 0 >/proc/sys/user/{limit} && exec \"$0\" \"$@\"");
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "sh", "-c", &script]).args(command);
    unshare
}

fn serve(project: &Project, limit: &str) -> Command {
    let is_possible = limited(limit, &["true"]).output().is_ok_and(|tried| tried.status.success());
    if !is_possible {
        eprintln!("{limit} cannot be changed here: this tests a server that has watches");
        return project.serve(&[]);
    }
    let program = env!("CARGO_BIN_EXE_kenning");
    let mut command = limited(limit, &[program, "--log-level", "error", "serve"]);
    project.isolate(&mut command);
    command
}

#[tokio::test]
async fn without_watches_changes_are_still_found() {
    for limit in ["max_inotify_watches", "max_inotify_instances"] {
        let project = pelicans();
        let client = connect(serve(&project, limit)).await;
        project.write("heron.md", "# Herons\nA heron stands in the reeds.\n");
        let query = json!({"query": "heron reeds", "search_type": "keyword"});
        eventually(DEADLINE, async || {
            let found = call(&client, "search_knowledge", query.clone()).await;
            (found["results"][0]["id"] == "heron").then_some(())
        })
        .await;
        within(client.cancel()).await.unwrap();
    }
}
