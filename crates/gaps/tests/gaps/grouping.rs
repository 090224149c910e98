//! The quality of grouping, on asks that the threshold was chosen with and on held-out asks.

use std::collections::BTreeMap;
use std::path::Path;

use kenning_gaps::ask::AskKind;
use kenning_gaps::gap::{IncomingAsk, assign};
use kenning_gaps::group::{Group, group, group_at};
use serde_json::Value;

use crate::{embed, words_only};

/// Asks and the names of their groups.
type Labelled = Vec<(String, String)>;

fn read(path: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn own_set() -> Labelled {
    let set = read("tests/gaps/asks.json");
    let groups = set["groups"].as_object().unwrap().iter();
    let asks = groups.flat_map(|(name, asks)| {
        let asks = asks.as_array().unwrap().iter().map(|ask| ask.as_str().unwrap().to_owned());
        asks.map(|ask| (ask, name.clone()))
    });
    asks.collect()
}

fn held_out() -> Labelled {
    let set = read("../../data/eval/asks.json");
    let asks = set["asks"].as_array().unwrap().iter();
    asks.map(|ask| {
        (ask["ask"].as_str().unwrap().to_owned(), ask["group"].as_str().unwrap().to_owned())
    })
    .collect()
}

fn entropy(counts: impl Iterator<Item = usize>, total: f64) -> f64 {
    let shares = counts.map(|count| count as f64 / total);
    shares.map(|share| -share * share.ln()).sum()
}

/// Homogeneity, completeness and their harmonic mean.
fn v_measure(set: &Labelled, groups: &[Group]) -> (f64, f64, f64) {
    let total = set.len() as f64;
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut joint: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for (number, group) in groups.iter().enumerate() {
        for &member in &group.members {
            *classes.entry(&set[member].1).or_default() += 1;
            *joint.entry((number, &set[member].1)).or_default() += 1;
        }
    }
    let of_classes = entropy(classes.values().copied(), total);
    let of_groups = entropy(groups.iter().map(|group| group.members.len()), total);
    let of_both = entropy(joint.values().copied(), total);
    let homogeneity = 1.0 - (of_both - of_groups) / of_classes;
    let completeness = 1.0 - (of_both - of_classes) / of_groups;
    (homogeneity, completeness, 2.0 * homogeneity * completeness / (homogeneity + completeness))
}

fn measure(set: &Labelled, threshold: Option<f32>) -> (f64, f64, f64) {
    let texts: Vec<&str> = set.iter().map(|(ask, _)| ask.as_str()).collect();
    let groups = match threshold {
        Some(threshold) => group_at(&texts, &embed, threshold),
        None => group(&texts, &embed),
    };
    v_measure(set, &groups)
}

#[test]
fn groups_the_development_set() {
    let set = own_set();
    for threshold in [0.28, 0.32, 0.36, 0.4, 0.44, 0.48] {
        let (homogeneity, completeness, v) = measure(&set, Some(threshold));
        println!("{threshold:.2}: h {homogeneity:.3}, c {completeness:.3}, v {v:.3}");
    }
    let (_, _, v) = measure(&set, None);
    assert!(v >= 0.85, "V-measure {v:.3}");
}

#[test]
fn groups_the_held_out_set() {
    let set = held_out();
    assert!(set.len() >= 150);
    let (homogeneity, completeness, v) = measure(&set, None);
    println!("h {homogeneity:.3}, c {completeness:.3}, v {v:.3}");
    assert!(v >= 0.85, "V-measure {v:.3}");
}

#[test]
fn assigns_asks_one_by_one_as_well_as_grouping() {
    let set = own_set();
    let mut gaps = Vec::new();
    let mut members: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    // Not group by group: every third, then the others.
    let order = (0..3).flat_map(|first| (first..set.len()).step_by(3));
    for place in order {
        let text = set[place].0.as_str();
        let ask = IncomingAsk { project_id: "p", kind: AskKind::Explicit, text, at: 1 };
        let changed = assign(&mut gaps, &[ask], &embed);
        members.entry(changed[0].clone()).or_default().push(place);
    }
    let groups: Vec<Group> = members
        .into_values()
        .map(|members| Group { members, label: String::new(), centroid: Vec::new() })
        .collect();
    let (homogeneity, completeness, v) = v_measure(&set, &groups);
    println!("h {homogeneity:.3}, c {completeness:.3}, v {v:.3}");
    assert!(v >= 0.85, "V-measure {v:.3}");
}

#[test]
fn the_order_of_asks_does_not_matter() {
    let set = own_set();
    let texts: Vec<&str> = set.iter().map(|(ask, _)| ask.as_str()).collect();
    let backwards: Vec<&str> = texts.iter().rev().copied().collect();
    let sorted = |texts: &[&str]| -> Vec<(String, Vec<String>)> {
        let groups = group(texts, &embed).into_iter().map(|group| {
            let mut members: Vec<String> =
                group.members.iter().map(|&member| texts[member].to_owned()).collect();
            members.sort();
            (group.label, members)
        });
        groups.collect()
    };
    assert_eq!(sorted(&texts), sorted(&backwards));
}

#[test]
fn labels_are_the_words_of_an_ask() {
    let texts = [
        "I need to export the invoice as a PDF",
        "export the invoice as a PDF",
        "download invoices in PDF format",
        "play some music",
    ];
    let groups = group(&texts, &embed);
    assert_eq!(groups[0].label, "export the invoice as a PDF");
    assert_eq!(groups[0].members, [0, 1, 2]);
    assert_eq!(groups[1].label, "play some music");
}

#[test]
fn groups_by_words_without_a_model() {
    let texts = ["export invoice as PDF", "exporting an invoice as PDF", "translate a page", ""];
    let groups = group(&texts, &words_only);
    let members: Vec<&[usize]> = groups.iter().map(|group| group.members.as_slice()).collect();
    assert_eq!(members, [&[0, 1][..], &[3], &[2]]);
    assert!(groups[0].centroid.is_empty());
}

#[test]
fn groups_more_asks_than_are_compared_pairwise() {
    let wishes = ["export invoice", "translate page", "book flight", "mute channel"];
    let often = wishes.iter().flat_map(|wish| (0..3).map(move |_| (*wish).to_owned()));
    let once = (0..6_000).map(|n| format!("{} x{n}", wishes[n % wishes.len()]));
    let unlike = (0..50).map(|n| format!("q{n} w{n} e{n}"));
    let texts: Vec<String> = often.chain(once).chain(unlike).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let groups = group(&texts, &words_only);
    let sizes: Vec<usize> = groups.iter().map(|group| group.members.len()).collect();
    assert_eq!(sizes.iter().sum::<usize>(), texts.len(), "every ask is in one group");
    assert_eq!(sizes[..4], [1_503; 4]);
    assert_eq!(sizes.len(), 54);
}
