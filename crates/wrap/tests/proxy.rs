//! What the proxy does to lines, and what it leaves alone. The servers are a shell and `cat`.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod support;

use std::io::{Read, Write};
use std::process::Stdio;

use serde_json::{Value, json};
use support::{Process, call, list, wrapped};

const ACKNOWLEDGED: &str = "Thanks. This capability request has been recorded";

/// What comes back from `cat` for what is sent to it.
fn echoed(sent: &[u8]) -> Vec<u8> {
    let mut process = Process::start(&mut wrapped(&["cat"]));
    let mut input = process.input.take().unwrap();
    let sent = sent.to_vec();
    let sender = std::thread::spawn(move || input.write_all(&sent).unwrap());
    let mut back = Vec::new();
    process.output.read_to_end(&mut back).unwrap();
    sender.join().unwrap();
    assert!(process.child.wait().unwrap().success());
    back
}

fn check(sent: &str, received: &str) {
    assert_eq!(String::from_utf8(echoed(sent.as_bytes())).unwrap(), received);
}

#[test]
fn what_is_none_of_our_business_is_not_touched() {
    let lines: &[&[u8]] = &[
        b"{\"jsonrpc\" : \"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1e2}}\r\n",
        b"not json tools/call {\n",
        b"\n\r\n   \n",
        b"\xff\xfe tools/call \x00\n",
        b"{\"method\":\"tools/call\",\"id\":1}\n",
        b"{\"method\":\"tools/call\",\"params\":{\"name\":7},\"id\":1}\n",
        b"{\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":[\"mcpeyeIntent\"]},\"id\":1}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"x\", \"arguments\":{\"a\":1.0,\"b\":1e400}, \"_meta\":{\"progressToken\":7}}}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"sampling/createMessage\",\"params\":{\"tools\":[]}}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"elicitation/create\"}\n",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}\n",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"no/such\",\"x\":{\"deep\":[[[[1]]]]}}\n",
        b"[]\n[{\"method\":\"tools/list\",\"id\":9} , 7]\n",
        b"the last line has no end",
    ];
    let sent = lines.concat();
    assert_eq!(String::from_utf8_lossy(&echoed(&sent)), String::from_utf8_lossy(&sent));
}

#[test]
fn a_big_line_is_not_touched() {
    let big = format!("{{\"x\":\"{}\"}}\n", "tools".repeat(1_000_000));
    assert!(echoed(big.as_bytes()) == big.as_bytes());
}

#[test]
fn calls_lose_the_parameter_and_nothing_else() {
    check(
        "{\"id\":1, \"method\":\"tools\\/call\", \"params\":{\"_meta\":{}, \"arguments\": { \"a\" : 1.0, \"mcpeyeIntent\":\"why\", \"b\":1e400 }, \"name\":\"x\"}, \"z\":[ ]}\r\n",
        "{\"id\":1, \"method\":\"tools\\/call\", \"params\":{\"_meta\":{}, \"arguments\": {\"a\":1.0,\"b\":1e400}, \"name\":\"x\"}, \"z\":[ ]}\r\n",
    );
    check(
        "{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":{\"mcpeye\\u0049ntent\":7}}}\n",
        "{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":{}}}\n",
    );
}

#[test]
fn arguments_may_be_nested_as_deep_as_they_like() {
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let line = |intent: &str| {
        format!(
            "{{\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"x\",\"arguments\":{{\"a\":{deep}{intent}}}}}}}\n"
        )
    };
    check(&line(",\"mcpeyeIntent\":\"why\""), &line(""));
}

#[test]
fn batches_are_changed_piece_by_piece() {
    check(
        "[{\"id\":1,\"method\":\"ping\"}, {\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":{\"mcpeyeIntent\":\"\"}}}]\n",
        "[{\"id\":1,\"method\":\"ping\"},{\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":{}}}]\n",
    );
}

