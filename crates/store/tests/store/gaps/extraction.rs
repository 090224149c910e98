//! Asks become gaps.

use kenning_gaps::ask::AskKind;
use kenning_gaps::extract::Extracted;
use kenning_gaps::list::GapsRequest;
use kenning_gaps::ports::{Extraction, GapStore, NewAsk};
use kenning_gaps::reporting::ReportRequest;
use kenning_gaps::show::ShowGapRequest;
use kenning_gaps::{Event, OWN_PROJECT};
use serde_json::{Value, json};

use super::fixture::{
    HOUR, MINUTE, NOW, all, batch, call, extracted, failed, ingest, labelled, record_miss, request,
};
use crate::fixture::Fixture;

pub(crate) fn a_request_becomes_a_gap(fixture: &Fixture) {
    let gaps = fixture.gaps();
    let unmet = Event {
        intent: Some("wanted to translate a page, but no tool exists".into()),
        ..call(2, "open")
    };
    let events = vec![request(1, "export as PDF"), unmet, call(3, "open"), request(4, "")];
    assert_eq!(ingest(&gaps, &batch("ann", events.clone())), (4, 0));
    assert_eq!(all(&gaps), [], "ingest extracts nothing");
    assert_eq!(gaps.extract_asks(NOW).unwrap(), Extracted { calls: 3, asks: 3 });
    assert_eq!(gaps.extract_asks(NOW).unwrap(), Extracted::default(), "once");
    ingest(&gaps, &batch("ann", events));
    assert_eq!(gaps.extract_asks(NOW).unwrap(), Extracted::default(), "a batch that comes again");
    ingest(&gaps, &batch("bob", vec![request(5, "I want to export as PDF")]));
    gaps.extract_asks(NOW).unwrap();
    let found = all(&gaps);
    assert_eq!(found.len(), 3);
    let pdf = labelled(&found, "export as PDF");
    assert_eq!((pdf.asks, pdf.requests, pdf.kind), (2, 2, AskKind::Explicit));
    assert_eq!(labelled(&found, "translate a page").requests, 0);
    assert_eq!(labelled(&found, kenning_gaps::ask::UNSTATED).requests, 1);
    let page = |max_results, offset| {
        let request = GapsRequest { max_results, offset, ..GapsRequest::default() };
        gaps.gaps(&request).unwrap()
    };
    assert_eq!(page(Some(1), 0).gaps[0], *pdf, "what is requested most comes first");
    assert_eq!(page(Some(1), 0).gaps.len(), 1);
    assert_eq!((page(Some(1), 2).gaps.len(), page(Some(1), 2).total_available), (1, 3));
    assert_eq!(page(None, 3).gaps, []);
    let miss = GapsRequest { kind: Some(AskKind::Miss), ..GapsRequest::default() };
    assert_eq!(gaps.gaps(&miss).unwrap().total_available, 0);
}

pub(crate) fn a_failure_counts_when_its_session_is_over(fixture: &Fixture) {
    let gaps = fixture.gaps();
    let later = |number: u64, event: Event| Event { timestamp: NOW + number * MINUTE, ..event };
    let resolved = vec![failed(1, "mail", "no route"), later(5, call(2, "mail"))];
    let stays =
        vec![failed(3, "print", "no paper"), later(5, call(4, "open")), later(29, call(5, "open"))];
    ingest(&gaps, &batch("ann", resolved));
    ingest(&gaps, &batch("bob", stays));
    assert_eq!(gaps.extract_asks(NOW + 10 * MINUTE).unwrap(), Extracted::default(), "too early");
    let first = gaps.extract_asks(NOW + 31 * MINUTE).unwrap();
    assert_eq!(first, Extracted { calls: 2, asks: 0 }, "both sessions go on");
    let second = gaps.extract_asks(NOW + 40 * MINUTE).unwrap();
    assert_eq!(second, Extracted { calls: 1, asks: 0 }, "ann's is over, and the retry succeeded");
    let last = gaps.extract_asks(NOW + 60 * MINUTE).unwrap();
    assert_eq!(last, Extracted { calls: 1, asks: 1 });
    let found = all(&gaps);
    assert_eq!((found[0].label.as_str(), found[0].kind), ("print: no paper", AskKind::Failed));
    assert_eq!((found.len(), found[0].requests), (1, 0));
}

pub(crate) fn a_miss_becomes_a_gap(fixture: &Fixture) {
    record_miss(fixture, 1, "how to rotate keys");
    record_miss(fixture, 2, "how to rotate keys");
    record_miss(fixture, 3, "write to ann@example.org\0");
    let gaps = fixture.gaps();
    assert_eq!(gaps.extract_asks(0).unwrap(), Extracted { calls: 3, asks: 3 });
    assert_eq!(gaps.extract_asks(0).unwrap(), Extracted::default());
    let found = all(&gaps);
    let keys = labelled(&found, "how to rotate keys");
    assert_eq!((keys.asks, keys.requests, keys.kind), (2, 0, AskKind::Miss));
    assert_eq!(keys.project_id, OWN_PROJECT);
    labelled(&found, "write to [REDACTED_EMAIL]\u{fffd}");
    let shown = gaps.show(&ShowGapRequest { id: keys.id.clone(), max_sessions: None }).unwrap();
    assert_eq!((shown.asks.len(), shown.sessions.len()), (2, 1));
    assert_eq!(shown.asks[0].tool, "discover_context");
    assert_eq!(shown.asks[0].session_id.as_ref(), Some(&shown.sessions[0].session.id));
    let report = gaps.report(&ReportRequest::default()).unwrap().report;
    let top = &report.top_missing_capabilities[0];
    assert_eq!((top.capability.as_str(), top.count), ("how to rotate keys", 1), "one session");
    assert_eq!((report.calls, report.outcomes["failed"]), (3, 1));
    let of_shop = ReportRequest { project_id: Some("shop".into()), ..ReportRequest::default() };
    assert_eq!(gaps.report(&of_shop).unwrap().report.top_missing_capabilities, []);
    assert_eq!(fixture.store().miss_count().unwrap(), 3);
}

