//! Asks that mean the same, found without anyone reading them.
//!
//! Two asks are as alike as their vectors, corrected by the words they share: a model sees that
//! "CSV export" and "download as a spreadsheet" are near, words see that "delete a user" and
//! "create a user" are not. Groups are joined while the average likeness between them is high
//! enough (average linkage), which neither chains asks along like links nor breaks up what varies.

use std::collections::{BTreeMap, BTreeSet};

use crate::ask::core;
use crate::words::{opposed, overlap, stems};

/// Groups are joined while they are at least this alike on average.
pub const THRESHOLD: f32 = 0.36;
/// An ask joins a group that is known at this likeness to its centre.
const PLACED: f32 = 0.45;
/// What shared words weigh beside vectors.
const LEXICAL: f32 = 0.25;
/// So many different asks are compared with each other; the others join the group they are most
/// like. It bounds time and memory, which grow with the square.
const COMPARED: usize = 2_000;

/// Text to vector of length 1; `None` when there is no model, and words alone decide.
pub type Embed<'a> = &'a (dyn Fn(&str) -> Option<Vec<f32>> + 'a);

/// Asks that mean the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Places in what was grouped, ascending.
    pub members: Vec<usize>,
    /// The most typical of the members, in its own words.
    pub label: String,
    /// The mean of the members' vectors, of length 1; empty without a model.
    pub centroid: Vec<f32>,
}

/// What is compared: the meaning of one ask, however often it was asked.
#[derive(Debug, Clone)]
pub struct Meaning {
    vector: Vec<f32>,
    stems: BTreeSet<String>,
}

impl Meaning {
    pub fn of(text: &str, embed: Embed<'_>) -> Self {
        let core = core(text);
        Self { vector: embed(core).unwrap_or_default(), stems: stems(core) }
    }

    /// Of a group that was found before.
    pub fn known(label: &str, centroid: &[f32]) -> Self {
        Self { vector: centroid.to_vec(), stems: stems(core(label)) }
    }

    /// How alike two asks are, up to 1.
    pub fn likeness(&self, other: &Self) -> f32 {
        let mut words = overlap(&self.stems, &other.stems);
        if opposed(&self.stems, &other.stems) {
            words -= 1.0;
        }
        if self.vector.is_empty() || other.vector.is_empty() {
            return words;
        }
        (1.0 - LEXICAL) * dot(&self.vector, &other.vector) + LEXICAL * words
    }
}

/// Groups texts, the biggest group first. The order of the texts does not matter.
pub fn group(texts: &[&str], embed: Embed<'_>) -> Vec<Group> {
    group_at(texts, embed, THRESHOLD)
}

/// The same at another threshold, for measuring.
pub fn group_at(texts: &[&str], embed: Embed<'_>, threshold: f32) -> Vec<Group> {
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, text) in texts.iter().enumerate() {
        places.entry(normal(text)).or_default().push(place);
    }
    // The most frequent are compared with each other; among equals the alphabet decides.
    let mut asks: Vec<(String, Vec<usize>)> = places.into_iter().collect();
    asks.sort_by(|a, b| (b.1.len(), &a.0).cmp(&(a.1.len(), &b.0)));
    let meanings: Vec<Meaning> = asks.iter().map(|(text, _)| Meaning::of(text, embed)).collect();
    let compared = meanings.len().min(COMPARED);
    let mut clusters = agglomerate(&meanings[..compared], threshold);
    for late in compared..meanings.len() {
        join_nearest(&mut clusters, &meanings, late, threshold);
    }
    let made = clusters.into_iter().map(|cluster| finish(&cluster, &asks, &meanings, texts));
    let mut groups: Vec<Group> = made.collect();
    groups.sort_by(|a, b| (b.members.len(), &a.label).cmp(&(a.members.len(), &b.label)));
    groups
}

/// The known group that an ask belongs to, if any: what is known keeps its name and its place.
/// One group is compared at a time, so it has to be more alike than when all are seen at once.
pub fn place<'a>(
    ask: &Meaning,
    known: impl IntoIterator<Item = (usize, &'a Meaning)>,
) -> Option<usize> {
    let likest = known.into_iter().map(|(place, group)| (place, ask.likeness(group)));
    let (place, likeness) = likest.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    (likeness >= PLACED).then_some(place)
}

