//! Which lines the proxy changes, and which it passes on. The servers are a shell and `cat`.

use std::io::{Read, Write};
use std::process::Stdio;

use axum::http::StatusCode;
use kenning_testkit::DEADLINE;
use serde_json::{Value, json};

use crate::sink::serve_ingest;
use crate::support::{self, Process, call, list, wrapped};

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
    assert!(kenning_testkit::wait(&mut process.child).success());
    back
}

fn check(sent: &str, received: &str) {
    assert_eq!(String::from_utf8(echoed(sent.as_bytes())).unwrap(), received);
}

#[test]
fn lines_that_do_not_concern_the_contract_keep_their_bytes() {
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
fn a_big_line_keeps_its_bytes() {
    let big = format!("{{\"x\":\"{}\"}}\n", "tools".repeat(1_000_000));
    assert!(echoed(big.as_bytes()) == big.as_bytes());
}

#[test]
fn calls_lose_the_contracts_parameter_and_nothing_else() {
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
fn deeply_nested_arguments_pass() {
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let line = |intent: &str| {
        format!(
            "{{\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"x\",\"arguments\":{{\"a\":{deep}{intent}}}}}}}\n"
        )
    };
    check(&line(",\"mcpeyeIntent\":\"why\""), &line(""));
}

#[test]
fn each_message_of_a_batch_is_changed_on_its_own() {
    check(
        "[{\"id\":1,\"method\":\"ping\"}, {\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":{\"mcpeyeIntent\":\"\"}}}]\n",
        "[{\"id\":1,\"method\":\"ping\"},{\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":{}}}]\n",
    );
}

#[test]
fn the_reserved_tool_is_answered_in_the_requests_protocol_version() {
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
fn a_list_gains_the_contract_and_keeps_unknown_fields() {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"ttlMs":5}}"#;
    let listed = answering(answer).ask(&list(1));
    assert_eq!(listed["result"]["ttlMs"], 5);
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 2);
    assert_eq!(tools[0]["inputSchema"]["properties"]["mcpeyeIntent"]["type"], "string");
    assert_eq!(tools[1], kenning_gaps::contract::tool());
}

#[test]
fn only_the_answer_to_a_list_request_is_changed() {
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
fn a_servers_own_tool_and_parameter_of_the_reserved_names_win() {
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
fn the_exit_code_is_the_servers() {
    let code = |script: &str| {
        let process = Process::start(&mut wrapped(&["sh", "-c", script]));
        process.close().code()
    };
    assert_eq!(code("exit 7"), Some(7));
    assert_eq!(code("exit 0"), Some(0));
    assert_eq!(code("kill -9 $$"), Some(128 + 9));
}

#[test]
fn a_server_that_exits_ends_the_wrapper() {
    let mut process = Process::start(&mut wrapped(&["sh", "-c", "read -r x; echo bye; exit 7"]));
    process.send("go");
    assert_eq!(process.line(), "bye\n");
    assert_eq!(kenning_testkit::wait(&mut process.child).code(), Some(7));
}

#[test]
fn a_client_that_reads_slowly_gets_all_output() {
    let script = "yes 'a line of some length' | head -n 20000; exit 4";
    let mut process = Process::start(&mut wrapped(&["sh", "-c", script]));
    let first = process.line();
    // Longer than any timeout of the wrapper.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let mut rest = String::new();
    process.output.read_to_string(&mut rest).unwrap();
    assert_eq!(rest.lines().count(), 19_999);
    assert!(rest.lines().all(|line| line == first.trim_end()));
    assert_eq!(kenning_testkit::wait(&mut process.child).code(), Some(4));
}

#[test]
fn a_process_that_left_the_servers_group_does_not_keep_the_wrapper() {
    // It holds the server's output open.
    let script = "setsid sleep 3 & echo bye; exit 6";
    let mut process = Process::start(&mut wrapped(&["sh", "-c", script]));
    assert_eq!(process.line(), "bye\n");
    assert_eq!(kenning_testkit::wait(&mut process.child).code(), Some(6));
}

#[test]
fn standard_error_is_the_servers() {
    let mut command = wrapped(&["sh", "-c", "printf 'no\\nend' >&2; exit 3"]);
    let output = kenning_testkit::output(command.stdin(Stdio::null()));
    assert_eq!(output.stderr, b"no\nend");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_missing_command_is_an_error() {
    let output = kenning_testkit::output(wrapped(&["/no/such/server"]).stdin(Stdio::null()));
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.starts_with("error: `/no/such/server` cannot be started: "), "{error}");
}

#[test]
fn standard_streams_may_be_a_socket() {
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
    ours.set_read_timeout(Some(DEADLINE)).unwrap();
    let mut back = String::new();
    (&ours).read_to_string(&mut back).unwrap();
    assert_eq!(back, "hello\n");
    assert!(kenning_testkit::wait(&mut child).success());
}

#[test]
fn standard_streams_may_be_files() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::write(&input, "one\ntwo\n").unwrap();
    let mut command = wrapped(&["cat"]);
    command.stdin(std::fs::File::open(&input).unwrap());
    command.stdout(std::fs::File::create(&output).unwrap());
    assert!(kenning_testkit::wait(&mut command.spawn().unwrap()).success());
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "one\ntwo\n");
}

#[test]
fn recorded_calls_are_sent_to_an_ingest() {
    let (base, bodies) = serve_ingest(StatusCode::OK, r#"{"accepted": 3}"#);
    let mut command = std::process::Command::new(support::program());
    let server = "while read -r line; do id=$((id+1)); case $id in 3) echo '{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-1,\"message\":\"no a@b.co\"}}';; *) echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$id,\\\"result\\\":{\\\"content\\\":[]}}\";; esac; done";
    command.args(["--ingest", &base, "--", "sh", "-c", server]);
    let mut process = Process::start(&mut command);
    process.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test"}}}));
    process.ask(&call(2, "find", &json!({"q": "x", "password": "p", "mcpeyeIntent": "to find x"})));
    process.ask(&call(3, "send", &json!({})));
    process.ask(&call(9, "mcpeye_request_capability", &json!({"capability": "export"})));
    assert!(process.close().success());
    let bodies = bodies.lock().unwrap();
    let [body] = &bodies[..] else { panic!("one batch: {bodies:?}") };
    let batch: Value = serde_json::from_slice(body).unwrap();
    assert_eq!(batch["projectId"], "test");
    assert_eq!(batch["identity"], json!({"client": "test"}));
    let events = batch["events"].as_array().unwrap();
    let calls: Vec<(&Value, &Value)> =
        events.iter().map(|e| (&e["toolName"], &e["isError"])).collect();
    assert_eq!(
        calls,
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
