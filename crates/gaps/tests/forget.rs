//! Words that were forgotten are gone, and nobody else's.

use kenning_gaps::Gap;
use kenning_gaps::ask::{AskKind, UNSPOKEN};
use kenning_gaps::forget::{expire, forget};
use kenning_gaps::gap::{self, Heard};
use kenning_gaps::ports::{KeptAsk, Wording};
use proptest::prelude::*;

fn words_only(_: &str) -> Option<Vec<f32>> {
    None
}

/// Hears each text, and says which gap it went to.
fn hear(texts: &[&str]) -> (Vec<Gap>, Vec<KeptAsk>) {
    let mut gaps = Vec::new();
    let kind = AskKind::Explicit;
    let heard: Vec<Heard<'_>> =
        texts.iter().map(|text| Heard { project_id: "shop", kind, text, at: 1 }).collect();
    let places = gap::hear(&mut gaps, &heard, &words_only);
    let kept = texts.iter().zip(places).map(|(text, gap_id)| KeptAsk {
        gap_id,
        kind,
        tool: String::new(),
        text: (*text).to_owned(),
        at: 1,
        call: None,
    });
    let kept = kept.collect();
    (gaps, kept)
}

fn words(asks: &[KeptAsk]) -> Vec<Wording> {
    let of = |ask: &KeptAsk| Wording { gap_id: ask.gap_id.clone(), text: ask.text.clone() };
    asks.iter().map(of).collect()
}

#[test]
fn a_gap_is_named_in_the_words_that_are_left() {
    let (mut gaps, asks) = hear(&["export as PDF", "I want to Export as a PDF", "export as PDF"]);
    assert_eq!((gaps.len(), gaps[0].asks), (1, 3));
    let (gone, left) = (vec![asks[0].clone(), asks[2].clone()], words(&asks[1..2]));
    forget(&mut gaps, &gone, &left, &words_only);
    assert_eq!((gaps[0].asks, gaps[0].label.as_str()), (1, "Export as a PDF"));
    assert_eq!(gaps[0].wordings, ["Export as a PDF"]);
}

#[test]
fn what_others_said_too_stays() {
    let (mut gaps, asks) = hear(&["export as PDF", "Export as PDF"]);
    forget(&mut gaps, &asks[..1], &words(&asks[1..]), &words_only);
    assert_eq!((gaps[0].asks, gaps[0].label.as_str()), (1, "export as PDF"));
}

/// Asks that grew old still count; their words are nobody's any longer.
#[test]
fn a_gap_can_lose_all_its_words_and_still_count() {
    let (mut gaps, asks) = hear(&["export as PDF", "export it as PDF"]);
    expire(&mut gaps, &words(&asks[..1]));
    assert_eq!((gaps[0].asks, gaps[0].wordings.len()), (2, 1));
    forget(&mut gaps, &asks[..1], &[], &words_only);
    assert_eq!((gaps[0].asks, gaps[0].label.as_str()), (1, UNSPOKEN));
}

proptest! {
    #[test]
    fn forgetting_one_user_leaves_the_others(
        said in prop::collection::vec((0..4_u8, "[ab]{1,2} [cd]{1,2}( e)?"), 1..40)
    ) {
        let texts: Vec<&str> = said.iter().map(|(_, text)| text.as_str()).collect();
        let (mut gaps, asks) = hear(&texts);
        let of = |mine: bool| -> Vec<KeptAsk> {
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
