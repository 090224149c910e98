//! From recorded calls to asks and a report.

use kenning_gaps::Event;
use kenning_gaps::ask::{AskKind, asks, core, missing};
use kenning_gaps::render::Format;
use kenning_gaps::report::{Confidence, Report, Scope, error_pattern, report};
use kenning_gaps::session::{Outcome, Session, sessions};
use proptest::prelude::*;

use crate::{by, call, embed, failed, missed, request, words_only};

fn sample() -> Vec<Session> {
    let with_intent =
        |event: Event, intent: &str| Event { intent: Some(intent.to_owned()), ..event };
    let mut records = by(
        "ann",
        vec![
            with_intent(call(1, "search"), "The user is trying to find last year's invoices"),
            call(2, "open"),
            request(3, "export the invoice as a PDF"),
        ],
    );
    records.extend(by("bob", vec![
        call(4, "search"),
        call(5, "open"),
        with_intent(call(6, "print"), "Opened the invoice. The user wanted to export invoices to PDF, but no export tool exists"),
        failed(7, "mail", "no route to 10.0.0.7 for 'ann'", Some("sending the invoice to the customer")),
    ]));
    records.extend(by(
        "cid",
        vec![
            failed(
                8,
                "mail",
                "no route to 10.0.0.9 for 'bob'",
                Some("mailing a customer their invoice"),
            ),
            request(9, ""),
            request(10, "<script>alert(1)</script> | [x](y)"),
        ],
    ));
    sessions(&records)
}

fn reported() -> Report {
    let offered = ["search", "open", "refund", "mcpeye_request_capability"].map(str::to_owned);
    report(&sample(), &offered, &Scope::default(), &embed)
}

#[test]
fn ranks_missing_capabilities() {
    insta::assert_json_snapshot!(reported());
}

#[test]
fn renders_markdown_html_and_json() {
    insta::assert_snapshot!(reported().render(Format::Markdown));
    let page = reported().render(Format::Html);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script"));
    let data: serde_json::Value = serde_json::from_str(&reported().render(Format::Json)).unwrap();
    assert_eq!(data["markdown"], reported().render(Format::Markdown));
}

#[test]
fn covers_the_sessions_of_its_scope() {
    let scope = |project: &str, from, until| Scope {
        project_id: Some(project.to_owned()),
        from,
        until,
        top: 10,
    };
    let count = |scope: Scope| report(&sample(), &[], &scope, &words_only).sessions;
    assert_eq!(count(scope("shop", None, None)), 3);
    assert_eq!(count(scope("other", None, None)), 0);
    assert_eq!(count(scope("shop", Some(1_006), None)), 2);
    assert_eq!(count(scope("shop", None, Some(1_004))), 1);
}

/// A miss is part of the session of its call, and counts once: not as a failed ask, too.
#[test]
fn a_miss_is_a_missing_capability_of_its_session() {
    let intent = Some("wanted to rotate keys, but no tool exists".to_owned());
    let events = vec![
        Event { intent, ..missed(1, "how to rotate keys") },
        missed(2, "how to rotate keys"),
        call(3, "open"),
    ];
    let mut records = by("ann", events);
    records.extend(by("bob", vec![missed(4, "how to rotate keys")]));
    let sessions = sessions(&records);
    let outcomes: Vec<Outcome> = sessions.iter().map(|session| session.outcome).collect();
    assert_eq!(outcomes, [Outcome::Partial, Outcome::Failed]);
    assert_eq!(sessions[1].intent_summary.as_deref(), Some("how to rotate keys"));
    let kinds: Vec<AskKind> = asks(&sessions[0]).iter().map(|ask| ask.kind).collect();
    assert_eq!(kinds, [AskKind::Miss, AskKind::Miss]);
    let report = report(&sessions, &[], &Scope::default(), &words_only);
    let [found] = &report.top_missing_capabilities[..] else { panic!("{report:#?}") };
    assert_eq!((found.capability.as_str(), found.count), ("how to rotate keys", 2));
    assert_eq!((found.confidence, found.requests), (Confidence::Medium, 0));
    assert_eq!(found.example_session_ids.len(), 2);
    assert_eq!((report.calls, report.top_failed_asks.len()), (4, 0));
}

proptest! {
    #[test]
    fn no_explicit_request_is_ever_dropped(
        capabilities in prop::collection::vec("\\PC{0,40}", 1..60), top in 0..5_usize
    ) {
        let events = capabilities.iter().zip(1..).map(|(text, number)| request(number, text));
        let sessions = sessions(&by("ann", events.collect()));
        let scope = Scope { top, ..Scope::default() };
        let report = report(&sessions, &[], &scope, &words_only);
        let counted: usize = report.top_missing_capabilities.iter().map(|m| m.requests).sum();
        prop_assert_eq!(counted, capabilities.len());
    }
}

#[test]
fn finds_the_missing_capability_in_an_intent() {
    let check =
        |intent: &str, expected: Option<&str>| assert_eq!(missing(intent).as_deref(), expected);
    check(
        "wanted to export the report as CSV, but no export tool exists",
        Some("export the report as CSV"),
    );
    check(
        "Listing files. The user wanted to rename one, but there is no rename tool",
        Some("rename one"),
    );
    check("There is no tool to rename files.", Some("rename files"));
    check("Listing files to find the newest one", None);
    check(
        "İstanbul'da hava, but no weather tool exists",
        Some("İstanbul'da hava, but no weather tool exists"),
    );
}

#[test]
fn removes_lead_ins() {
    assert_eq!(core("The user wants to please export it."), "export it");
    assert_eq!(core("I need a way to export"), "export");
    assert_eq!(core("needless"), "needless");
    assert_eq!(core("please"), "please");
}

#[test]
fn reduces_errors_to_patterns() {
    let check = |message: &str, pattern: &str| assert_eq!(error_pattern(message), pattern);
    check("no route to 10.0.0.7 for 'ann'\nat line 3", "no route to … for …");
    check(
        "user 6f1c2a34-9f00-4b1e-8a3d-0123456789ab can't see /home/a/b.txt",
        "user … can't see …",
    );
    check("\n\n", "(no message)");
}

#[test]
fn a_failed_call_without_intent_is_an_ask() {
    let sessions = sessions(&by("ann", vec![failed(1, "mail", "no route\nsecond line", None)]));
    let asks = asks(&sessions[0]);
    assert_eq!((asks[0].kind, asks[0].text.as_str()), (AskKind::Failed, "mail: no route"));
}
