//! From events to a report, and from a gap to its end.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use kenning_embed::Embedder;
use kenning_gaps::ask::{Ask, AskKind, asks, core, missing};
use kenning_gaps::gap::{
    self, Change, Closing, Evidence, Fresh, Gap, GapError, Heard, Source, Status,
};
use kenning_gaps::proposal::{ProposalStatus, Verdict};
use kenning_gaps::render::Format;
use kenning_gaps::report::{Besides, Confidence, Report, Scope, error_pattern, report};
use kenning_gaps::session::{PAUSE, Recorded, Session, sessions};
use kenning_gaps::{Event, Identity, Proposal};
use proptest::prelude::*;
use serde_json::json;
use std::sync::LazyLock;

static MODEL: LazyLock<Embedder> = LazyLock::new(|| Embedder::bundled().unwrap());

fn embed(text: &str) -> Option<Vec<f32>> {
    MODEL.embed(text).ok()
}

fn words_only(_: &str) -> Option<Vec<f32>> {
    None
}

fn event(number: u64, tool: &str) -> Event {
    Event {
        call_id: format!("00000000-0000-4000-8000-{number:012}"),
        tool_name: tool.to_owned(),
        arguments: json!({}),
        is_error: false,
        timestamp: 1_000 + number,
        duration_ms: 1,
        result: Some(json!({})),
        error_message: None,
        intent: None,
        intent_source: None,
        user_id: None,
        user_email: None,
    }
}

fn request(number: u64, capability: &str) -> Event {
    Event {
        arguments: json!({"capability": capability}),
        ..event(number, "mcpeye_request_capability")
    }
}

fn failed(number: u64, tool: &str, error: &str, intent: Option<&str>) -> Event {
    Event {
        is_error: true,
        result: None,
        error_message: Some(error.to_owned()),
        intent: intent.map(str::to_owned),
        ..event(number, tool)
    }
}

fn of(user: &str, events: Vec<Event>) -> Vec<Recorded> {
    let identity = Identity { user_id: Some(user.to_owned()), ..Identity::default() };
    let records = events.into_iter();
    records
        .map(|event| Recorded { project_id: "shop".into(), identity: identity.clone(), event })
        .collect()
}

