//! Which clients a server accepts, and which serve themselves.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::UnixListener;

use kenning_testkit::{HttpProcess, eventually, finish, output, wait};
use serde_json::{Value, json};

use super::fixture::{Connection, Fixture, signal};
use crate::server::support::{DEADLINE, Server, call, within};

fn small() -> Fixture {
    Fixture::with_files(&[("a.md", "# A\n")])
}

#[tokio::test]
async fn a_server_with_other_settings_is_not_used() {
    let fixture = small();
    let mut command = fixture.command(&["serve", "--http", "127.0.0.1:0"]);
    command.env("KENNING_DISCOVERY_MIN_RELEVANCE_THRESHOLD", "0.5");
    let _server = Server::start(&mut command);
    assert!(fixture.log(&[]).contains("its settings differ in discovery"));
    let found = fixture.doctor();
    assert_eq!(found["status"], "warn");
    assert!(found["message"].as_str().unwrap().contains("differ in discovery"), "{found}");
    let client = fixture.client(&[]).await.client;
    assert_eq!(fixture.connections(), 0);
    let got = call(&client, "retrieve_knowledge", json!({"ids": ["a"]})).await;
    assert_eq!(got["nodes"][0]["id"], "a");
    within(client.cancel()).await.unwrap();
}

#[test]
fn a_client_gets_no_more_than_the_server_offers() {
    let fixture = small();
    let _server = fixture.server(&["--toolsets", "knowledge", "--read-only"]);
    assert!(fixture.log(&[]).contains("it does not offer the toolset catalog, registry, gaps"));
    assert!(fixture.log(&["--toolsets", "knowledge"]).contains("it is read-only"));
    let log = fixture.log(&["--toolsets", "knowledge", "--read-only"]);
    assert!(log.contains("served by process"), "{log}");
    let unwatched = ["--toolsets", "knowledge", "--read-only", "--no-watch"];
    assert!(fixture.log(&unwatched).contains("its settings differ in watch"));
}

#[test]
fn server_attach_false_switches_sharing_off() {
    let fixture = small();
    let unshared = |words: &[&str]| {
        let mut command = fixture.command(words);
        command.env("KENNING_SERVER_ATTACH", "false");
        command
    };
    let private = Server::start(&mut unshared(&["serve", "--http", "127.0.0.1:0"]));
    assert_eq!(fixture.socket(), None);
    drop(private);
    let _server = fixture.server(&[]);
    let served = output(&mut unshared(&["serve"]));
    let log = String::from_utf8(served.stderr).unwrap();
    assert!(served.status.success() && !log.contains("served by process"), "{log}");
}

/// A client's handshake.
fn hello(fixture: &Fixture) -> Value {
    let server = fixture.server(&[]);
    let socket = fixture.socket().unwrap();
    drop(server);
    std::fs::remove_file(&socket).unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    listener.set_nonblocking(true).unwrap();
    let child = fixture.raw(&[]);
    let (mut stream, _) = eventually(DEADLINE, || listener.accept().ok());
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    writeln!(stream, "{}", json!({"refused": "it is a test"})).unwrap();
    let ended = finish(child);
    let log = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success() && log.contains("already: it is a test"), "{log}");
    serde_json::from_str(&line).unwrap()
}

#[test]
fn invalid_and_silent_connections_are_closed_and_clients_are_limited() {
    let fixture = small();
    let mut hello = hello(&fixture);
    let _server = fixture.server(&[]);
    let socket = fixture.socket().unwrap();
    let silent = Connection::to(&socket);
    let answer = |line: &[u8]| {
        let mut connection = Connection::to(&socket);
        connection.send(line);
        connection.close()
    };
    assert!(answer(b"nonsense").contains("cannot read the handshake"));
    assert!(answer(b"{\"kenning\": 1}").contains("cannot read the handshake"));
    let reply: Value = serde_json::from_str(&answer(hello.to_string().as_bytes())).unwrap();
    assert_eq!(reply["accepted"]["clients"], 0, "a closed connection is no client");
    let version = std::mem::replace(&mut hello["version"], json!("0.0.0"));
    let refused = answer(hello.to_string().as_bytes());
    assert!(refused.contains(&format!("it is Kenning {}, not 0.0.0", version.as_str().unwrap())));
    hello["version"] = version;
    let endless = answer(&vec![b' '; 70_000]);
    assert!(!endless.contains("accepted"), "{endless}");

    let hello = hello.to_string();
    let mut clients = Vec::new();
    for n in 0..100 {
        let mut client = Connection::to(&socket);
        client.send(hello.as_bytes());
        assert!(client.line().contains("accepted"), "{n}");
        clients.push(client);
    }
    assert!(answer(hello.as_bytes()).contains("it serves 100 clients already"));
    assert_eq!(silent.rest(), "");
}

#[test]
fn a_running_server_keeps_its_socket_and_a_killed_one_does_not() {
    let fixture = small();
    let mut first = fixture.server(&[]);
    let mut command = fixture.command(&["serve", "--http", "127.0.0.1:0"]);
    let second = HttpProcess::start(&mut command);
    let served_by = |pid: u32| {
        let log = fixture.log(&[]);
        assert!(log.contains(&format!("served by process {pid},")), "{log}");
    };
    served_by(first.child.id());
    let log = second.stop();
    assert_eq!(log.matches("another server of the same").count(), 1, "{log}");
    served_by(first.child.id());
    signal(first.child.id(), "-KILL");
    wait(&mut first.child);
    assert!(fixture.socket().is_some(), "it could not clean up");
    assert!(!fixture.log(&[]).contains("WARN"), "a stale socket is no problem");
    let third = fixture.server(&[]);
    served_by(third.child.id());
}

#[test]
fn a_socket_that_others_can_reach_is_not_used() {
    let fixture = small();
    let server = fixture.server(&[]);
    let mode = |folder: &std::path::Path| folder.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&fixture.folder()), 0o700);
    std::fs::set_permissions(fixture.folder(), PermissionsExt::from_mode(0o755)).unwrap();
    assert!(fixture.log(&[]).contains("is not a folder of this user alone"));
    drop(server);
    std::fs::remove_dir_all(fixture.folder()).unwrap();
    std::fs::DirBuilder::new().mode(0o770).create(fixture.folder()).unwrap();
    std::fs::set_permissions(fixture.folder(), PermissionsExt::from_mode(0o770)).unwrap();
    let _open = fixture.server(&[]);
    assert_eq!(fixture.socket(), None);
}
