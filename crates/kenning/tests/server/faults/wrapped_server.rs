//! `kenning wrap` around servers that misbehave.

use std::io::{BufRead, Read};
use std::path::Path;
use std::process::Stdio;

use kenning_testkit::{DEADLINE, LineProcess, eventually, jsonrpc, wait};
use serde_json::json;

use super::pelicans;
use crate::server::support::Project;

/// `kenning wrap` around a shell script.
fn wrap(project: &Project, script: &str) -> LineProcess {
    let mut command = project.kenning(&["wrap", "--", "sh", "-c", script]);
    LineProcess::start(command.stderr(Stdio::null()))
}

fn request() -> String {
    jsonrpc::call_tool(1, "x", &json!({})).to_string()
}

/// The server ignores SIGTERM and still owes an answer when the wrapper is killed.
#[test]
fn a_hanging_server_does_not_outlive_the_wrapper() {
    let project = pelicans();
    let mut server = wrap(&project, "trap '' TERM; echo $$; while :; do sleep 0.1; done");
    let id: u32 = server.line().trim().parse().unwrap();
    server.send(&request());
    server.child.kill().unwrap();
    wait(&mut server.child);
    eventually(DEADLINE, || (!Path::new(&format!("/proc/{id}")).exists()).then_some(()));
}

/// No answer can come any more, so the wrapper does not wait for one.
#[test]
fn a_server_that_closes_its_output_is_ended() {
    let project = pelicans();
    let script = "read -r line; exec >&-; while :; do sleep 0.1; done";
    let mut server = wrap(&project, script);
    server.send(&request());
    let mut rest = Vec::new();
    server.output.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
    assert!(!wait(&mut server.child).success(), "it did not end by itself");
}

#[test]
fn a_server_that_dies_in_the_middle_of_an_answer_ends_the_wrapper_with_its_code() {
    let project = pelicans();
    let mut server =
        wrap(&project, r#"read -r line; printf '{"jsonrpc":"2.0","id":1,"res'; exit 7"#);
    server.send(&request());
    let mut rest = String::new();
    server.output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, r#"{"jsonrpc":"2.0","id":1,"res"#, "as much as there was");
    assert_eq!(wait(&mut server.child).code(), Some(7));
}

#[test]
fn garbage_is_passed_on_and_so_are_answers_after_it() {
    let project = pelicans();
    let script = r#"read -r line; printf '\377\376\000garbage\n{"id":1,"result":{"tools":[[[\n';
                    printf '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n'; cat >/dev/null"#;
    let mut server = wrap(&project, script);
    server.send(&request());
    let mut line = Vec::new();
    server.output.read_until(b'\n', &mut line).unwrap();
    assert_eq!(line, b"\xff\xfe\0garbage\n");
    assert_eq!(server.line(), "{\"id\":1,\"result\":{\"tools\":[[[\n");
    assert_eq!(server.line(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n");
    assert!(server.close().success());
}

/// Many lines, then one very long line: all bytes arrive, and the wrapper does not buffer them.
#[test]
fn a_flood_is_passed_on_without_buffering_it() {
    const LINES: usize = 50_000_000;
    const LINE: usize = 250_000_000;
    let project = pelicans();
    let script = format!(
        "yes notification | head -c {LINES}; tr '\\0' x </dev/zero | head -c {LINE}; echo; \
         cat >/dev/null"
    );
    let mut server = wrap(&project, &script);
    let mut received = 0;
    let mut bytes = vec![0; 1 << 16];
    while received < LINES + LINE + 1 {
        let read = server.output.read(&mut bytes).unwrap();
        assert!(read > 0, "it ended after {received} bytes");
        received += read;
    }
    assert_eq!(received, LINES + LINE + 1);
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let most = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let most: usize = most.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(most * 1024 < LINE, "{most} kB");
    assert!(server.close().success());
}
