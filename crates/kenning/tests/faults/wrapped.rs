//! `kenning wrap` around servers that misbehave.

use std::io::{Read, Write};
use std::process::Stdio;

use crate::support::{Lines, Place};

const ASK: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}"#;

/// A wrapped shell.
fn wrapped(place: &Place, script: &str) -> Lines {
    let mut command = place.kenning(&["wrap", "--", "sh", "-c", script]);
    command.stderr(Stdio::null());
    Lines::start(command)
}

/// It owes an answer when the client leaves; it is given time, and then made to end.
#[test]
fn one_that_hangs_ends_when_the_client_has_gone_for_good() {
    let place = Place::new();
    let mut server = wrapped(&place, "trap '' TERM; echo $$; while :; do sleep 0.1; done");
    let id: u32 = server.line().trim().parse().unwrap();
    server.send(ASK);
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    while std::path::Path::new(&format!("/proc/{id}")).exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Nothing it owes can come any more: the wrapper does not wait for it.
#[test]
fn one_that_closes_its_output_and_stays_is_ended() {
    let place = Place::new();
    let script = "read -r line; exec >&-; while :; do sleep 0.1; done";
    let mut server = wrapped(&place, script);
    server.send(ASK);
    let mut rest = Vec::new();
    server.output.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty());
    assert!(!server.child.wait().unwrap().success(), "it did not end by itself");
}

#[test]
fn one_that_dies_in_the_middle_of_an_answer_ends_the_wrapper_with_its_code() {
    let place = Place::new();
    let mut server =
        wrapped(&place, r#"read -r line; printf '{"jsonrpc":"2.0","id":1,"res'; exit 7"#);
    server.send(ASK);
    let mut rest = String::new();
    server.output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, r#"{"jsonrpc":"2.0","id":1,"res"#, "as much as there was");
    assert_eq!(server.child.wait().unwrap().code(), Some(7));
}

#[test]
fn garbage_is_passed_on_and_answers_after_it_too() {
    let place = Place::new();
    let script = r#"read -r line; printf '\377\376\000garbage\n{"id":1,"result":{"tools":[[[\n';
                    printf '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n'; cat >/dev/null"#;
    let mut server = wrapped(&place, script);
    server.send(ASK);
    let mut line = Vec::new();
    std::io::BufRead::read_until(&mut server.output, b'\n', &mut line).unwrap();
    assert_eq!(line, b"\xff\xfe\0garbage\n");
    assert_eq!(server.line(), "{\"id\":1,\"result\":{\"tools\":[[[\n");
    assert_eq!(server.line(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}\n");
    drop(server.input.take());
    assert!(server.child.wait().unwrap().success());
}

/// Far more than anybody asked for, in lines and in one line without end: it arrives as it was
/// sent, and the wrapper does not keep it.
#[test]
fn a_flood_is_passed_on_and_not_kept() {
    const LINES: usize = 50_000_000;
    const LINE: usize = 250_000_000;
    let place = Place::new();
    let script = format!(
        "yes notification | head -c {LINES}; tr '\\0' x </dev/zero | head -c {LINE}; echo; \
         cat >/dev/null"
    );
    let mut server = wrapped(&place, &script);
    let mut seen = 0;
    let mut bytes = vec![0; 1 << 16];
    while seen < LINES + LINE + 1 {
        let read = server.output.read(&mut bytes).unwrap();
        assert!(read > 0, "it ended after {seen} bytes");
        seen += read;
    }
    assert_eq!(seen, LINES + LINE + 1);
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let most = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    let most: usize = most.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(most * 1024 < LINE, "{most} kB");
    server.input.as_mut().unwrap().flush().unwrap();
    drop(server.input.take());
    assert!(server.child.wait().unwrap().success());
}
