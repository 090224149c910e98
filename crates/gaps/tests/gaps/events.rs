//! Batches as clients send them, and the sessions that they become.

use kenning_gaps::event::{BatchError, IntentSource, MAX_EVENTS};
use kenning_gaps::session::{Outcome, Recorded, sessions};
use kenning_gaps::{Batch, Event, Identity, Redactor};
use serde_json::{Value, json};

const ID: &str = "6f1c2a34-9f00-4b1e-8a3d-0123456789ab";

fn batch(events: &Value) -> Vec<u8> {
    json!({"projectId": "p", "identity": {"userId": " ann ", "client": ""}, "events": events})
        .to_string()
        .into_bytes()
}

#[test]
fn reads_batches_of_the_published_clients() {
    let sent = json!([{
        "callId": ID, "toolName": "search", "arguments": {"q": "x"}, "isError": false,
        "timestamp": 1_700_000_000_000_u64, "durationMs": 12, "result": {"content": []},
        "intent": "to find x", "intentSource": "mcpeye", "userEmail": "a@b.co", "later": true,
        "missed": "only our own server says so",
    }, {
        "callId": ID, "toolName": "search", "isError": true, "timestamp": 1_700_000_000_001_u64,
        "durationMs": 1.6, "errorMessage": "no", "result": 1, "intent": " ", "intentSource": "native",
    }]);
    let received = Batch::read(&batch(&sent)).unwrap();
    assert!(received.refused.is_empty());
    let Batch { project_id, identity, events } = received.batch;
    assert_eq!(project_id, "p");
    assert_eq!(identity, Identity { user_id: Some("ann".into()), ..Identity::default() });
    assert_eq!(events[0].intent_source, Some(IntentSource::Mcpeye));
    assert_eq!(events[0].user_email.as_deref(), Some("a@b.co"));
    assert_eq!(events[0].missed, None);
    assert_eq!(events[1].duration_ms, 2);
    assert_eq!(events[1].arguments, json!({}));
    assert_eq!(
        (&events[1].result, &events[1].intent, events[1].intent_source),
        (&None, &None, None)
    );
    let written = serde_json::to_value(&events[0]).unwrap();
    assert_eq!(written["callId"], ID);
    assert_eq!(written["intentSource"], "mcpeye");
    assert!(written.get("errorMessage").is_none() && written.get("userId").is_none());
}

