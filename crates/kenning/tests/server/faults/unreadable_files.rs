//! Files that are no files, and a knowledge folder that is gone.

use std::fs;
use std::process::Command;

use reqwest::StatusCode;

use super::pelicans;
use crate::server::support::{DEADLINE, Project, Server, eventually};

/// A server that logs warnings, on the folder `docs` of the project.
fn server(project: &Project) -> Server {
    let mut command = project.kenning(&["--log-level", "warn", "serve", "--http", "127.0.0.1:0"]);
    command.args(["--root", "docs"]).env("KENNING_SERVER_ATTACH", "false");
    Server::start(&mut command)
}

async fn found(server: &Server, word: &str) -> String {
    let path = format!("/api/v1/search_knowledge?search_type=keyword&query={word}");
    server.get(&path).await.text
}

#[tokio::test]
async fn a_fifo_stops_neither_the_index_nor_a_server() {
    let project = pelicans();
    project.write("docs/heron.md", "# Herons\nA heron stands in the reeds.\n");
    let fifo = |name: &str| {
        let path = project.root().join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    };
    fifo("docs/x.md");
    let index = project.run(&["index", "--check"]);
    assert_eq!(index.code, Some(1), "{index:?}");
    assert!(index.out.contains("docs/x.md: is a FIFO, not a regular file"), "{index:?}");
    let server = server(&project);
    // While the server runs, and when it is removed again.
    let other = fifo("docs/y.md");
    project.write("docs/stork.md", "# Storks\nA stork nests on a chimney.\n");
    eventually(DEADLINE, async || found(&server, "chimney").await.contains("Storks").then_some(()))
        .await;
    fs::remove_file(other).unwrap();
    project.write("docs/stork.md", "# Storks\nA stork winters in Africa.\n");
    eventually(DEADLINE, async || found(&server, "winters").await.contains("Storks").then_some(()))
        .await;
    server.stop().await;
}

#[tokio::test]
async fn a_knowledge_folder_that_vanishes_is_reported_until_it_is_back() {
    let project = pelicans();
    project.write("docs/heron.md", "# Herons\nA heron stands in the reeds.\n");
    let server = server(&project);
    fs::remove_dir_all(project.root().join("docs")).unwrap();
    let answer = eventually(DEADLINE, async || {
        let answer = server.get("/readyz").await;
        (answer.status == StatusCode::SERVICE_UNAVAILABLE).then_some(answer)
    })
    .await;
    assert!(answer.text.contains(r#""waiting_for":["bases"]"#), "{}", answer.text);
    let answer = found(&server, "heron").await;
    assert!(answer.contains("is gone; nothing in it is found until it is back"), "{answer}");
    let doctor = project.run(&["doctor", "--root", "docs"]);
    assert!(doctor.code == Some(1) && doctor.out.contains("cannot be read"), "{doctor:?}");
    project.write("docs/heron.md", "# Herons\nA heron is back.\n");
    eventually(DEADLINE, async || {
        (server.get("/readyz").await.status == StatusCode::OK).then_some(())
    })
    .await;
    assert!(found(&server, "back").await.contains("Herons"));
    let log = server.stop().await;
    let warned = log.lines().filter(|line| line.contains("WARN") && line.contains("is gone"));
    assert_eq!(warned.count(), 1, "{log}");
}

#[test]
fn a_line_break_in_a_file_name_does_not_break_a_line_of_the_report() {
    let project = pelicans();
    fs::write(project.root().join("one\ntwo.md"), "# Two\n").unwrap();
    let index = project.run(&["index"]).success();
    assert!(index.out.lines().any(|line| line.starts_with("one\\ntwo.md: ")), "{index:?}");
    assert!(!index.out.lines().any(|line| line.starts_with("two.md")), "{index:?}");
}
