//! The life cycle of a gap.

use kenning_gaps::ask::AskKind;
use kenning_gaps::gap::{
    self, Change, Closing, Evidence, Fresh, Gap, GapError, IncomingAsk, Source, Status,
};

use crate::embed;

fn ask(text: &str, at: u64) -> IncomingAsk<'_> {
    IncomingAsk { project_id: "shop", kind: AskKind::Explicit, text, at }
}

fn gaps(texts: &[&str]) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let asks: Vec<IncomingAsk<'_>> =
        texts.iter().zip(1..).map(|(text, at)| ask(text, at)).collect();
    gap::assign(&mut gaps, &asks, &embed);
    gaps
}

fn person() -> Evidence {
    Evidence::Person { name: "ann".into(), note: "done".into() }
}

#[test]
fn assigns_asks_to_similar_gaps_of_their_project() {
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
    let other = IncomingAsk { project_id: "other", ..ask("translate a page", 9) };
    let changed = gap::assign(&mut found, &[other], &embed);
    assert_eq!(found.len(), 3, "another project has gaps of its own");
    assert_eq!(changed, [found[2].id.clone()]);
}

#[test]
fn a_later_ask_reopens_a_closed_gap() {
    let mut found = gaps(&["translate a page"]);
    found[0].change(Change::Close(person()), 10).unwrap();
    gap::assign(&mut found, &[ask("translate a page", 5)], &embed);
    assert_eq!(found[0].status.name(), "closed", "an old ask that arrives late");
    gap::assign(&mut found, &[ask("translate a page", 11)], &embed);
    assert_eq!(found[0].status.name(), "reopened");
    found[0].change(Change::Mute, 12).unwrap();
    gap::assign(&mut found, &[ask("translate a page", 13)], &embed);
    assert_eq!((found[0].status.name(), found[0].asks), ("muted", 4));
}

#[test]
fn refuses_changes_that_the_status_does_not_allow() {
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
    let changed = gap::assign(&mut found, &[ask("translate a page", 5)], &embed);
    assert_eq!(changed, [second], "asks for a merged gap count for its target");
    assert_eq!(found[1].asks, 2);
}

#[test]
fn absorbs_the_asks_of_a_merged_gap() {
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
fn new_content_answers_only_matching_gaps() {
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
fn only_open_gaps_are_answered() {
    let mut found = gaps(&["rotate the database credentials"]);
    let new = [fresh("n", "Rotate the database credentials", "How.")];
    assert_eq!(gap::answered(&found, &new).len(), 1);
    found[0].status = Status::Muted { at: 1 };
    assert!(gap::answered(&found, &new).is_empty());
}

#[test]
fn gaps_survive_serialization() {
    let mut found = gaps(&["translate a page"]);
    found[0].change(Change::Close(person()), 10).unwrap();
    let text = serde_json::to_string(&found[0]).unwrap();
    assert_eq!(serde_json::from_str::<Gap>(&text).unwrap(), found[0]);
}
