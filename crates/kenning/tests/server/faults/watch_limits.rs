//! A system that has no file watches left: the server polls instead.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{is_possible, pelicans};
use crate::server::support::{DEADLINE, Project, call, connect, eventually, within};

/// A shell in a user namespace in which the limit is 0. Such a namespace has limits of its own, so
/// nothing else on the machine is affected.
fn limited(limit: &str, script: &str) -> Command {
    let script = format!("echo 0 >/proc/sys/user/{limit} && {script}");
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "sh", "-c", &script]);
    unshare
}

/// Makes the command a server whose log is written to a file.
fn serve(project: &Project, mut command: Command, log: &Path) -> Command {
    command.args([env!("CARGO_BIN_EXE_kenning"), "--log-level", "warn", "serve"]);
    project.isolate(&mut command);
    command.env("LOG", log).env("KENNING_SERVER_ATTACH", "false");
    command
}

/// Where user namespaces are forbidden, the limits cannot be lowered. This proves then only that a
/// server with watches finds changes; that one without a notifier polls is proved by
/// `polls_without_a_notifier_and_ends_with_the_watcher` of crates/knowledge.
#[tokio::test]
async fn without_watches_changes_are_still_found() {
    const RUN: &str = "exec \"$0\" \"$@\" 2>\"$LOG\"";
    for limit in ["max_inotify_watches", "max_inotify_instances"] {
        let project = pelicans();
        let is_limited = is_possible(&mut limited(limit, "true"));
        let mut shell = Command::new("sh");
        shell.args(["-c", RUN]);
        let shell = if is_limited { limited(limit, RUN) } else { shell };
        let log = project.outside().join("log");
        let client = connect(serve(&project, shell, &log)).await;
        project.write("heron.md", "# Herons\nA heron stands in the reeds.\n");
        let query = json!({"query": "heron reeds", "search_type": "keyword"});
        eventually(DEADLINE, async || {
            let found = call(&client, "search_knowledge", query.clone()).await;
            (found["results"][0]["id"] == "heron").then_some(())
        })
        .await;
        within(client.cancel()).await.unwrap();
        let log = std::fs::read_to_string(log).unwrap();
        let polls = log.contains("cannot watch; polling every");
        assert_eq!(polls, is_limited, "{limit}: {log}");
    }
}