#[test]
fn rejects_single_events_with_a_reason() {
    let good = json!({"callId": ID, "toolName": "t", "timestamp": 1, "arguments": null});
    let bad = |name: &str, value: Value| {
        let mut event = good.clone();
        event[name] = value;
        event
    };
    let sent = json!([
        good,
        bad("callId", json!("7")),
        bad("toolName", json!(" ")),
        bad("toolName", json!("x".repeat(257))),
        bad("timestamp", json!(0)),
        bad("timestamp", json!("now")),
        bad("intentSource", json!("other")),
        7,
    ]);
    let received = Batch::read(&batch(&sent)).unwrap();
    assert_eq!(received.batch.events.len(), 1);
    let reasons: Vec<String> =
        received.refused.iter().map(|r| format!("{}: {}", r.index, r.reason)).collect();
    insta::assert_snapshot!(reasons.join("\n"), @r#"
    1: `callId` is not a UUID
    2: `toolName` is empty
    3: `toolName` is longer than 256 characters
    4: `timestamp` is not in milliseconds since 1970
    5: timestamp: invalid type: string "now", expected u64
    6: intentSource: unknown variant `other`, expected `mcpeye` or `native`
    7: it is not a JSON object
    "#);
}

#[test]
fn rejects_a_body_that_is_no_batch() {
    let check = |body: &[u8], expected: &str| {
        assert_eq!(Batch::read(body).unwrap_err().to_string(), expected);
    };
    check(b"[]", "the body is not a batch: it is not a JSON object");
    check(
        br#"{"projectId": "p", "events": 7}"#,
        "the body is not a batch: events: invalid type: integer `7`, expected a sequence at line 1 column 30",
    );
    check(br#"{"projectId": " ", "events": []}"#, "`projectId` is empty");
    let many = batch(&Value::from(vec![Value::Null; MAX_EVENTS + 1]));
    let too_many = Batch::read(&many);
    assert!(matches!(too_many, Err(BatchError::TooMany(count)) if count == MAX_EVENTS + 1));
    let long = json!({"projectId": "x".repeat(129), "events": []}).to_string();
    assert!(matches!(Batch::read(long.as_bytes()), Err(BatchError::LongProject(129))));
}

#[test]
fn redacts_received_batches() {
    let sent = json!([{
        "callId": ID, "toolName": "t", "timestamp": 1, "arguments": {"password": "x", "to": "a@b.co"},
        "intent": "mail a@b.co", "errorMessage": "Bearer abcdefghijklmnop", "result": ["a@b.co"],
    }]);
    let mut received = Batch::read(&batch(&sent)).unwrap().batch;
    received.events[0].missed = Some("find a@b.co".to_owned());
    let redacted = received.redacted(&Redactor::default());
    let event = &redacted.events[0];
    assert_eq!(event.missed.as_deref(), Some("find [REDACTED_EMAIL]"));
    assert_eq!(event.arguments, json!({"password": "[REDACTED_FIELD]", "to": "[REDACTED_EMAIL]"}));
    assert_eq!(event.intent.as_deref(), Some("mail [REDACTED_EMAIL]"));
    assert_eq!(event.error_message.as_deref(), Some("Bearer [REDACTED_KEY]"));
    assert_eq!(event.result, Some(json!(["[REDACTED_EMAIL]"])));
}

const MINUTE: u64 = 60_000;

/// A call of `tool` at a minute; `outcome` is `ok`, `error`, `miss` or `none`.
fn call(minute: u64, tool: &str, outcome: &str, intent: Option<&str>) -> Event {
    Event {
        call_id: format!("{minute:08}-0000-4000-8000-{:012}", tool.len()),
        arguments: json!({"capability": "export as PDF"}),
        is_error: outcome == "error",
        timestamp: 1 + minute * MINUTE,
        duration_ms: 0,
        result: matches!(outcome, "ok" | "miss").then(|| json!({"content": []})),
        error_message: (outcome == "error").then(|| "it broke".to_owned()),
        intent: intent.map(str::to_owned),
        missed: (outcome == "miss").then(|| "rotate keys".to_owned()),
        ..crate::call(0, tool)
    }
}

fn by(user: &str, event: Event) -> Recorded {
    crate::by(user, vec![event]).remove(0)
}

#[test]
fn a_pause_or_another_user_starts_a_session() {
    let records = [
        by("ann", call(0, "a", "ok", None)),
        by("ann", call(30, "b", "ok", None)),
        by("bob", call(31, "c", "ok", None)),
        by("ann", call(61, "dd", "ok", None)),
        // Sent twice.
        by("ann", call(0, "a", "ok", None)),
    ];
    let found = sessions(&records);
    let seen: Vec<(Option<&str>, usize)> =
        found.iter().map(|s| (s.user.as_deref(), s.events.len())).collect();
    assert_eq!(seen, [(Some("ann"), 2), (Some("bob"), 1), (Some("ann"), 1)]);
    let reversed: Vec<Recorded> = records.iter().rev().cloned().collect();
    assert_eq!(sessions(&reversed), found, "the order of arrival does not matter");
}

#[test]
fn a_long_call_is_no_pause() {
    let mut long = call(0, "a", "ok", None);
    long.duration_ms = 50 * MINUTE;
    let records = [by("ann", long), by("ann", call(60, "b", "ok", None))];
    assert_eq!(sessions(&records).len(), 1);
}

#[test]
fn judges_the_outcome_of_a_session() {
    const ASK: &str = "mcpeye_request_capability";
    let check = |calls: &[(&str, &str, Option<&str>)], expected| {
        let records = calls.iter().zip(0..).map(|((tool, outcome, intent), minute)| {
            by("ann", call(minute, tool, outcome, *intent))
        });
        let found = sessions(&records.collect::<Vec<_>>());
        assert_eq!(found[0].outcome, expected, "{calls:?}");
    };
    let gap = Some("wanted to export as CSV, but no export tool exists");
    check(&[("a", "ok", None)], Outcome::Success);
    check(&[("a", "error", None), ("a", "ok", None)], Outcome::Success);
    check(&[("a", "ok", None), ("a", "error", None)], Outcome::Partial);
    check(&[("a", "ok", None), ("b", "error", None)], Outcome::Partial);
    check(&[("a", "ok", None), (ASK, "ok", None)], Outcome::Partial);
    check(&[("a", "ok", gap)], Outcome::Partial);
    check(&[("a", "error", None), ("a", "error", None)], Outcome::Failed);
    check(&[(ASK, "ok", None)], Outcome::Failed);
    check(&[("a", "miss", None)], Outcome::Failed);
    check(&[("a", "miss", None), ("a", "ok", None)], Outcome::Partial);
    check(&[("a", "none", None)], Outcome::Unknown);
}

#[test]
fn summarizes_a_session_by_intent_and_request() {
    let records = [
        by("ann", call(0, "a", "ok", Some("finding last year's invoices"))),
        by("ann", call(1, "mcpeye_request_capability", "ok", None)),
    ];
    let found = sessions(&records);
    assert_eq!(
        found[0].intent_summary.as_deref(),
        Some("finding last year's invoices — export as PDF")
    );
}
