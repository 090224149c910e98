//! A store that may be read but not written.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use super::{check_knowledge, check_registry_refuses, check_store_is_not_ready, pelicans};
use crate::server::support::{Project, Server, connect, finished, within};

/// The program without root's right to write to any file.
fn unprivileged(project: &Project, args: &[&str]) -> Command {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    if !is_root {
        return project.kenning(args);
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-dac_override,-dac_read_search"]);
    command.args(["--inh-caps", "-dac_override,-dac_read_search", "--"]);
    command.arg(env!("CARGO_BIN_EXE_kenning")).args(args);
    project.isolate(&mut command);
    command
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A project whose store exists and cannot be changed.
fn read_only() -> Project {
    let project = pelicans();
    project.run(&["agents", "add", "bot", "--id", "11"]).success();
    for file in fs::read_dir(project.data()).unwrap() {
        set_mode(&file.unwrap().path(), 0o444);
    }
    set_mode(&project.data(), 0o555);
    project
}

#[test]
fn commands_that_write_name_the_file() {
    let project = read_only();
    let refused = finished(&mut unprivileged(&project, &["agents", "add", "other"]));
    set_mode(&project.data(), 0o755);
    refused.fails_with(&["kenning.lock", "Permission denied"]);
    let listed = project.json(&["agents", "list"]);
    assert_eq!(listed["agents"].as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn a_server_answers_what_needs_no_store_and_refuses_the_rest() {
    let project = read_only();
    let client = connect(unprivileged(&project, &["serve"])).await;
    check_knowledge(&client).await;
    check_registry_refuses(&client).await;
    set_mode(&project.data(), 0o755);
    within(client.cancel()).await.unwrap();
}

/// Whether the file alone is read-only, with which a store opens, or all around it, too.
#[tokio::test]
async fn a_server_with_a_read_only_store_is_not_ready() {
    let project = pelicans();
    project.run(&["agents", "add", "bot", "--id", "11"]).success();
    set_mode(&project.data().join("kenning.db"), 0o444);
    let serve = ["serve", "--http", "127.0.0.1:0"];
    let server = Server::start(&mut unprivileged(&project, &serve));
    check_store_is_not_ready(&server, "the store cannot be written").await;
    server.stop().await;
    let project = read_only();
    let server = Server::start(&mut unprivileged(&project, &serve));
    check_store_is_not_ready(&server, "the store cannot be written").await;
    server.stop().await;
    set_mode(&project.data(), 0o755);
}
