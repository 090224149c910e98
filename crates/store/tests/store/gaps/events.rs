//! Calls are stored and read again.

use kenning_gaps::ask::asks;
use kenning_gaps::event::IntentSource;
use kenning_gaps::ports::{Appended, Detail, EventStore, UserFilter, Window};
use kenning_gaps::session::{Recorded, sessions};
use kenning_gaps::{Batch, Event, Identity};
use serde_json::json;

use super::fixture::{HOUR, NOW, batch, call, call_ids, failed, request};
use crate::fixture::Fixture;

pub(crate) fn stores_a_repeated_batch_once(fixture: &Fixture) {
    let store = fixture.store();
    let first = batch("ann", (1..=30).map(|n| call(n, "open")).collect());
    assert_eq!(store.append(&first).unwrap(), Appended { new: 30, known: 0 });
    assert_eq!(store.append(&first).unwrap(), Appended { new: 0, known: 30 });
    let overlapping = batch("ann", (21..=40).map(|n| call(n, "open")).collect());
    assert_eq!(store.append(&overlapping).unwrap(), Appended { new: 10, known: 10 });
    let within = batch("ann", vec![call(50, "open"), call(50, "open"), call(51, "open")]);
    assert_eq!(store.append(&within).unwrap(), Appended { new: 2, known: 1 });
    let elsewhere = Batch { project_id: "other".into(), ..first };
    assert_eq!(store.append(&elsewhere).unwrap(), Appended { new: 30, known: 0 });
    let empty = batch("ann", vec![]);
    assert_eq!(store.append(&empty).unwrap(), Appended { new: 0, known: 0 });
    assert_eq!(fixture.store().events(&Window::default()).unwrap().len(), 72);
}

fn everything() -> Event {
    Event {
        arguments: json!({"b": 1, "a": ["ü", null, 1.5, "\u{0}"], "deep": {"x": true}}),
        is_error: false,
        duration_ms: 1_234,
        result: Some(json!({"text": "'; DROP TABLE events; --"})),
        error_message: Some("soft".into()),
        intent: Some("to see 🚀".into()),
        intent_source: Some(IntentSource::Native),
        user_id: Some("u-1".into()),
        user_email: Some("ann@example.org".into()),
        missed: Some("how to see".into()),
        ..call(1, "search")
    }
}

pub(crate) fn reads_events_as_they_were_written(fixture: &Fixture) {
    let identity = Identity {
        user_id: Some("batch".into()),
        user_email: Some("batch@example.org".into()),
        client: Some("agent 1.0".into()),
        server_version: Some("2".into()),
    };
    let events = vec![everything(), failed(2, "mail", "no route"), request(3, "a PDF")];
    let batch = Batch { project_id: "shop".into(), identity: identity.clone(), events };
    fixture.store().append(&batch).unwrap();
    let expected: Vec<Recorded> = batch
        .events
        .iter()
        .map(|event| Recorded {
            project_id: "shop".into(),
            identity: identity.clone(),
            event: event.clone(),
        })
        .collect();
    assert_eq!(fixture.store().events(&Window::default()).unwrap(), expected);
    // NUL, which PostgreSQL does not store, is replaced.
    let odd = Event { tool_name: "a\0b".into(), intent: Some("\0".into()), ..call(4, "x") };
    fixture.store().append(&super::fixture::batch("a\0", vec![odd])).unwrap();
    let read = fixture.store().events(&Window::default()).unwrap();
    assert_eq!(read[3].event.tool_name, "a\u{fffd}b");
}