#[test]
fn the_reserved_tool_is_answered_here_in_the_dialect_it_was_asked_in() {
    let mut process = Process::start(&mut wrapped(&["cat"]));
    let request = call(7, "mcpeye_request_capability", &json!({"capability": "export as PDF"}));
    let answer = process.ask(&request);
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().starts_with(ACKNOWLEDGED));
    assert!(answer["result"].get("resultType").is_none());
    let mut request = call(8, "mcpeye_request_capability", &json!({}));
    request["id"] = json!("eight");
    request["params"]["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    assert_eq!(process.ask(&request)["result"]["resultType"], "complete");
    process.send("only this reaches the server");
    assert_eq!(process.line(), "only this reaches the server\n");
    assert!(process.close().success());
}

/// A server that answers the first line with `answer` and then echoes.
fn answering(answer: &str) -> Process {
    let script = "read -r line; printf '%s\\n' \"$0\"; exec cat";
    Process::start(&mut wrapped(&["sh", "-c", script, answer]))
}

#[test]
fn a_list_gains_the_contract() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"ttlMs":5}}"#;
    let listed = answering(answer).ask(&list(1));
    assert_eq!(listed["result"]["ttlMs"], 5);
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 2);
    assert_eq!(tools[0]["inputSchema"]["properties"]["mcpeyeIntent"]["type"], "string");
    assert_eq!(tools[1], kenning_gaps::contract::tool());
}

#[test]
fn only_the_answer_to_a_list_is_a_list() {
    let other = r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}"#;
    let mut process = answering(other);
    process.send(&list(1).to_string());
    assert_eq!(process.line(), format!("{other}\n"));
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"x","result":{"tools":[]}}"#;
    let mut process = answering(request);
    process.send(&list(1).to_string());
    assert_eq!(process.line(), format!("{request}\n"));
}

#[test]
fn a_server_keeps_what_it_owns() {
    let own = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [
        {"name": "mcpeye_request_capability", "inputSchema": {"type": "object"}},
        {"name": "x", "inputSchema": {"type": "object", "properties": {"mcpeyeIntent": {"type": "number"}}}},
    ]}});
    let mut process = answering(&own.to_string());
    assert_eq!(process.ask(&list(1)), own);
    for tool in ["mcpeye_request_capability", "x"] {
        let request = call(2, tool, &json!({"mcpeyeIntent": 7})).to_string();
        process.send(&request);
        assert_eq!(process.line(), format!("{request}\n"));
    }
}

#[test]
fn the_end_of_the_server_is_carried_over() {
    let code = |script: &str| {
        let process = Process::start(&mut wrapped(&["sh", "-c", script]));
        process.close().code()
    };
    assert_eq!(code("exit 7"), Some(7));
    assert_eq!(code("exit 0"), Some(0));
    assert_eq!(code("kill -9 $$"), Some(128 + 9));
}

#[test]
fn a_server_that_ends_by_itself_ends_the_wrapper() {
    let mut process = Process::start(&mut wrapped(&["sh", "-c", "read -r x; echo bye; exit 7"]));
    process.send("go");
    assert_eq!(process.line(), "bye\n");
    assert_eq!(process.child.wait().unwrap().code(), Some(7));
}

#[test]
fn a_client_that_reads_slowly_gets_everything() {
    let script = "yes 'a line of some length' | head -n 20000; exit 4";
    let mut process = Process::start(&mut wrapped(&["sh", "-c", script]));
    let first = process.line();
    // Longer than any patience of the wrapper's.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let mut rest = String::new();
    process.output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest.lines().count(), 19_999);
    assert!(rest.lines().all(|line| line == first.trim_end()));
    assert_eq!(process.child.wait().unwrap().code(), Some(4));
}

#[test]
fn what_escaped_from_the_server_does_not_hold_the_wrapper() {
    // It holds the server's output open and is in no group of ours.
    let script = "setsid sleep 3 & echo bye; exit 6";
    let mut process = Process::start(&mut wrapped(&["sh", "-c", script]));
    assert_eq!(process.line(), "bye\n");
    assert_eq!(process.child.wait().unwrap().code(), Some(6));
}

