//! Decisions of people.

use kenning_gaps::decide::{CloseGapRequest, MergeGapRequest, MuteGapRequest, ReopenGapRequest};
use kenning_gaps::list::GapsRequest;
use kenning_gaps::offers::{
    AcceptProposalRequest, Decision, NewFile, ProposalsRequest, ProposeRequest,
    RejectProposalRequest, ShowProposalRequest,
};
use kenning_gaps::show::ShowGapRequest;
use kenning_gaps::{Error, Gaps};

use super::fixture::{HOUR, NOW, all, batch, extracted, ingest, labelled, record_miss, request};
use crate::fixture::Fixture;

fn close(gaps: &Gaps, id: &str) -> Result<String, Error> {
    let request =
        CloseGapRequest { id: id.into(), by: " Ann ".into(), note: "see the docs".into() };
    Ok(gaps.close(&request, NOW + HOUR)?.gap.status.name().to_owned())
}

fn reopen(gaps: &Gaps, id: &str) -> Result<String, Error> {
    let request = ReopenGapRequest { id: id.into(), because: "it does not".into() };
    Ok(gaps.reopen(&request, NOW + HOUR)?.gap.status.name().to_owned())
}

fn merge(gaps: &Gaps, id: &str, into: &str) -> Result<u64, Error> {
    let request = MergeGapRequest { id: id.into(), into: into.into() };
    Ok(gaps.merge(&request, NOW + HOUR)?.gap.asks)
}

pub(crate) fn closes_mutes_and_reopens(fixture: &Fixture) {
    let gaps = fixture.gaps();
    let id = extracted(&gaps, &[("ann", "export as PDF")])[0].id.clone();
    assert_eq!(close(&gaps, &id).unwrap(), "closed");
    let error = close(&gaps, &id).unwrap_err();
    assert_eq!(error.code().as_str(), "INVALID_STATE");
    assert_eq!(reopen(&gaps, &id).unwrap(), "reopened");
    let muted = gaps.mute(&MuteGapRequest { id: id.clone() }, NOW).unwrap();
    assert_eq!(muted.gap.status.name(), "muted");
    assert_eq!(gaps.gaps(&GapsRequest::default()).unwrap().total_available, 0);
    ingest(&gaps, &batch("bob", vec![request(5, "export as PDF")]));
    gaps.extract_asks(NOW + HOUR).unwrap();
    assert_eq!((all(&gaps)[0].asks, all(&gaps)[0].status.name()), (2, "muted"));
}

pub(crate) fn a_merge_loses_no_ask(fixture: &Fixture) {
    let gaps = fixture.gaps();
    let found = extracted(
        &gaps,
        &[
            ("ann", "export as PDF"),
            ("bob", "export as PDF"),
            ("cid", "save for the printer"),
            ("dan", "keep on paper"),
        ],
    );
    let id = |label: &str| labelled(&found, label).id.clone();
    let (pdf, printer, paper) =
        (id("export as PDF"), id("save for the printer"), id("keep on paper"));
    assert_eq!(merge(&gaps, &paper, &printer).unwrap(), 2);
    assert_eq!(merge(&gaps, &printer, &pdf).unwrap(), 4);
    // An ask for a merged gap counts for its target.
    ingest(&gaps, &batch("eve", vec![request(9, "keep on paper")]));
    gaps.extract_asks(NOW + HOUR).unwrap();
    let shown = gaps.show(&ShowGapRequest { id: pdf.clone(), max_sessions: None }).unwrap();
    assert_eq!((shown.gap.asks, shown.gap.requests, shown.asks.len()), (5, 5, 5));
    assert_eq!((shown.merged.len(), shown.sessions.len()), (2, 5));
    // Reopening undoes a merge; no ask counts twice.
    assert_eq!(reopen(&gaps, &printer).unwrap(), "reopened");
    let found = all(&gaps);
    assert_eq!(labelled(&found, "export as PDF").asks, 3);
    assert_eq!(labelled(&found, "save for the printer").asks, 2);
    assert_eq!(labelled(&found, "export as PDF").wordings, ["export as PDF"]);
}

