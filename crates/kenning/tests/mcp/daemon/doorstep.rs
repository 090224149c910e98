//! Who is let in, and who rather serves by itself.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use serde_json::{Value, json};

use super::fixture::{Fixture, Stranger, signal};
use crate::support::{Server, call};

fn small() -> Fixture {
    Fixture::with_files(&[("a.md", "# A\n")])
}

#[tokio::test]
async fn a_server_with_other_settings_is_not_used() {
    let fixture = small();
    let mut command = fixture.command(&["serve", "--http", "127.0.0.1:0"]);
    command.env("KENNING_DISCOVERY_MIN_RELEVANCE_THRESHOLD", "0.5");
    let _server = Server::start(&mut command);
    assert!(fixture.said(&[]).contains("its settings differ in discovery"));
    let found = fixture.doctor();
    assert_eq!(found["status"], "warn");
    assert!(found["message"].as_str().unwrap().contains("differ in discovery"), "{found}");
    let client = fixture.client(&[]).await.client;
    assert_eq!(fixture.connections(), 0);
    let got = call(&client, "retrieve_knowledge", json!({"ids": ["a"]})).await;
    assert_eq!(got["nodes"][0]["id"], "a");
    client.cancel().await.unwrap();
}

#[test]
fn nobody_gets_more_from_a_server_than_it_offers() {
    let fixture = small();
    let _server = fixture.server(&["--toolsets", "knowledge", "--read-only"]);
    assert!(fixture.said(&[]).contains("it does not offer the toolset catalog, registry, gaps"));
    assert!(fixture.said(&["--toolsets", "knowledge"]).contains("it is read-only"));
    let reading = fixture.said(&["--toolsets", "knowledge", "--read-only"]);
    assert!(reading.contains("served by process"), "{reading}");
    let unwatched = ["--toolsets", "knowledge", "--read-only", "--no-watch"];
    assert!(fixture.said(&unwatched).contains("its settings differ in watch"));
}

#[test]
fn whoever_does_not_want_to_share_does_not() {
    let fixture = small();
    let alone = |words: &[&str]| {
        let mut command = fixture.command(words);
        command.env("KENNING_SERVER_ATTACH", "false");
        command
    };
    let private = Server::start(&mut alone(&["serve", "--http", "127.0.0.1:0"]));
    assert_eq!(fixture.socket(), None);
    drop(private);
    let _server = fixture.server(&[]);
    let served = alone(&["serve"]).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(served.stderr).unwrap();
    assert!(served.status.success() && !said.contains("served by process"), "{said}");
}

/// What a client says when it knocks.
fn greeting(fixture: &Fixture) -> Value {
    let server = fixture.server(&[]);
    let socket = fixture.socket().unwrap();
    drop(server);
    std::fs::remove_file(&socket).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    let mut child = fixture.raw(&[]);
    let (mut stream, _) = listener.accept().unwrap();
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    writeln!(stream, "{}", json!({"refused": "it is a test"})).unwrap();
    drop(child.stdin.take());
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success() && said.contains("already: it is a test"), "{said}");
    serde_json::from_str(&line).unwrap()
}

#[test]
fn strangers_are_refused_and_the_silent_are_shown_out() {
    let fixture = small();
    let mut hello = greeting(&fixture);
    let _server = fixture.server(&[]);
    let socket = fixture.socket().unwrap();
    let silent = Stranger::at(&socket);
    let answer = |line: &[u8]| {
        let mut stranger = Stranger::at(&socket);
        stranger.says(line);
        stranger.leaves()
    };
    assert!(answer(b"nonsense").contains("does not understand"));
    assert!(answer(b"{\"kenning\": 1}").contains("does not understand"));
    let told: Value = serde_json::from_str(&answer(hello.to_string().as_bytes())).unwrap();
    assert_eq!(told["accepted"]["clients"], 0, "and it ends with its client");
    let version = std::mem::replace(&mut hello["version"], json!("0.0.0"));
    let refused = answer(hello.to_string().as_bytes());
    assert!(refused.contains(&format!("it is Kenning {}, not 0.0.0", version.as_str().unwrap())));
    hello["version"] = version;
    let endless = answer(&vec![b' '; 70_000]);
    assert!(!endless.contains("accepted"), "{endless}");

    let hello = hello.to_string();
    let mut guests = Vec::new();
    for n in 0..100 {
        let mut guest = Stranger::at(&socket);
        guest.says(hello.as_bytes());
        assert!(guest.hears().contains("accepted"), "{n}");
        guests.push(guest);
    }
    assert!(answer(hello.as_bytes()).contains("it serves 100 clients already"));
    assert_eq!(silent.hears_the_end(), "");
}

#[test]
fn a_server_that_lives_keeps_its_socket_and_a_dead_one_does_not() {
    let fixture = small();
    let mut first = fixture.server(&[]);
    let mut command = fixture.command(&["serve", "--http", "127.0.0.1:0"]);
    let mut second = command.stderr(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(second.stderr.take().unwrap()).lines().map_while(Result::ok);
    let said: Vec<String> = said.take_while(|line| !line.starts_with("MCP")).collect();
    let warned = said.iter().filter(|line| line.contains("another server of the same"));
    assert_eq!(warned.count(), 1, "{said:?}");
    let served_by = |pid: u32| {
        let said = fixture.said(&[]);
        assert!(said.contains(&format!("served by process {pid},")), "{said}");
    };
    served_by(first.child.id());
    signal(second.id(), "-TERM");
    second.wait().unwrap();
    served_by(first.child.id());
    signal(first.child.id(), "-KILL");
    first.child.wait().unwrap();
    assert!(fixture.socket().is_some(), "it could not clean up");
    assert!(!fixture.said(&[]).contains("WARN"), "which is nobody's concern");
    let third = fixture.server(&[]);
    served_by(third.child.id());
}

#[test]
fn a_socket_that_others_could_reach_is_not_used() {
    let fixture = small();
    let server = fixture.server(&[]);
    let mode = |folder: &std::path::Path| folder.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&fixture.folder()), 0o700);
    std::fs::set_permissions(fixture.folder(), PermissionsExt::from_mode(0o755)).unwrap();
    assert!(fixture.said(&[]).contains("is not a folder of this user alone"));
    drop(server);
    std::fs::remove_dir_all(fixture.folder()).unwrap();
    std::fs::DirBuilder::new().mode(0o770).create(fixture.folder()).unwrap();
    std::fs::set_permissions(fixture.folder(), PermissionsExt::from_mode(0o770)).unwrap();
    let _open = fixture.server(&[]);
    assert_eq!(fixture.socket(), None);
}
