//! Forgetting removes a user's words, and no one else's.

use kenning_gaps::Gap;
use kenning_gaps::ask::{AskKind, UNSTATED};
use kenning_gaps::forget::{expire, forget};
use kenning_gaps::gap::{self, IncomingAsk};
use kenning_gaps::ports::{Call, StoredAsk, Wording};
use proptest::prelude::*;

use crate::words_only;

/// Assigns each text to a gap.
fn assign(texts: &[&str]) -> (Vec<Gap>, Vec<StoredAsk>) {
    let mut gaps = Vec::new();
    let kind = AskKind::Explicit;
    let asks: Vec<IncomingAsk<'_>> =
        texts.iter().map(|text| IncomingAsk { project_id: "shop", kind, text, at: 1 }).collect();
    let gap_ids = gap::assign(&mut gaps, &asks, &words_only);
    let stored = texts.iter().zip(gap_ids).map(|(text, gap_id)| StoredAsk {
        gap_id,
        kind,
        tool: String::new(),
        text: (*text).to_owned(),
        at: 1,
        call: Call { project_id: "shop".into(), call_id: String::new(), user: None },
    });
    let stored = stored.collect();
    (gaps, stored)
}

fn words(asks: &[StoredAsk]) -> Vec<Wording> {
    let of = |ask: &StoredAsk| Wording { gap_id: ask.gap_id.clone(), text: ask.text.clone() };
    asks.iter().map(of).collect()
}

#[test]
fn labels_a_gap_in_the_remaining_words() {
    let (mut gaps, asks) = assign(&["export as PDF", "I want to Export as a PDF", "export as PDF"]);
    assert_eq!((gaps.len(), gaps[0].asks), (1, 3));
    let (gone, left) = (vec![asks[0].clone(), asks[2].clone()], words(&asks[1..2]));
    forget(&mut gaps, &gone, &left, &words_only);
    assert_eq!((gaps[0].asks, gaps[0].label.as_str()), (1, "Export as a PDF"));
    assert_eq!(gaps[0].wordings, ["Export as a PDF"]);
}

#[test]
fn keeps_words_that_others_used_too() {
    let (mut gaps, asks) = assign(&["export as PDF", "Export as PDF"]);
    forget(&mut gaps, &asks[..1], &words(&asks[1..]), &words_only);
    assert_eq!((gaps[0].asks, gaps[0].label.as_str()), (1, "export as PDF"));
}

/// An expired ask still counts, though no stored ask has its words.
#[test]
fn a_gap_can_lose_all_its_words_and_still_count() {
    let (mut gaps, asks) = assign(&["export as PDF", "export it as PDF"]);
    expire(&mut gaps, &words(&asks[..1]));
    assert_eq!((gaps[0].asks, gaps[0].wordings.len()), (2, 1));
    forget(&mut gaps, &asks[..1], &[], &words_only);
    assert_eq!((gaps[0].asks, gaps[0].label.as_str()), (1, UNSTATED));
}

proptest! {
    #[test]
    fn forgetting_one_user_leaves_the_others(
        said in prop::collection::vec((0..4_u8, "[ab]{1,2} [cd]{1,2}( e)?"), 1..40)
    ) {
        let texts: Vec<&str> = said.iter().map(|(_, text)| text.as_str()).collect();
        let (mut gaps, asks) = assign(&texts);
        let of = |mine: bool| -> Vec<StoredAsk> {
            let pairs = said.iter().zip(&asks).filter(|((user, _), _)| (*user == 0) == mine);
            pairs.map(|(_, ask)| ask.clone()).collect()
        };
        let (gone, left) = (of(true), of(false));
        forget(&mut gaps, &gone, &words(&left), &words_only);
        prop_assert_eq!(gaps.iter().map(|gap| gap.asks).sum::<u64>(), left.len() as u64);
        for gap in &gaps {
            for word in gap.wordings.iter().chain([&gap.label]) {
                prop_assert!(left.iter().any(|ask| ask.text.eq_ignore_ascii_case(word)));
            }
            prop_assert!(left.iter().any(|ask| ask.gap_id == gap.id));
        }
    }
}