fn normal(text: &str) -> String {
    let text = core(text).to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Average linkage: joins the two groups that are most alike until none are alike enough.
fn agglomerate(meanings: &[Meaning], threshold: f32) -> Vec<Vec<usize>> {
    let count = meanings.len();
    let mut clusters: Vec<Vec<usize>> = (0..count).map(|ask| vec![ask]).collect();
    // Only the lower half is filled: `likeness[a][b]` with b < a.
    let mut likeness: Vec<Vec<f32>> =
        (0..count).map(|a| (0..a).map(|b| meanings[a].likeness(&meanings[b])).collect()).collect();
    let mut best: Vec<Option<(usize, f32)>> =
        likeness.iter().map(|row| likest(row, &clusters)).collect();
    loop {
        let pairs = best.iter().enumerate().filter_map(|(a, b)| b.map(|(b, score)| (a, b, score)));
        let likest_pair =
            pairs.max_by(|x, y| x.2.total_cmp(&y.2).then((y.0, y.1).cmp(&(x.0, x.1))));
        let Some((gone, kept, score)) = likest_pair else { break };
        if score < threshold {
            break;
        }
        merge(&mut likeness, &mut clusters, kept, gone);
        best[gone] = None;
        for row in 0..count {
            let stale = best[row].is_some_and(|(b, _)| b == kept || b == gone);
            if row == kept || (stale && !clusters[row].is_empty()) {
                best[row] = likest(&likeness[row], &clusters);
            } else if row > kept && !clusters[row].is_empty() {
                let score = likeness[row][kept];
                if best[row].is_none_or(|(_, known)| score > known) {
                    best[row] = Some((kept, score));
                }
            }
        }
    }
    clusters.retain(|cluster| !cluster.is_empty());
    clusters
}

fn likest(row: &[f32], clusters: &[Vec<usize>]) -> Option<(usize, f32)> {
    let alive = row.iter().copied().enumerate().filter(|(b, _)| !clusters[*b].is_empty());
    alive.max_by(|x, y| x.1.total_cmp(&y.1).then(y.0.cmp(&x.0)))
}

/// `gone` becomes part of `kept`; the likeness to any other is the average over all members.
fn merge(likeness: &mut [Vec<f32>], clusters: &mut [Vec<usize>], kept: usize, gone: usize) {
    let (kept_size, gone_size) = (clusters[kept].len() as f32, clusters[gone].len() as f32);
    for other in (0..clusters.len()).filter(|&other| other != kept && other != gone) {
        if clusters[other].is_empty() {
            continue;
        }
        let of = |a: usize, b: usize| if a > b { likeness[a][b] } else { likeness[b][a] };
        let total = of(kept, other) * kept_size + of(gone, other) * gone_size;
        let (row, column) = (kept.max(other), kept.min(other));
        likeness[row][column] = total / (kept_size + gone_size);
    }
    let moved = std::mem::take(&mut clusters[gone]);
    clusters[kept].extend(moved);
}

fn join_nearest(clusters: &mut Vec<Vec<usize>>, meanings: &[Meaning], late: usize, threshold: f32) {
    let average = |cluster: &Vec<usize>| {
        let total: f32 = cluster.iter().map(|&ask| meanings[ask].likeness(&meanings[late])).sum();
        total / cluster.len() as f32
    };
    let likest = clusters.iter().map(average).enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
    match likest {
        Some((cluster, likeness)) if likeness >= threshold => clusters[cluster].push(late),
        _ => clusters.push(vec![late]),
    }
}

fn finish(
    cluster: &[usize],
    asks: &[(String, Vec<usize>)],
    meanings: &[Meaning],
    texts: &[&str],
) -> Group {
    let mut members: Vec<usize> = cluster.iter().flat_map(|&ask| asks[ask].1.clone()).collect();
    members.sort_unstable();
    let centroid = centroid(cluster, asks, meanings);
    let typical = |&ask: &usize| {
        let likeness: f32 = cluster
            .iter()
            .map(|&other| meanings[ask].likeness(&meanings[other]) * asks[other].1.len() as f32)
            .sum();
        (likeness, ask)
    };
    // Asks are in order of frequency and alphabet: among equals, the first stays the label.
    let best = cluster.iter().map(typical).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let label = best.map_or_else(String::new, |(_, ask)| spoken(&asks[ask].1, texts));
    Group { members, label, centroid }
}

/// How an ask was put most often; among equals, the first in the alphabet.
fn spoken(places: &[usize], texts: &[&str]) -> String {
    let mut ways: BTreeMap<&str, usize> = BTreeMap::new();
    for &place in places {
        *ways.entry(core(texts[place])).or_default() += 1;
    }
    let most = ways.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
    most.map_or_else(String::new, |(way, _)| (*way).to_owned())
}

fn centroid(cluster: &[usize], asks: &[(String, Vec<usize>)], meanings: &[Meaning]) -> Vec<f32> {
    let dimensions = cluster.iter().map(|&ask| meanings[ask].vector.len()).max().unwrap_or(0);
    let mut sum = vec![0.0; dimensions];
    for &ask in cluster {
        let weight = asks[ask].1.len() as f32;
        for (total, value) in sum.iter_mut().zip(&meanings[ask].vector) {
            *total += value * weight;
        }
    }
    unit(sum)
}

pub(crate) fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let norm = dot(&vector, &vector).sqrt();
    if norm > 0.0 {
        for value in &mut vector {
            *value /= norm;
        }
    }
    vector
}

pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