#[test]
fn what_the_server_says_to_people_is_carried_over() {
    let mut command = wrapped(&["sh", "-c", "printf 'no\\nend' >&2; exit 3"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.stderr, b"no\nend");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_command_that_is_not_there_says_so() {
    let output = wrapped(&["/no/such/server"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with("error: `/no/such/server` cannot be started: "), "{said}");
}

#[test]
fn a_thousand_lines_keep_their_order() {
    let lines: Vec<String> =
        (0..1_000).map(|id| call(id, "t", &json!({"x": id})).to_string() + "\n").collect();
    let all = lines.concat();
    check(&all, &all);
}

#[test]
fn a_socket_serves_as_well_as_a_pipe() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (theirs_out, theirs): (OwnedFd, OwnedFd) =
        (theirs.try_clone().unwrap().into(), theirs.into());
    let mut command = wrapped(&["cat"]);
    let mut child = command.stdin(theirs).stdout(theirs_out).spawn().unwrap();
    drop(command);
    (&ours).write_all(b"hello\n").unwrap();
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let mut back = String::new();
    (&ours).read_to_string(&mut back).unwrap();
    assert_eq!(back, "hello\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_file_serves_as_well_as_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::write(&input, "one\ntwo\n").unwrap();
    let mut command = wrapped(&["cat"]);
    command.stdin(std::fs::File::open(&input).unwrap());
    command.stdout(std::fs::File::create(&output).unwrap());
    assert!(command.status().unwrap().success());
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "one\ntwo\n");
}

#[test]
fn captured_calls_reach_an_ingest() {
    let received = support_ingest();
    let mut command = std::process::Command::new(support::program());
    let server = "while read -r line; do id=$((id+1)); case $id in 3) echo '{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-1,\"message\":\"no a@b.co\"}}';; *) echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$id,\\\"result\\\":{\\\"content\\\":[]}}\";; esac; done";
    command.args(["--ingest", &received.address, "--", "sh", "-c", server]);
    let mut process = Process::start(&mut command);
    process.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test"}}}));
    process.ask(&call(2, "find", &json!({"q": "x", "password": "p", "mcpeyeIntent": "to find x"})));
    process.ask(&call(3, "send", &json!({})));
    process.ask(&call(9, "mcpeye_request_capability", &json!({"capability": "export"})));
    assert!(process.close().success());
    let batch = received.batch();
    assert_eq!(batch["projectId"], "test");
    assert_eq!(batch["identity"], json!({"client": "test"}));
    let events = batch["events"].as_array().unwrap();
    let seen: Vec<(&Value, &Value)> =
        events.iter().map(|e| (&e["toolName"], &e["isError"])).collect();
    assert_eq!(
        seen,
        [
            (&json!("find"), &json!(false)),
            (&json!("send"), &json!(true)),
            (&json!("mcpeye_request_capability"), &json!(false)),
        ]
    );
    assert_eq!(events[0]["arguments"], json!({"q": "x", "password": "[REDACTED_FIELD]"}));
    assert_eq!(
        (&events[0]["intent"], &events[0]["intentSource"]),
        (&json!("to find x"), &json!("mcpeye"))
    );
    assert_eq!(events[1]["errorMessage"], "no [REDACTED_EMAIL]");
    assert_eq!(events[2]["arguments"], json!({"capability": "export"}));
}

/// An ingest that takes one batch.
struct Received {
    address: String,
    thread: std::thread::JoinHandle<Value>,
}

impl Received {
    fn batch(self) -> Value {
        self.thread.join().unwrap()
    }
}

fn support_ingest() -> Received {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut piece = [0; 4096];
        loop {
            let read = stream.read(&mut piece).unwrap();
            request.extend_from_slice(&piece[..read]);
            let text = String::from_utf8_lossy(&request).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let head = head.to_ascii_lowercase();
            assert!(head.starts_with("post /ingest ") && head.contains("x-mcpeye-secret: hush"));
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
            if body.len() >= length {
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{\"accepted\": 3}")
                    .unwrap();
                return serde_json::from_str(body).unwrap();
            }
        }
    });
    Received { address, thread }
}