fn story() -> Vec<Session> {
    let with_intent =
        |event: Event, intent: &str| Event { intent: Some(intent.to_owned()), ..event };
    let mut records = of(
        "ann",
        vec![
            with_intent(event(1, "search"), "The user is trying to find last year's invoices"),
            event(2, "open"),
            request(3, "export the invoice as a PDF"),
        ],
    );
    records.extend(of("bob", vec![
        event(4, "search"),
        event(5, "open"),
        with_intent(event(6, "print"), "Opened the invoice. The user wanted to export invoices to PDF, but no export tool exists"),
        failed(7, "mail", "no route to 10.0.0.7 for 'ann'", Some("sending the invoice to the customer")),
    ]));
    records.extend(of(
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
    sessions(&records, PAUSE)
}

fn reported() -> Report {
    let listed = ["search", "open", "refund", "mcpeye_request_capability"].map(str::to_owned);
    let besides = Besides { listed: &listed, misses: &[] };
    report(&story(), &besides, &Scope::default(), &embed)
}

#[test]
fn a_report_ranks_what_is_missing() {
    insta::assert_json_snapshot!(reported());
}

#[test]
fn a_report_is_written_for_people() {
    insta::assert_snapshot!(reported().render(Format::Markdown));
    let page = reported().render(Format::Html);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script"));
    let data: serde_json::Value = serde_json::from_str(&reported().render(Format::Json)).unwrap();
    assert_eq!(data["markdown"], reported().render(Format::Markdown));
}

#[test]
fn a_report_keeps_to_its_scope() {
    let scope = |project: &str, from, until| Scope {
        project_id: Some(project.to_owned()),
        from,
        until,
        top: 10,
    };
    let count = |scope: Scope| report(&story(), &Besides::default(), &scope, &words_only).sessions;
    assert_eq!(count(scope("shop", None, None)), 3);
    assert_eq!(count(scope("other", None, None)), 0);
    assert_eq!(count(scope("shop", Some(1_006), None)), 2);
    assert_eq!(count(scope("shop", None, Some(1_004))), 1);
}

#[test]
fn misses_are_missing_capabilities_too() {
    let miss = Ask {
        kind: AskKind::Miss,
        text: "how to rotate keys".into(),
        project_id: "shop".into(),
        session_id: "m".into(),
        call_id: "m".into(),
        tool: "discover_context".into(),
        at: 1,
    };
    let besides = Besides { listed: &[], misses: &[miss] };
    let report = report(&[], &besides, &Scope::default(), &words_only);
    let found = &report.top_missing_capabilities[0];
    assert_eq!(
        (found.capability.as_str(), found.confidence),
        ("how to rotate keys", Confidence::Medium)
    );
}

proptest! {
    #[test]
    fn no_explicit_request_is_ever_dropped(
        capabilities in prop::collection::vec("\\PC{0,40}", 1..60), top in 0..5_usize
    ) {
        let events = capabilities.iter().zip(1..).map(|(text, number)| request(number, text));
        let sessions = sessions(&of("ann", events.collect()), PAUSE);
        let scope = Scope { top, ..Scope::default() };
        let report = report(&sessions, &Besides::default(), &scope, &words_only);
        let counted: usize = report.top_missing_capabilities.iter().map(|m| m.requests).sum();
        prop_assert_eq!(counted, capabilities.len());
    }
}

#[test]
fn intents_say_what_is_missing() {
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
fn lead_ins_say_nothing() {
    assert_eq!(core("The user wants to please export it."), "export it");
    assert_eq!(core("I need a way to export"), "export");
    assert_eq!(core("needless"), "needless");
    assert_eq!(core("please"), "please");
}

#[test]
fn errors_of_one_kind_are_one_pattern() {
    let check = |message: &str, pattern: &str| assert_eq!(error_pattern(message), pattern);
    check("no route to 10.0.0.7 for 'ann'\nat line 3", "no route to … for …");
    check(
        "user 6f1c2a34-9f00-4b1e-8a3d-0123456789ab can't see /home/a/b.txt",
        "user … can't see …",
    );
    check("\n\n", "(no message)");
}

#[test]
fn a_failed_call_without_words_is_still_an_ask() {
    let sessions =
        sessions(&of("ann", vec![failed(1, "mail", "no route\nsecond line", None)]), PAUSE);
    let asks = asks(&sessions[0]);
    assert_eq!((asks[0].kind, asks[0].text.as_str()), (AskKind::Failed, "mail: no route"));
}

fn heard(text: &str, at: u64) -> Heard<'_> {
    Heard { project_id: "shop", kind: AskKind::Explicit, text, at }
}

fn gaps(texts: &[&str]) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let asks: Vec<Heard<'_>> = texts.iter().zip(1..).map(|(text, at)| heard(text, at)).collect();
    gap::hear(&mut gaps, &asks, &embed);
    gaps
}

fn person() -> Evidence {
    Evidence::Person { name: "ann".into(), note: "done".into() }
}

#[test]
fn asks_find_their_gap() {
    let mut found = gaps(&[
        "export the invoice as a PDF",
        "translate a page",
        "I want to export an invoice to PDF",
    ]);
    assert_eq!(found.len(), 2);
    assert_eq!(
        (found[0].label.as_str(), found[0].asks, found[0].last_asked),
        ("export the invoice as a PDF", 2, 3)
    );
    assert_eq!(found[0].wordings, ["export the invoice as a PDF", "export an invoice to PDF"]);
    let other = Heard { project_id: "other", ..heard("translate a page", 9) };
    let changed = gap::hear(&mut found, &[other], &embed);
    assert_eq!(found.len(), 3, "another project has gaps of its own");
    assert_eq!(changed, [found[2].id.clone()]);
}

#[test]
fn a_closed_gap_opens_when_it_is_asked_for_again() {
    let mut found = gaps(&["translate a page"]);
    found[0].change(Change::Close(person()), 10).unwrap();
    gap::hear(&mut found, &[heard("translate a page", 5)], &embed);
    assert_eq!(found[0].status.name(), "closed", "an old ask that arrives late");
    gap::hear(&mut found, &[heard("translate a page", 11)], &embed);
    assert_eq!(found[0].status.name(), "reopened");
    found[0].change(Change::Mute, 12).unwrap();
    gap::hear(&mut found, &[heard("translate a page", 13)], &embed);
    assert_eq!((found[0].status.name(), found[0].asks), ("muted", 4));
}

#[test]
fn changes_that_make_no_sense_are_refused() {
    let mut found = gaps(&["translate a page", "export as PDF"]);
    let (first, second) = (found[0].id.clone(), found[1].id.clone());
    let gap = &mut found[0];
    let refused = gap.change(Change::Reopen { because: String::new() }, 1).unwrap_err();
    assert_eq!(refused.to_string(), format!("gap `{first}` is open; it cannot be reopened"));
    assert!(matches!(
        gap.change(Change::Merge { into: first }, 1),
        Err(GapError::IntoItself { .. })
    ));
    gap.change(Change::Close(person()), 1).unwrap();
    assert!(gap.change(Change::Close(person()), 1).is_err());
    gap.change(Change::Reopen { because: "wrong".into() }, 2).unwrap();
    gap.change(Change::Merge { into: second.clone() }, 3).unwrap();
    assert!(gap.change(Change::Mute, 4).is_err());
    let changed = gap::hear(&mut found, &[heard("translate a page", 5)], &embed);
    assert_eq!(changed, [second], "asks for a merged gap go where it went");
    assert_eq!(found[1].asks, 2);
}

#[test]
fn a_gap_takes_over_what_is_merged_into_it() {
    let mut found = gaps(&["translate a page", "export as PDF"]);
    let other = found.pop().unwrap();
    found[0].absorb(&other);
    assert_eq!((found[0].asks, found[0].requests, found[0].last_asked), (2, 2, 2));
    assert_eq!(found[0].wordings, ["translate a page", "export as PDF"]);
}

fn fresh(id: &str, title: &str, text: &str) -> Fresh {
    let vectors = vec![embed(&format!("{title}\n{text}")).unwrap()];
    Fresh { id: id.into(), source: Source::Node, title: title.into(), text: text.into(), vectors }
}

#[test]
fn what_is_new_closes_what_it_answers_and_nothing_else() {
    let found = gaps(&[
        "how to rotate the database credentials",
        "export the invoice as a PDF",
        "roll back a failed deployment",
    ]);
    let new = [
        fresh(
            "ops.rotate",
            "Rotating database credentials",
            "Create new credentials, point the services at them, then revoke the old ones.",
        ),
        fresh("ops.oncall", "On-call duties", "Who answers the pager, and when to escalate."),
    ];
    let closed = gap::answered(&found, &new);
    let [Closing { gap_id, evidence: Evidence::Answer { id, likeness, .. } }] = &closed[..] else {
        panic!("{closed:?}");
    };
    assert_eq!((gap_id, id.as_str()), (&found[0].id, "ops.rotate"));
    assert!(*likeness > 0.5);
}

#[test]
fn only_open_gaps_are_closed() {
    let mut found = gaps(&["rotate the database credentials"]);
    let new = [fresh("n", "Rotate the database credentials", "How.")];
    assert_eq!(gap::answered(&found, &new).len(), 1);
    found[0].status = Status::Muted { at: 1 };
    assert!(gap::answered(&found, &new).is_empty());
}

#[test]
fn gaps_survive_being_written_down() {
    let mut found = gaps(&["translate a page"]);
    found[0].change(Change::Close(person()), 10).unwrap();
    let text = serde_json::to_string(&found[0]).unwrap();
    assert_eq!(serde_json::from_str::<Gap>(&text).unwrap(), found[0]);
}

#[test]
fn proposals_are_checked() {
    let check = |title: &str, markdown: &str, path: &str, expected: &str| {
        assert_eq!(
            Proposal::new(title, markdown, path, None, 1).unwrap_err().to_string(),
            expected
        );
    };
    check(" ", "x", "a.md", "`title` is empty");
    check("t", " ", "a.md", "`markdown` is empty");
    check(&"t".repeat(201), "x", "a.md", "`title` is 201 long; it can be 200");
    let path = |path: &str, reason: &str| {
        let expected =
            format!("`{path}` is not a path of a Markdown file below the root: {reason}");
        check("t", "x", path, &expected);
    };
    path("/etc/a.md", "it starts at the root of the file system");
    path("../a.md", "it has a hidden or a dotted name");
    path("a/../b.md", "it has a hidden or a dotted name");
    path(".git/a.md", "it has a hidden or a dotted name");
    path("a//b.md", "it has an empty name");
    path("a\\b.md", "it has a character that not every file system takes");
    path("a\u{1}.md", "it has a character that not every file system takes");
    path("a.txt", "it does not end in `.md`");
}

#[test]
fn a_proposal_is_decided_once() {
    let new =
        || Proposal::new("Rotating  keys", "How it is done.", "ops/ROTATE.md", None, 1).unwrap();
    let mut proposal = new();
    assert_eq!(proposal.markdown, "# Rotating keys\n\nHow it is done.\n");
    assert_eq!(proposal.id, new().id);
    proposal.decide(Verdict::Accept, "ann", 2).unwrap();
    assert_eq!(proposal.status, ProposalStatus::Accepted { at: 2, by: "ann".into() });
    let again = proposal.decide(Verdict::Reject { reason: "no".into() }, "bob", 3).unwrap_err();
    assert_eq!(again.to_string(), format!("proposal `{}` is accepted already", proposal.id));
}