/// A commit with an unknown gap stores nothing, and the call stays pending.
pub(crate) fn a_failed_commit_is_repeated(fixture: &Fixture) {
    let gaps = fixture.gaps();
    ingest(&gaps, &batch("ann", vec![request(1, "export as PDF")]));
    let store = fixture.store();
    let pending = store.pending_calls(NOW, 10).unwrap();
    let ask = NewAsk {
        pending: pending[0].id,
        kind: AskKind::Explicit,
        tool: String::new(),
        text: "export as PDF".into(),
        at: NOW,
    };
    let extraction = Extraction { asks: vec![ask], ..Extraction::default() };
    let unknown = &mut |_: &mut Vec<_>, _: &[&NewAsk]| vec!["g-unknown".to_owned()];
    assert!(store.commit_extraction("shop", &extraction, unknown).is_err());
    assert_eq!(gaps.extract_asks(NOW).unwrap().asks, 1);
    let again = store.commit_extraction("shop", &extraction, &mut |_, asks| {
        assert_eq!(asks.len(), 0, "it is no longer pending");
        Vec::new()
    });
    assert_eq!(again.unwrap(), 0);
}

pub(crate) fn shows_a_gap_with_its_sessions(fixture: &Fixture) {
    let gaps = fixture.gaps();
    let day = 24 * HOUR;
    let before = |event: Event| Event { timestamp: NOW - day, ..event };
    ingest(&gaps, &batch("ann", vec![call(1, "search"), request(2, "export as PDF")]));
    ingest(&gaps, &batch("bob", vec![before(request(3, "export as PDF")), call(4, "open")]));
    ingest(&gaps, &batch("bob", vec![request(5, "export as PDF")]));
    gaps.extract_asks(NOW + HOUR).unwrap();
    let id = all(&gaps)[0].id.clone();
    let shown = gaps.show(&ShowGapRequest { id: id.clone(), max_sessions: None }).unwrap();
    assert_eq!((shown.gap.asks, shown.asks.len()), (3, 3));
    let sessions: Vec<(Option<&str>, usize)> = shown
        .sessions
        .iter()
        .map(|one| (one.session.user.as_deref(), one.session.events.len()))
        .collect();
    assert_eq!(sessions, [(Some("bob"), 2), (Some("ann"), 2), (Some("bob"), 1)]);
    let ids: Vec<Option<&str>> = shown.asks.iter().map(|ask| ask.session_id.as_deref()).collect();
    assert_eq!(
        ids,
        shown.sessions.iter().map(|one| Some(one.session.id.as_str())).collect::<Vec<_>>()
    );
    assert_eq!(shown.sessions[1].session.events[0].result, Some(json!({"content": []})), "in full");
    let one = gaps.show(&ShowGapRequest { id, max_sessions: Some(1) }).unwrap();
    assert_eq!((one.sessions.len(), one.asks.len()), (1, 3));
    let error = gaps.show(&ShowGapRequest { id: "g-none".into(), max_sessions: None }).unwrap_err();
    assert_eq!(error.body().error.as_str(), "GAP_NOT_FOUND");
}

pub(crate) fn reports_as_the_contract_says(fixture: &Fixture) {
    let gaps = fixture.gaps_with_meaning();
    let requests = ["export the invoice as a PDF", "I want to export an invoice to PDF"];
    extracted(&gaps, &[("ann", requests[0]), ("bob", requests[1])]);
    ingest(&gaps, &batch("cid", vec![failed(9, "mail", "no route to 10.0.0.7")]));
    gaps.note_tools("shop", &["mail".to_owned(), "refund".to_owned()], NOW).unwrap();
    let window = ReportRequest {
        project_id: Some("shop".into()),
        from: Some(NOW),
        until: Some(NOW + HOUR),
        top: Some(5),
    };
    let answer = serde_json::to_value(gaps.report(&window).unwrap()).unwrap();
    assert_eq!(answer["topMissingCapabilities"][0]["count"], 2);
    assert_eq!(answer["topMissingCapabilities"][0]["confidence"], "high");
    assert_eq!(answer["topFailedAsks"][0]["ask"], "mail: no route to 10.0.0.7");
    assert_eq!(
        answer["errorPatterns"],
        json!([{"tool": "mail", "error": "no route to …", "count": 1}])
    );
    assert_eq!(answer["toolsNeverCalled"], json!(["refund"]));
    for list in ["topIntents", "toolCombos"] {
        assert!(answer[list].is_array(), "{list}");
    }
    assert!(answer["markdown"].as_str().unwrap().starts_with("# Gaps of shop"));
    let later = ReportRequest { from: Some(NOW + 10 * HOUR), until: None, ..window.clone() };
    assert_eq!(gaps.report(&later).unwrap().report.sessions, 0);
    let wrong = ReportRequest { until: Some(NOW), ..window };
    assert_eq!(gaps.report(&wrong).unwrap_err().body().details, json!({"argument": "until"}));
    let schema = schemars::schema_for!(kenning_gaps::reporting::ReportResponse);
    let fields = schema.as_value()["properties"].as_object().unwrap();
    let missing: Vec<&String> =
        answer.as_object().unwrap().keys().filter(|key| !fields.contains_key(*key)).collect();
    assert_eq!(missing, [""; 0], "the schema has every field");
    assert_eq!(answer.get("centroid"), None::<&Value>);
}