pub(crate) fn refuses_changes_that_make_no_sense(fixture: &Fixture) {
    let gaps = fixture.gaps();
    let found = extracted(&gaps, &[("ann", "export as PDF"), ("bob", "translate a page")]);
    let (first, second) = (&found[0].id, &found[1].id);
    let code = |error: Error| error.body().error.as_str();
    assert_eq!(code(close(&gaps, "g-none").unwrap_err()), "GAP_NOT_FOUND");
    assert_eq!(code(reopen(&gaps, first).unwrap_err()), "INVALID_STATE");
    assert_eq!(code(merge(&gaps, first, first).unwrap_err()), "INVALID_STATE");
    assert_eq!(code(merge(&gaps, first, "g-none").unwrap_err()), "GAP_NOT_FOUND");
    merge(&gaps, first, second).unwrap();
    assert_eq!(code(merge(&gaps, second, first).unwrap_err()), "INVALID_STATE", "a circle");
    let unnamed = CloseGapRequest { id: second.clone(), by: " ".into(), note: String::new() };
    assert_eq!(code(gaps.close(&unnamed, NOW).unwrap_err()), "INVALID_ARGUMENT");
    record_miss(fixture, 9, "a miss");
    gaps.extract_asks(NOW).unwrap();
    let other = labelled(&all(&gaps), "a miss").id.clone();
    assert_eq!(code(merge(&gaps, second, &other).unwrap_err()), "INVALID_ARGUMENT");
    let asks: u64 = all(&gaps).iter().filter(|gap| gap.id == *second).map(|gap| gap.asks).sum();
    assert_eq!(asks, 2, "what was refused changed nothing");
}

fn proposal(title: &str, gap_id: Option<&str>) -> ProposeRequest {
    ProposeRequest {
        title: title.into(),
        markdown: "Use the printer.".into(),
        target_path: "guides/PDF.md".into(),
        gap_id: gap_id.map(str::to_owned),
    }
}

pub(crate) fn proposals_are_decided_once(fixture: &Fixture) {
    let gaps = fixture.gaps();
    let gap = extracted(&gaps, &[("ann", "export as PDF")])[0].id.clone();
    let first = gaps.propose(&proposal("To PDF", Some(&gap)), NOW).unwrap().proposal;
    let second = gaps.propose(&proposal("Other", None), NOW + 1).unwrap().proposal;
    assert_eq!(gaps.propose(&proposal("To PDF", Some(&gap)), NOW + 5).unwrap().proposal, first);
    let ids = |status| -> Vec<String> {
        let listed = gaps.proposals(&ProposalsRequest { status }).unwrap().proposals;
        listed.into_iter().map(|one| one.id).collect()
    };
    assert_eq!(ids(Decision::Pending), [second.id.clone(), first.id.clone()], "the newest first");
    let shown = gaps.show(&ShowGapRequest { id: gap, max_sessions: None }).unwrap();
    assert_eq!(shown.proposals[0].id, first.id);
    // Of two simultaneous decisions, one is refused.
    let accept = AcceptProposalRequest { id: first.id.clone(), by: "Ann".into() };
    let reject =
        RejectProposalRequest { id: first.id.clone(), by: "Bob".into(), reason: "no".into() };
    let (accepted, rejected) = std::thread::scope(|scope| {
        let (one, other) = (fixture.gaps(), fixture.gaps());
        let accepted = scope.spawn({
            let accept = accept.clone();
            move || one.accept(&accept, NOW, &|_| Ok(())).is_ok()
        });
        let rejected = scope.spawn(move || other.reject(&reject, NOW).is_ok());
        (accepted.join().unwrap(), rejected.join().unwrap())
    });
    assert!(accepted != rejected, "{accepted} {rejected}");
    let accept = AcceptProposalRequest { id: second.id.clone(), ..accept };
    let written = std::cell::RefCell::new(Vec::new());
    let write = |file: &NewFile| {
        written.borrow_mut().push(file.clone());
        Ok(())
    };
    let file = gaps.accept(&accept, NOW, &write).unwrap().file;
    assert_eq!(
        (file.path.as_str(), file.markdown.as_str()),
        ("guides/PDF.md", "# Other\n\nUse the printer.\n")
    );
    assert_eq!(gaps.accept(&accept, NOW + 9, &write).unwrap().file, file, "it may be gone");
    assert_eq!(*written.borrow(), [file.clone(), file.clone()]);
    let kept = gaps.proposal(&ShowProposalRequest { id: second.id.clone() }).unwrap();
    assert_eq!(serde_json::to_value(&kept.status).unwrap()["at"], NOW);
    assert!(ids(Decision::Accepted).contains(&second.id));
    assert_eq!((ids(Decision::All).len(), ids(Decision::Pending).len()), (2, 0));
    let unknown = ShowProposalRequest { id: "p-none".into() };
    assert_eq!(gaps.proposal(&unknown).unwrap_err().code().as_str(), "PROPOSAL_NOT_FOUND");
    let nowhere = gaps.propose(&proposal("To PDF", Some("g-none")), NOW).unwrap_err();
    assert_eq!(nowhere.code().as_str(), "GAP_NOT_FOUND");
}
