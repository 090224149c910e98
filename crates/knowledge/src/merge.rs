//! Which nodes of a file are recommended: its sections, or the node above them where most of its text
//! fits the task.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use crate::node::NodeRef;
use crate::relevance::Evidence;

/// A section fits the task if its score is at least this share of the best one.
const FITS: f64 = 0.4;
/// So many sections have to fit before the node above is recommended in their place.
const MIN_SECTIONS: usize = 3;
/// The share of the text of a node and all below it that has to fit.
const MIN_SHARE: f64 = 0.6;

/// A node that may be recommended.
pub(crate) struct Candidate<'a> {
    pub(crate) node: NodeRef<'a>,
    pub(crate) score: f64,
    pub(crate) evidence: Evidence,
    /// Fitting sections below that were merged into it, best first.
    pub(crate) merged: Vec<Part<'a>>,
    /// The same section in other versions or languages.
    pub(crate) copies: Vec<NodeRef<'a>>,
}

/// A section that is recommended as a part of the node above it.
pub(crate) struct Part<'a> {
    pub(crate) node: NodeRef<'a>,
    pub(crate) score: f64,
}

impl Candidate<'_> {
    /// The cost of reading it, with all below it if sections were merged.
    pub(crate) fn tokens(&self) -> usize {
        if self.merged.is_empty() {
            return self.node.token_count();
        }
        // It is to be retrieved with its children.
        self.node.subtree().map(NodeRef::token_count).sum()
    }

    /// Bytes of its own text and of the merged sections.
    fn text_len(&self) -> usize {
        let below: usize = self.merged.iter().map(|part| text_len(part.node)).sum();
        text_len(self.node) + below
    }
}

fn text_len(node: NodeRef<'_>) -> usize {
    let section = node.section();
    section.body.len() + section.lead.len()
}

/// Best first.
pub(crate) fn sort(candidates: &mut [Candidate<'_>]) {
    candidates
        .sort_by(|a, b| b.score.total_cmp(&a.score).then(a.node.index().cmp(&b.node.index())));
}

/// `candidates` are sorted, best first. Replaces sections by the node above them where at least [`MIN_SECTIONS`] of them fit and they are
/// most of its text: then one recommendation says more than several.
pub(crate) fn merge_into_parents(candidates: Vec<Candidate<'_>>) -> Vec<Candidate<'_>> {
    let fits = FITS * candidates.first().map_or(0.0, |best| best.score);
    let mut by_node: HashMap<usize, Candidate<'_>> =
        candidates.into_iter().map(|candidate| (candidate.node.index(), candidate)).collect();
    // The deepest first, so that merged sections can be merged again further up.
    for (_, parent, children) in parents(&by_node, fits) {
        let children: Vec<usize> =
            children.into_iter().filter(|child| by_node.contains_key(child)).collect();
        let own = by_node.get(&parent.index()).filter(|own| own.score >= fits);
        let fitting: usize = children.iter().map(|child| by_node[child].text_len()).sum::<usize>()
            + own.map_or(0, |own| text_len(own.node));
        let all: usize = parent.subtree().map(text_len).sum();
        if children.len() < MIN_SECTIONS || (fitting as f64) < MIN_SHARE * all as f64 {
            continue;
        }
        let below: Vec<usize> = parent.subtree().skip(1).map(NodeRef::index).collect();
        let children = below.iter().filter_map(|child| by_node.remove(child)).collect();
        let own = by_node.remove(&parent.index());
        by_node.insert(parent.index(), merged(parent, own, children));
    }
    let mut merged: Vec<Candidate<'_>> = by_node.into_values().collect();
    sort(&mut merged);
    merged
}

/// The nodes above fitting candidates with these candidates, deepest first.
fn parents<'a>(
    candidates: &HashMap<usize, Candidate<'a>>,
    fits: f64,
) -> Vec<(Reverse<u8>, NodeRef<'a>, Vec<usize>)> {
    let mut children: BTreeMap<usize, (NodeRef<'a>, Vec<usize>)> = BTreeMap::new();
    for (index, candidate) in candidates.iter().filter(|(_, candidate)| candidate.score >= fits) {
        if let Some(parent) = candidate.node.parent() {
            children.entry(parent.index()).or_insert((parent, Vec::new())).1.push(*index);
        }
    }
    let mut parents: Vec<_> = children
        .into_values()
        .map(|(parent, children)| (Reverse(parent.section().level), parent, children))
        .collect();
    parents.sort_by_key(|(level, parent, _)| (*level, parent.index()));
    parents
}

fn merged<'a>(
    parent: NodeRef<'a>,
    own: Option<Candidate<'a>>,
    children: Vec<Candidate<'a>>,
) -> Candidate<'a> {
    let (mut parts, mut copies) = (Vec::new(), Vec::new());
    let mut best: Option<(f64, Evidence)> = own.map(|own| {
        parts.extend(own.merged);
        copies.extend(own.copies);
        (own.score, own.evidence)
    });
    for child in children {
        parts.extend(child.merged);
        copies.extend(child.copies);
        parts.push(Part { node: child.node, score: child.score });
        if best.as_ref().is_none_or(|(score, _)| child.score > *score) {
            best = Some((child.score, child.evidence));
        }
    }
    parts.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.node.index().cmp(&b.node.index())));
    let (score, evidence) = best.unwrap_or_default();
    Candidate { node: parent, score, evidence, merged: parts, copies }
}
