use super::*;

/// Lines of the client start with `>`, those of the server with `<`. Returns what the client gets.
fn exchange(journal: &mut Journal, lines: &[&str]) -> Vec<String> {
    let mut forwarded = Vec::new();
    for line in lines {
        let (from, text) = line.split_once(' ').unwrap();
        if from == ">" {
            journal.client_line(text.as_bytes());
            continue;
        }
        let received = journal.server_line(text.as_bytes());
        if received.is_new {
            forwarded.push(text.to_owned());
        }
        journal.delivered(received);
    }
    forwarded
}

fn texts(lines: &[Vec<u8>]) -> Vec<&str> {
    lines.iter().map(|line| std::str::from_utf8(line).unwrap()).collect()
}

const INITIALIZE: &str = r#"{"id":0,"method":"initialize","params":{}}"#;
const INITIALIZED: &str = r#"{"method":"notifications/initialized"}"#;
const SUBSCRIBE: &str = r#"{"id":"s","method":"resources/subscribe","params":{"uri":"a://b"}}"#;
const LIST: &str = r#"{"id":4,"method":"tools/list"}"#;
const SEARCH: &str = r#"{"id":5,"method":"tools/call","params":{"name":"search_knowledge"}}"#;
const REGISTER: &str =
    r#"{"id":6,"method":"tools/call","params":{"name":"register_agent_capabilities"}}"#;

fn opened() -> Journal {
    let mut journal = Journal::default();
    let lines =
        [&format!("> {INITIALIZE}"), r#"< {"id":0,"result":{}}"#, &format!("> {INITIALIZED}")];
    assert_eq!(exchange(&mut journal, &lines).len(), 1);
    journal
}

#[test]
fn a_session_is_reopened_and_the_second_answer_not_forwarded() {
    let mut journal = opened();
    let resumption = journal.resume();
    assert_eq!(resumption.opening.as_deref(), Some(INITIALIZE.as_bytes()));
    assert_eq!(texts(&resumption.lines), [INITIALIZED]);
    let forwarded =
        exchange(&mut journal, &[r#"< {"id":0,"result":{}}"#, r#"< {"id":1,"result":{}}"#]);
    assert_eq!(forwarded, [r#"{"id":1,"result":{}}"#]);
}

#[test]
fn a_session_that_is_being_opened_is_opened_once() {
    let mut journal = Journal::default();
    exchange(&mut journal, &[&format!("> {INITIALIZE}")]);
    let resumption = journal.resume();
    assert_eq!((resumption.opening, texts(&resumption.lines)), (None, vec![INITIALIZE]));
    assert_eq!(exchange(&mut journal, &[r#"< {"id":0,"result":{}}"#]).len(), 1);
    assert!(journal.resume().opening.is_some());
}

#[test]
fn an_empty_journal_repeats_nothing() {
    assert_eq!(Journal::default().resume(), Resumption::default());
}

#[test]
fn requests_that_change_nothing_are_repeated_in_order() {
    let mut journal = opened();
    let lines = [SEARCH, LIST, r#"{"id":7,"method":"tools/call","params":{"name":"no_such"}}"#];
    exchange(&mut journal, &lines.map(|line| format!("> {line}")).each_ref().map(String::as_str));
    assert!(!journal.is_idle());
    let resumption = journal.resume();
    assert_eq!(texts(&resumption.lines[1..]), lines);
    assert!(resumption.errors.is_empty());
    let answers = [r#"< {"id":5,"result":{}}"#, r#"< {"id":4,"result":{}}"#];
    assert_eq!(exchange(&mut journal, &answers).len(), 2, "the client waits for these");
}

#[test]
fn a_call_that_may_change_something_gets_an_error_instead_of_a_repetition() {
    let mut journal = opened();
    exchange(&mut journal, &[&format!("> {REGISTER}")]);
    let resumption = journal.resume();
    assert_eq!(resumption.lines.len(), 1, "it is not called again");
    let error: Value = serde_json::from_slice(&resumption.errors[0]).unwrap();
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!(6), &json!(INTERNAL_ERROR)));
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains("`register_agent_capabilities`"), "{message}");
    assert!(journal.is_idle());
}

#[test]
fn answered_and_cancelled_requests_are_not_repeated() {
    let mut journal = opened();
    exchange(
        &mut journal,
        &[
            &format!("> {SEARCH}"),
            &format!("> {REGISTER}"),
            r#"< {"id":6,"error":{"code":1,"message":"no"}}"#,
            r#"> {"method":"notifications/cancelled","params":{"requestId":5}}"#,
        ],
    );
    assert!(journal.is_idle());
    let resumption = journal.resume();
    assert_eq!((resumption.lines.len(), resumption.errors.len()), (1, 0));
}

#[test]
fn subscriptions_are_repeated_until_they_end() {
    let mut journal = opened();
    let refused = r#"{"id":8,"method":"resources/subscribe","params":{"uri":"no://no"}}"#;
    exchange(
        &mut journal,
        &[
            &format!("> {SUBSCRIBE}"),
            r#"< {"id":"s","result":{}}"#,
            &format!("> {refused}"),
            r#"< {"id":8,"error":{"code":1,"message":"no"}}"#,
        ],
    );
    assert_eq!(texts(&journal.resume().lines), [INITIALIZED, SUBSCRIBE]);
    assert_eq!(exchange(&mut journal, &[r#"< {"id":"s","result":{}}"#]), [""; 0]);
    let end = r#"> {"id":9,"method":"resources/unsubscribe","params":{"uri":"a://b"}}"#;
    exchange(&mut journal, &[end, r#"< {"id":9,"result":{}}"#]);
    assert_eq!(texts(&journal.resume().lines), [INITIALIZED]);
}

#[test]
fn subscriptions_of_the_newer_protocol_are_acknowledged_once() {
    let mut journal = Journal::default();
    let listen = r#"{"id":3,"method":"subscriptions/listen","params":{}}"#;
    let acknowledged = concat!(
        r#"< {"method":"notifications/subscriptions/acknowledged","#,
        r#""params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3}}}"#
    );
    assert_eq!(exchange(&mut journal, &[&format!("> {listen}"), acknowledged]).len(), 1);
    assert!(journal.is_idle(), "the end of a subscription is not waited for");
    assert_eq!(texts(&journal.resume().lines), [listen]);
    assert_eq!(exchange(&mut journal, &[acknowledged, acknowledged]).len(), 1);
    assert_eq!(exchange(&mut journal, &[r#"< {"id":3,"result":{}}"#]), [""; 0], "the server stops");
    assert_eq!(texts(&journal.resume().lines), [listen]);
    let refused = r#"< {"id":3,"error":{"code":1,"message":"no"}}"#;
    assert_eq!(exchange(&mut journal, &[refused]).len(), 1);
    assert_eq!(journal.resume(), Resumption::default());
}

#[test]
fn lines_that_are_no_messages_are_forwarded() {
    let mut journal = Journal::default();
    let lines = ["> nonsense", "> []", "> {\"id\":null}", "< nonsense", "< {\"id\":1}"];
    assert_eq!(exchange(&mut journal, &lines).len(), 2);
    assert_eq!(journal.resume(), Resumption::default());
}
