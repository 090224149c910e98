//! Groups asks that mean the same.
//!
//! The likeness of two asks is that of their vectors, corrected by the words they share: vectors
//! tell that "CSV export" is close to "download as a spreadsheet", words tell that "delete a user"
//! is not "create a user". Average linkage neither chains unlike asks through intermediate ones
//! (single linkage) nor splits groups with varied wordings (complete linkage).

use std::collections::BTreeMap;

use crate::ask::core;
use crate::words::Stems;

/// Groups are joined while their average likeness is at least this.
pub const THRESHOLD: f32 = 0.36;
/// The least likeness of an ask to the centre of an existing group that it joins.
const JOINS: f32 = 0.45;
/// The weight of shared words; vectors have the rest.
const LEXICAL: f32 = 0.25;
/// How many different asks, the most frequent, are compared pairwise; the others join one of their
/// groups or stay alone. It bounds time and memory, which grow with the square of this number.
const COMPARED: usize = 2_000;

/// Text to vector of length 1; `None` when there is no model, and words alone decide.
pub type Embed<'a> = &'a (dyn Fn(&str) -> Option<Vec<f32>> + 'a);

/// Asks that mean the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Places in what was grouped, ascending.
    pub members: Vec<usize>,
    /// The most typical of the pairwise compared members, in its own words.
    pub label: String,
    /// The mean of their vectors, of length 1; empty without a model.
    pub centroid: Vec<f32>,
}

/// What is compared of an ask: its vector and its word stems.
#[derive(Debug, Clone)]
pub struct Meaning {
    vector: Vec<f32>,
    stems: Stems,
}

impl Meaning {
    pub fn of(text: &str, embed: Embed<'_>) -> Self {
        let core = core(text);
        Self { vector: embed(core).unwrap_or_default(), stems: Stems::of(core) }
    }

    /// Of an existing group.
    pub fn known(label: &str, centroid: &[f32]) -> Self {
        Self { vector: centroid.to_vec(), stems: Stems::of(core(label)) }
    }