pub(crate) fn filters_by_time_project_and_user(fixture: &Fixture) {
    let store = fixture.store();
    let of = |project: &str, user: &str, events: Vec<Event>| {
        let batch = Batch { project_id: project.into(), ..batch(user, events) };
        store.append(&batch).unwrap();
    };
    of("shop", "ann", vec![call(5, "open"), call(1, "open"), call(3, "open")]);
    of("shop", "bob", vec![call(2, "open")]);
    of("blog", "ann", vec![call(4, "open")]);
    let ids = |window: Window| call_ids(&store.events(&window).unwrap());
    assert_eq!(ids(Window::default()), [1, 2, 3, 4, 5]);
    let shop = Window { project_id: Some("shop".into()), ..Window::default() };
    assert_eq!(ids(shop.clone()), [1, 2, 3, 5]);
    assert_eq!(ids(Window { from: Some(NOW + 2), ..shop.clone() }), [2, 3, 5]);
    assert_eq!(ids(Window { until: Some(NOW + 3), ..shop.clone() }), [1, 2], "exclusive");
    assert_eq!(ids(Window { user: UserFilter::Is(Some("bob".into())), ..shop.clone() }), [2]);
    assert_eq!(ids(Window { last: Some(2), ..shop.clone() }), [3, 5]);
    assert_eq!(ids(Window { user: UserFilter::Is(None), ..shop }), [0; 0]);
    assert_eq!(ids(Window { project_id: Some("none".into()), ..Window::default() }), [0; 0]);
}

pub(crate) fn outlines_have_the_same_sessions_and_asks(fixture: &Fixture) {
    let store = fixture.store();
    let events = vec![everything(), failed(2, "mail", "no route"), request(3, "a PDF")];
    store.append(&batch("ann", events)).unwrap();
    let outline = Window { detail: Detail::Outline, ..Window::default() };
    let outline = sessions(&store.events(&outline).unwrap());
    let full = sessions(&store.events(&Window::default()).unwrap());
    assert_eq!(outline.len(), full.len());
    for (outline, full) in outline.iter().zip(&full) {
        assert_eq!((&outline.id, outline.outcome), (&full.id, full.outcome));
        assert_eq!(outline.intent_summary, full.intent_summary);
        assert_eq!(asks(outline), asks(full));
        assert!(
            outline
                .events
                .iter()
                .all(|event| event.result.as_ref().is_none_or(serde_json::Value::is_null))
        );
    }
}

pub(crate) fn lists_offered_tools(fixture: &Fixture) {
    let store = fixture.store();
    let named = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    store.note_tools("shop", &named(&["open", "mail", "open"]), NOW).unwrap();
    store.note_tools("shop", &named(&["open", "print"]), NOW + HOUR).unwrap();
    store.note_tools("blog", &named(&["post"]), NOW).unwrap();
    store.note_tools("blog", &[], NOW).unwrap();
    let tools = |window: Window| store.tools(&window).unwrap();
    assert_eq!(tools(Window::default()), ["mail", "open", "post", "print"]);
    let shop = Window { project_id: Some("shop".into()), ..Window::default() };
    assert_eq!(tools(Window { from: Some(NOW + 1), ..shop.clone() }), ["open", "print"]);
    assert_eq!(tools(Window { until: Some(NOW + HOUR), ..shop }), ["mail", "open"]);
}

pub(crate) fn ingests_the_events_that_can_be_read(fixture: &Fixture) {
    let gaps = fixture.gaps();
    let mut good = serde_json::to_value(everything()).unwrap();
    good["arguments"] = json!({"password": "hunter2", "note": "write to bob@example.org"});
    good["timestamp"] = json!(NOW + 1_000 * HOUR);
    let bad = json!({"callId": "no", "toolName": "open", "timestamp": NOW});
    let body = json!({"projectId": "shop", "events": [good, bad]}).to_string();
    for known in [0, 1] {
        let answer = gaps.ingest(body.as_bytes(), NOW).unwrap();
        assert_eq!((answer.accepted, answer.known), (1, known));
        assert_eq!((answer.refused[0].index, answer.refused.len()), (1, 1));
    }
    let kept = fixture.store().events(&Window::default()).unwrap();
    assert_eq!(kept[0].event.missed, None, "only our own server knows of misses");
    assert_eq!(
        kept[0].event.arguments,
        json!({"password": "[REDACTED_FIELD]", "note": "write to [REDACTED_EMAIL]"})
    );
    assert!(kept[0].event.timestamp < NOW + HOUR, "a time in the future is capped");
    let error = gaps.ingest(b"[]", NOW).unwrap_err();
    assert_eq!(error.code().as_str(), "INVALID_ARGUMENT");
}
