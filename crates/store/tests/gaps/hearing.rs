//! What was asked becomes gaps.

use kenning_gaps::ask::AskKind;
use kenning_gaps::digest::Digested;
use kenning_gaps::list::GapsRequest;
use kenning_gaps::ports::{GapStore, Looked, NewAsk};
use kenning_gaps::reporting::ReportRequest;
use kenning_gaps::show::ShowGapRequest;
use kenning_gaps::{Event, OWN_PROJECT};
use kenning_knowledge::discover::Miss;
use serde_json::{Value, json};

use crate::fixture::{
    Fixture, HOUR, MINUTE, NOW, all, batch, call, failed, heard, ingest, labelled, request,
};

pub(crate) fn a_request_becomes_a_gap(fixture: &Fixture) {
    let gaps = fixture.gaps();
    let unmet = Event {
        intent: Some("wanted to translate a page, but no tool exists".into()),
        ..call(2, "open")
    };
    let events = vec![request(1, "export as PDF"), unmet, call(3, "open"), request(4, "")];
    assert_eq!(ingest(&gaps, &batch("ann", events.clone())), (4, 0));
    assert_eq!(all(&gaps), [], "not on the way in");
    assert_eq!(gaps.digest(NOW).unwrap(), Digested { looked_at: 3, heard: 3 });
    assert_eq!(gaps.digest(NOW).unwrap(), Digested::default(), "once");
    ingest(&gaps, &batch("ann", events));
    assert_eq!(gaps.digest(NOW).unwrap(), Digested::default(), "a batch that comes again");
    ingest(&gaps, &batch("bob", vec![request(5, "I want to export as PDF")]));
    gaps.digest(NOW).unwrap();
    let found = all(&gaps);
    assert_eq!(found.len(), 3);
    let pdf = labelled(&found, "export as PDF");
    assert_eq!((pdf.asks, pdf.requests, pdf.kind), (2, 2, AskKind::Explicit));
    assert_eq!(labelled(&found, "translate a page").requests, 0);
    assert_eq!(labelled(&found, kenning_gaps::ask::UNSPOKEN).requests, 1);
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
    let made_good = vec![failed(1, "mail", "no route"), later(5, call(2, "mail"))];
    let stays =
        vec![failed(3, "print", "no paper"), later(5, call(4, "open")), later(29, call(5, "open"))];
    ingest(&gaps, &batch("ann", made_good));
    ingest(&gaps, &batch("bob", stays));
    assert_eq!(gaps.digest(NOW + 10 * MINUTE).unwrap(), Digested::default(), "too early");
    let first = gaps.digest(NOW + 31 * MINUTE).unwrap();
    assert_eq!(first, Digested { looked_at: 2, heard: 0 }, "both sessions go on");
    let second = gaps.digest(NOW + 40 * MINUTE).unwrap();
    assert_eq!(second, Digested { looked_at: 1, heard: 0 }, "ann's is over, and went well");
    let last = gaps.digest(NOW + 60 * MINUTE).unwrap();
    assert_eq!(last, Digested { looked_at: 1, heard: 1 });
    let found = all(&gaps);
    assert_eq!((found[0].label.as_str(), found[0].kind), ("print: no paper", AskKind::Failed));
    assert_eq!((found.len(), found[0].requests), (1, 0));
}

pub(crate) fn misses_are_gaps_too(fixture: &Fixture) {
    let store = fixture.store();
    let note = |query| store.record_now(&Miss { tool: "discover_context", query }).unwrap();
    note("how to rotate keys");
    note("how to rotate keys");
    note("write to ann@example.org\0");
    let gaps = fixture.gaps();
    assert_eq!(gaps.digest(0).unwrap(), Digested { looked_at: 3, heard: 3 });
    assert_eq!(gaps.digest(0).unwrap(), Digested::default());
    let found = all(&gaps);
    let keys = labelled(&found, "how to rotate keys");
    assert_eq!((keys.asks, keys.kind), (2, AskKind::Miss));
    assert_eq!(keys.project_id, OWN_PROJECT);
    labelled(&found, "write to [REDACTED_EMAIL]");
    let shown = gaps.show(&ShowGapRequest { id: keys.id.clone(), max_sessions: None }).unwrap();
    assert_eq!((shown.asks.len(), shown.sessions.len()), (2, 0));
    assert_eq!(shown.asks[0].tool, "discover_context");
    let report = gaps.report(&ReportRequest::default()).unwrap().report;
    assert_eq!(report.top_missing_capabilities[0].capability, "how to rotate keys");
    assert_eq!(report.top_missing_capabilities[0].count, 2);
    let of_shop = ReportRequest { project_id: Some("shop".into()), ..ReportRequest::default() };
    assert_eq!(gaps.report(&of_shop).unwrap().report.top_missing_capabilities, []);
    assert_eq!(store.miss_count().unwrap(), 3, "they are still counted");
}

/// Whoever hears says which gap each ask went to. If that cannot be kept, nothing is.
pub(crate) fn a_digest_that_fails_hears_later(fixture: &Fixture) {
    let gaps = fixture.gaps();
    ingest(&gaps, &batch("ann", vec![request(1, "export as PDF")]));
    let store = fixture.store();
    let waiting = store.waiting(NOW, 10).unwrap();
    let ask = NewAsk {
        ticket: waiting[0].ticket,
        kind: AskKind::Explicit,
        tool: String::new(),
        text: "export as PDF".into(),
        at: NOW,
    };
    let looked = Looked { asks: vec![ask], ..Looked::default() };
    let nowhere = &mut |_: &mut Vec<_>, _: &[&NewAsk]| vec!["g-unknown".to_owned()];
    assert!(store.hear("shop", &looked, nowhere).is_err());
    assert_eq!(gaps.digest(NOW).unwrap().heard, 1);
    let heard = store.hear("shop", &looked, &mut |_, asks| {
        assert_eq!(asks.len(), 0, "somebody else took it");
        Vec::new()
    });
    assert_eq!(heard.unwrap(), 0);
}

pub(crate) fn a_gap_is_shown_with_its_sessions(fixture: &Fixture) {
    let gaps = fixture.gaps();
    let day = 24 * HOUR;
    let before = |event: Event| Event { timestamp: NOW - day, ..event };
    ingest(&gaps, &batch("ann", vec![call(1, "search"), request(2, "export as PDF")]));
    ingest(&gaps, &batch("bob", vec![before(request(3, "export as PDF")), call(4, "open")]));
    ingest(&gaps, &batch("bob", vec![request(5, "export as PDF")]));
    gaps.digest(NOW + HOUR).unwrap();
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

pub(crate) fn the_report_is_that_of_the_contract(fixture: &Fixture) {
    let gaps = fixture.gaps_with_meaning();
    let requests = ["export the invoice as a PDF", "I want to export an invoice to PDF"];
    heard(&gaps, &[("ann", requests[0]), ("bob", requests[1])]);
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
