//! Gaps from the first ask to the answer.

use kenning_gaps::Gap;
use kenning_gaps::ask::AskKind;
use kenning_gaps::gap::{Evidence, Fresh, Source, Status};
use kenning_gaps::list::{GapsRequest, Standing};
use kenning_gaps::ports::GapStore;

use super::fixture::{HOUR, NOW, batch, embed, extracted, ingest, labelled, request};
use crate::fixture::Fixture;

fn gap(number: usize, status: Status, centroid: Vec<f32>) -> Gap {
    Gap {
        id: format!("g-{number}"),
        project_id: "shop".into(),
        kind: AskKind::Unmet,
        label: "“quoted” 🚀 \u{0} '; --".into(),
        status,
        asks: u64::from(u32::MAX) * 1_000,
        requests: 7,
        wordings: vec!["a".into(), String::new()],
        first_asked: 1,
        last_asked: NOW,
        centroid,
    }
}

pub(crate) fn reads_gaps_as_they_were_written(fixture: &Fixture) {
    let answer = |likeness| Evidence::Answer {
        id: "ops.rotate".into(),
        source: Source::Node,
        title: "Rotate".into(),
        likeness,
    };
    let person = Evidence::Person { name: "ann".into(), note: String::new() };
    let mut statuses = vec![
        Status::Open,
        Status::Closed { at: 5, evidence: person },
        Status::Muted { at: 6 },
        Status::Merged { at: 7, into: "g-1".into() },
        Status::Reopened { at: 8, because: "again".into() },
    ];
    // Numbers with a long decimal form.
    let mut likeness = 0.1_f32;
    for _ in 0..50 {
        statuses.push(Status::Closed { at: 5, evidence: answer(likeness) });
        likeness = (likeness * 1.37) % 1.0;
    }
    let odd = vec![0.1, -0.0, f32::MIN_POSITIVE, 1e-40, f32::MAX, 0.333_333_34];
    let vectors = [Vec::new(), odd, embed("a PDF").unwrap()];
    let mut gaps: Vec<Gap> = statuses
        .into_iter()
        .enumerate()
        .map(|(n, status)| gap(n, status, vectors[n % 3].clone()))
        .collect();
    gaps.sort_by(|a, b| a.id.cmp(&b.id));
    let added = gaps.clone();
    fixture
        .store()
        .change_gaps("shop", &mut |there| {
            there.clone_from(&added);
            Ok(())
        })
        .unwrap();
    let read = fixture.store().gaps(Some("shop")).unwrap();
    assert_eq!(read, gaps);
    let bits = |gaps: &[Gap]| -> Vec<u32> {
        gaps.iter().flat_map(|gap| &gap.centroid).map(|value| value.to_bits()).collect()
    };
    assert_eq!(bits(&read), bits(&gaps), "to the last bit");
    assert_eq!(fixture.store().gaps(Some("blog")).unwrap(), []);
    assert_eq!(fixture.store().gap("g-3").unwrap().unwrap().id, "g-3");
    assert_eq!(fixture.store().gap("g-none").unwrap(), None);
}

fn fresh(id: &str, title: &str, text: &str) -> Fresh {
    let (title, text) = (title.to_owned(), text.to_owned());
    Fresh { id: id.into(), source: Source::Node, title, text, vectors: Vec::new() }
}

pub(crate) fn new_content_closes_gaps(fixture: &Fixture) {
    let gaps = fixture.gaps_with_meaning();
    let asks = ["how to rotate the database credentials", "export the invoice as a PDF"];
    extracted(&gaps, &[("ann", asks[0]), ("bob", asks[1])]);
    let new = || {
        let text = "Create new credentials, point the services at them, revoke the old ones.";
        vec![
            fresh("ops.rotate", "Rotating database credentials", text),
            fresh("ops.oncall", "On-call duties", "Who answers the pager, and when to escalate."),
        ]
    };
    let closed = gaps.answered_by(new(), NOW + HOUR).unwrap().closed;
    assert_eq!(closed.len(), 1);
    assert_eq!(closed[0].label, asks[0]);
    let Status::Closed { evidence: Evidence::Answer { id, .. }, .. } = &closed[0].status else {
        panic!("{:?}", closed[0].status);
    };
    assert_eq!(id, "ops.rotate");
    assert_eq!(gaps.answered_by(new(), NOW + HOUR).unwrap().closed, [], "it is closed");
    assert_eq!(gaps.answered_by(vec![], NOW + HOUR).unwrap().closed, []);
    let open = gaps.gaps(&GapsRequest::default()).unwrap();
    assert_eq!((open.total_available, open.gaps[0].label.as_str()), (1, asks[1]));
    // A later ask reopens it.
    let again = kenning_gaps::Event { timestamp: NOW + 2 * HOUR, ..request(9, asks[0]) };
    let body = serde_json::to_vec(&batch("cid", vec![again])).unwrap();
    gaps.ingest(&body, NOW + 2 * HOUR).unwrap();
    gaps.extract_asks(NOW + 2 * HOUR).unwrap();
    let open = gaps.gaps(&GapsRequest::default()).unwrap().gaps;
    assert_eq!(labelled(&open, asks[0]).status.name(), "reopened");
    ingest(&gaps, &batch("dan", vec![request(10, asks[1])]));
    let closed = GapsRequest { status: Standing::Closed, ..GapsRequest::default() };
    assert_eq!(gaps.gaps(&closed).unwrap().total_available, 0);
}
