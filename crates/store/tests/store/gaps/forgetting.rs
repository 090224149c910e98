//! Removing a user's calls, and old ones.

use kenning_gaps::decide::MergeGapRequest;
use kenning_gaps::forget::{ForgetUserRequest, ForgottenResponse};
use kenning_gaps::ports::{EventStore, GapStore, Window};
use kenning_gaps::show::ShowGapRequest;
use kenning_gaps::{Batch, Event, Gaps, Identity};

use super::fixture::{
    HOUR, NOW, all, batch, call, call_ids, embed, extracted, ingest, labelled, record_miss, request,
};
use crate::fixture::Fixture;

fn forget(gaps: &Gaps, user: &str) -> ForgottenResponse {
    gaps.forget_user(&ForgetUserRequest { user: user.into() }).unwrap()
}

fn text_of(fixture: &Fixture) -> String {
    let store = fixture.store();
    format!("{:?} {:?}", store.gaps(None).unwrap(), store.events(&Window::default()).unwrap())
}

pub(crate) fn forgets_a_user(fixture: &Fixture) {
    let gaps = fixture.gaps_with_meaning();
    let secret = "export the invoice of the Acme merger as a PDF";
    let of_ann = Event { user_email: Some("Ann@Example.org".into()), ..request(1, secret) };
    ingest(&gaps, &batch("shared", vec![of_ann]));
    ingest(&gaps, &batch("bob", vec![request(2, "export an invoice as a PDF")]));
    let identity = Identity { user_email: Some("ann@example.org".into()), ..Identity::default() };
    let events = vec![
        request(3, "translate a page"),
        Event { user_id: Some("bob".into()), ..call(4, "open") },
        call(5, "open"),
    ];
    ingest(&gaps, &Batch { project_id: "shop".into(), identity, events });
    gaps.extract_asks(NOW + HOUR).unwrap();
    assert_eq!(labelled(&all(&gaps), secret).asks, 2);
    // A call whose ask was not extracted yet is forgotten too.
    let waits = Event { user_email: Some("ann@example.org".into()), ..request(6, "wait for it") };
    ingest(&gaps, &batch("shared", vec![waits]));

    let removed = forget(&gaps, "ann@example.org");
    assert_eq!(removed, ForgottenResponse { events: 4, asks: 2, gaps: 1 });
    assert_eq!(gaps.extract_asks(NOW + HOUR).unwrap().asks, 0);
    assert_eq!(call_ids(&fixture.store().events(&Window::default()).unwrap()), [2, 4]);
    let text = text_of(fixture).to_lowercase();
    for words in ["acme", "ann@", "translate", "wait for it"] {
        assert!(!text.contains(words), "{words}: {text}");
    }
    let found = all(&gaps);
    let [gap] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((gap.label.as_str(), gap.asks, gap.requests), ("export an invoice as a PDF", 1, 1));
    let kept = fixture.store().gap(&gap.id).unwrap().unwrap();
    let meaning = embed("export an invoice as a PDF").unwrap();
    let likeness: f32 = kept.centroid.iter().zip(&meaning).map(|(a, b)| a * b).sum();
    assert!(likeness > 0.999, "{likeness}: its meaning is that of the words that are left");
    assert_eq!(forget(&gaps, "ann@example.org").events, 0);
    assert_eq!(forget(&gaps, "bob"), ForgottenResponse { events: 2, asks: 1, gaps: 1 });
    assert_eq!(fixture.store().gaps(None).unwrap(), []);
    let unnamed = gaps.forget_user(&ForgetUserRequest { user: " ".into() });
    assert_eq!(unnamed.unwrap_err().code().as_str(), "INVALID_ARGUMENT");
}

pub(crate) fn forgets_a_user_of_merged_gaps(fixture: &Fixture) {
    let gaps = fixture.gaps();
    let found = extracted(&gaps, &[("ann", "keep on paper"), ("bob", "export as PDF")]);
    let id = |label: &str| labelled(&found, label).id.clone();
    let merge = MergeGapRequest { id: id("keep on paper"), into: id("export as PDF") };
    gaps.merge(&merge, NOW).unwrap();
    assert_eq!(forget(&gaps, "ann"), ForgottenResponse { events: 1, asks: 1, gaps: 1 });
    let found = all(&gaps);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].asks, found[0].wordings.join("|")), (1, "export as PDF".into()));
}

pub(crate) fn forgets_old_calls_and_keeps_gaps(fixture: &Fixture) {
    let gaps = fixture.gaps_with_meaning();
    let day = 24 * HOUR;
    let old = |event: Event| Event { timestamp: NOW - 90 * day, ..event };
    ingest(&gaps, &batch("ann", vec![old(request(1, "export the invoice as a PDF"))]));
    ingest(&gaps, &batch("ann", vec![old(request(2, "export a bill as a PDF"))]));
    ingest(&gaps, &batch("bob", vec![request(3, "export an invoice to PDF")]));
    let pending = old(request(4, "translate a page"));
    gaps.note_tools("shop", &["gone".to_owned()], NOW - 90 * day).unwrap();
    gaps.note_tools("shop", &["here".to_owned()], NOW).unwrap();
    gaps.extract_asks(NOW).unwrap();
    ingest(&gaps, &batch("cid", vec![pending]));
    let before = labelled(&all(&gaps), "export the invoice as a PDF").clone();
    assert_eq!((before.asks, before.wordings.len()), (3, 3));

    let removed = gaps.forget_before(NOW - 30 * day, NOW + HOUR).unwrap();
    assert_eq!(removed, ForgottenResponse { events: 3, asks: 3, gaps: 0 });
    assert_eq!(call_ids(&fixture.store().events(&Window::default()).unwrap()), [3]);
    assert_eq!(fixture.store().tools(&Window::default()).unwrap(), ["here"]);
    let found = all(&gaps);
    let after = labelled(&found, "export the invoice as a PDF");
    assert_eq!((after.asks, after.requests), (3, 3), "counts stay");
    assert_eq!(after.wordings, ["export the invoice as a PDF", "export an invoice to PDF"]);
    assert_eq!(
        labelled(&found, "translate a page").asks,
        1,
        "asks are extracted before their call is removed"
    );
    let shown = gaps.show(&ShowGapRequest { id: after.id.clone(), max_sessions: None }).unwrap();
    assert_eq!((shown.asks.len(), shown.sessions.len()), (1, 1));
    record_miss(fixture, 9, "new");
    assert_eq!(fixture.store().miss_count().unwrap(), 1);
    let everything = gaps.forget_before(u64::MAX, u64::MAX).unwrap();
    assert_eq!((everything.events, everything.asks), (2, 2), "one of them a miss");
    assert_eq!(fixture.store().miss_count().unwrap(), 0);
    assert_eq!(all(&gaps).len(), 3, "gaps are never removed by age");
}