    /// How alike two asks are, up to 1.
    pub fn likeness(&self, other: &Self) -> f32 {
        let mut words = self.stems.overlap(&other.stems);
        if self.stems.opposes(&other.stems) {
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

/// [`group`] with another threshold, for evaluation.
pub fn group_at(texts: &[&str], embed: Embed<'_>, threshold: f32) -> Vec<Group> {
    let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, text) in texts.iter().enumerate() {
        places.entry(normal(text)).or_default().push(place);
    }
    // By frequency, then alphabetically: the order of the input must not matter.
    let mut asks: Vec<(String, Vec<usize>)> = places.into_iter().collect();
    asks.sort_by(|a, b| (b.1.len(), &a.0).cmp(&(a.1.len(), &b.0)));
    let meanings: Vec<Meaning> = asks.iter().map(|(text, _)| Meaning::of(text, embed)).collect();
    let (compared, late) = meanings.split_at(meanings.len().min(COMPARED));
    let clusters = agglomerate(compared, threshold).into_iter();
    let mut groups: Vec<Group> =
        clusters.map(|cluster| finish(&cluster, &asks, &meanings, texts)).collect();
    let centres: Vec<Meaning> =
        groups.iter().map(|group| Meaning::known(&group.label, &group.centroid)).collect();
    for (ask, meaning) in (compared.len()..).zip(late) {
        match nearest(meaning, centres.iter().enumerate()) {
            Some(known) => groups[known].members.extend(&asks[ask].1),
            None => groups.push(finish(&[ask], &asks, &meanings, texts)),
        }
    }
    for group in &mut groups {
        group.members.sort_unstable();
    }
    groups.sort_by(|a, b| (b.members.len(), &a.label).cmp(&(a.members.len(), &b.label)));
    groups
}

/// The existing group that an ask joins, if any. The bar is higher than [`THRESHOLD`], because
/// existing groups are never regrouped.
pub fn nearest<'a>(
    ask: &Meaning,
    known: impl IntoIterator<Item = (usize, &'a Meaning)>,
) -> Option<usize> {
    let likest = known.into_iter().map(|(place, group)| (place, ask.likeness(group)));
    let (place, likeness) = likest.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    (likeness >= JOINS).then_some(place)
}

fn normal(text: &str) -> String {
    let text = core(text).to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Average linkage by the nearest-neighbour chain algorithm.
///
/// The chain goes from a group to its nearest neighbour, and so on, until two groups are each
/// other's nearest; those are joined. The result is that of always joining the nearest pair of
/// all, because with averages a join never brings a third group nearer than its nearer part was.
/// For the same reason a group without a neighbour above the threshold will never have one.
fn agglomerate(meanings: &[Meaning], threshold: f32) -> Vec<Vec<usize>> {
    let mut table = Table::new(meanings);
    let mut open: Vec<usize> = (0..meanings.len()).collect();
    let mut chain: Vec<usize> = Vec::new();
    let mut settled = Vec::new();
    while let Some(&first) = open.first() {
        if chain.is_empty() {
            chain.push(first);
        }
        let tip = chain[chain.len() - 1];
        let before = chain.len().checked_sub(2).map(|before| chain[before]);
        match table.likest(tip, before, &open).filter(|(_, score)| *score >= threshold) {
            Some((other, _)) if Some(other) == before => {
                chain.truncate(chain.len() - 2);
                let (kept, gone) = (tip.min(other), tip.max(other));
                table.merge(kept, gone, &open);
                open.retain(|&one| one != gone);
            }
            Some((other, _)) => chain.push(other),
            None => {
                chain.pop();
                open.retain(|&one| one != tip);
                settled.push(std::mem::take(&mut table.clusters[tip]));
            }
        }
    }
    settled
}

/// Groups, and the average likeness of each two.
struct Table {
    clusters: Vec<Vec<usize>>,
    /// Only the lower half is filled: `likeness[a][b]` with b < a.
    likeness: Vec<Vec<f32>>,
}

impl Table {
    fn new(meanings: &[Meaning]) -> Self {
        let row = |a: usize| (0..a).map(|b| meanings[a].likeness(&meanings[b])).collect();
        Self {
            clusters: (0..meanings.len()).map(|ask| vec![ask]).collect(),
            likeness: (0..meanings.len()).map(row).collect(),
        }
    }

    fn between(&self, a: usize, b: usize) -> f32 {
        self.likeness[a.max(b)][a.min(b)]
    }

    /// The nearest neighbour. Of several, it is the previous group of the chain, so that the chain
    /// ends, or else the first.
    fn likest(&self, tip: usize, before: Option<usize>, open: &[usize]) -> Option<(usize, f32)> {
        let others = open.iter().filter(|&&other| other != tip);
        let likest = others.map(|&other| (other, self.between(tip, other)));
        likest.max_by(|a, b| {
            let came_from = |other: usize| Some(other) == before;
            a.1.total_cmp(&b.1).then(came_from(a.0).cmp(&came_from(b.0))).then(b.0.cmp(&a.0))
        })
    }

    /// `gone` becomes part of `kept`; the likeness to any other is the average over all members.
    fn merge(&mut self, kept: usize, gone: usize, open: &[usize]) {
        let sizes = [kept, gone].map(|one| self.clusters[one].len() as f32);
        for &other in open.iter().filter(|&&other| other != kept && other != gone) {
            let total = self.between(kept, other) * sizes[0] + self.between(gone, other) * sizes[1];
            self.likeness[kept.max(other)][kept.min(other)] = total / (sizes[0] + sizes[1]);
        }
        let moved = std::mem::take(&mut self.clusters[gone]);
        self.clusters[kept].extend(moved);
    }
}

fn finish(
    cluster: &[usize],
    asks: &[(String, Vec<usize>)],
    meanings: &[Meaning],
    texts: &[&str],
) -> Group {
    let members = cluster.iter().flat_map(|&ask| asks[ask].1.clone()).collect();
    let centroid = centroid(cluster, asks, meanings);
    let typical = |&ask: &usize| {
        let likeness: f32 = cluster
            .iter()
            .map(|&other| meanings[ask].likeness(&meanings[other]) * asks[other].1.len() as f32)
            .sum();
        // Rounded, because vectors differ in the last digits between processors.
        ((likeness * 1_000.0).round(), ask)
    };
    // Asks are ordered by frequency and alphabet: of several, the first becomes the label.
    let best = cluster.iter().map(typical).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    let label = best.map_or_else(String::new, |(_, ask)| wording(&asks[ask].1, texts));
    Group { members, label, centroid }
}

/// The most frequent wording of an ask; of several, the first in the alphabet.
fn wording(places: &[usize], texts: &[&str]) -> String {
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
