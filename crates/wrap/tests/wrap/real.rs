//! Real servers, with the proxy and without.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::{Child, Command, Stdio};

use kenning_gaps::contract::Offer;
use kenning_testkit::{DEADLINE, eventually};
use serde_json::{Value, json};

use crate::support::{Process, around, call, direct, is_answer, list, remote, servers};

const CALLS: u64 = 1_000;

/// Sends a thousand calls at once, and returns the answers.
fn pipelined(process: &mut Process, request: impl Fn(u64) -> Value) -> Vec<String> {
    let lines: Vec<String> = (1..=CALLS).map(|id| request(id).to_string()).collect();
    process.pipeline(&lines)
}

fn by_id(lines: &[String]) -> BTreeMap<u64, Value> {
    let messages = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    messages.map(|message| (message["id"].as_u64().unwrap(), message)).collect()
}

#[test]
fn everything_answers_a_thousand_calls_as_it_does_unwrapped() {
    let command = servers().everything();
    let request = |intent: bool| {
        move |id| {
            let mut arguments = json!({"message": format!("number {id} é")});
            if intent {
                arguments["mcpeyeIntent"] = json!("to hear an echo");
            }
            call(id, "echo", &arguments)
        }
    };
    let mut plain = Process::start(&mut direct(&command));
    plain.initialize();
    let expected = pipelined(&mut plain, request(false));
    plain.close();
    let mut proxied = Process::start(&mut around(&command));
    proxied.initialize();
    let received = pipelined(&mut proxied, request(true));
    assert!(proxied.close().success());
    assert_eq!(received, expected, "the same bytes in the same order");
}

#[test]
fn filesystem_answers_a_thousand_calls_as_it_does_unwrapped() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for number in 0..50 {
        std::fs::write(root.join(format!("{number}.txt")), format!("text {number}\n")).unwrap();
    }
    let path = |id: u64| root.join(format!("{}.txt", id % 60)).to_string_lossy().into_owned();
    let request = |id| call(id, "read_text_file", &json!({"path": path(id)}));
    let command = servers().filesystem(&root);
    let mut plain = Process::start(&mut direct(&command));
    plain.initialize();
    let expected = pipelined(&mut plain, request);
    plain.close();
    // The server answers in no particular order, so its output is logged to compare with.
    let log = root.join("written.log");
    let mut logged: Vec<OsString> =
        ["sh", "-c", "log=$1; shift; \"$@\" | tee \"$log\"", "sh"].map(Into::into).to_vec();
    logged.push(log.clone().into());
    logged.extend(command);
    let mut proxied = Process::start(&mut around(&logged));
    proxied.initialize();
    let received = pipelined(&mut proxied, request);
    assert!(proxied.close().success());
    assert_eq!(by_id(&received), by_id(&expected));
    let written = std::fs::read_to_string(log).unwrap();
    let written = written.split_inclusive('\n').skip(1).filter(|line| is_answer(line));
    let written: Vec<&str> = written.collect();
    assert_eq!(received, written, "in the order they were written");
}

#[test]
fn lists_gain_the_contract_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    for command in [servers().everything(), servers().filesystem(folder.path())] {
        let mut plain = Process::start(&mut direct(&command));
        let mut proxied = Process::start(&mut around(&command));
        assert_eq!(proxied.initialize(), plain.initialize());
        let (listed, expected) = (proxied.ask(&list(1)), plain.ask(&list(1)));
        let injected = kenning_gaps::contract::inject_list(&expected["result"], Offer::default());
        assert_eq!(listed["result"], injected);
        let asked = call(2, "mcpeye_request_capability", &json!({"capability": "x"}));
        assert_eq!(proxied.ask(&asked)["result"], kenning_gaps::contract::acknowledgement());
        plain.close();
        assert!(proxied.close().success());
    }
}

#[test]
fn progress_errors_and_garbage_pass() {
    let command = servers().everything();
    let mut process = Process::start(&mut around(&command));
    process.initialize();
    process.send("garbage");
    let mut long = call(1, "trigger-long-running-operation", &json!({"duration": 1, "steps": 2}));
    long["params"]["_meta"] = json!({"progressToken": "p"});
    process.send(&long.to_string());
    let mut progress = 0;
    loop {
        let message: Value = serde_json::from_str(&process.line()).unwrap();
        progress += usize::from(message["method"] == "notifications/progress");
        if message["id"] == 1 {
            break;
        }
    }
    assert_eq!(progress, 2);
    let unknown = process.ask(&json!({"jsonrpc": "2.0", "id": 2, "method": "no/such"}));
    assert_eq!(unknown["error"]["code"], -32601);
    assert!(process.close().success());
}

/// A server over HTTP, ended with the test.
struct Everything(Child);

impl Drop for Everything {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn everything() -> (Everything, String) {
    let command = servers().everything();
    // The server cannot choose a free port by itself, so one that was free a moment ago is used.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = Command::new(&command[0]);
    server.args(&command[1..]).arg("streamableHttp").env("PORT", port.to_string());
    let server = Everything(server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    eventually(DEADLINE, || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    (server, format!("http://127.0.0.1:{port}/mcp"))
}

#[test]
fn everything_over_http_answers_a_thousand_calls() {
    let (_server, url) = everything();
    let mut process = remote(&url);
    process.initialize();
    let request =
        |id: u64| call(id, "echo", &json!({"message": id.to_string(), "mcpeyeIntent": "x"}));
    let answers = by_id(&pipelined(&mut process, request));
    assert_eq!(answers.len(), 1_000);
    for (id, answer) in answers {
        assert_eq!(answer["result"]["content"][0]["text"], format!("Echo: {id}"));
    }
    assert!(process.close().success());
}
