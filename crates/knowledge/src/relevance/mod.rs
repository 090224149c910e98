//! The probability that a node is relevant to a question.
//!
//! A logistic model over a few features that carry over from one base to another: the similarity of
//! meaning is measured against the base's own background, words against the greatest score possible,
//! and a node against the other candidates. `cargo xtask fit` fits the coefficients on labelled sets,
//! among them questions without an answer; docs/search.md has the figures.

mod model;

use crate::keyword::{KeywordQuery, Matches};
use crate::vectors::Background;

pub use self::model::FEATURES;
use self::model::Model;

/// How much the lead over other candidates counts: differences of this size in [`Evidence::strength`]
/// make a candidate 2.7 times as strong.
const TEMPERATURE: f64 = 0.1;
/// How much words, coverage, titles and meaning count when candidates are compared with each other.
/// The optimum is flat; the fit corrects it.
const KEYWORD: f64 = 0.8;
const COVERAGE: f64 = 0.35;
const TITLE: f64 = 0.2;
const SURPRISE: f64 = 0.11;

/// Longer questions and smaller bases than the fit has seen count as its longest and smallest.
const MAX_WORDS: usize = 30;
const MIN_NODES: usize = 60;
/// The least surprise at which meaning alone speaks for a node.
const MIN_SURPRISE: f64 = 1.0;

/// What speaks for a node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    /// BM25 as a share of the greatest possible.
    pub(crate) keyword: f32,
    pub(crate) title: f32,
    /// `None` until the node's vector is computed.
    pub(crate) cosine: Option<f32>,
    /// The part of the node's text that is most similar, in bytes.
    pub(crate) window: Option<std::ops::Range<usize>>,
    /// The share of the question's words, by how rare they are, that the node or the titles above
    /// it have.
    pub(crate) coverage: f32,
    /// Words of title and text.
    pub(crate) words: u32,
    /// How far the cosine lies above that of an ordinary node of the base, in standard deviations.
    pub(crate) surprise: Option<f64>,
    /// The probability that the node is relevant; 0 until [`judge`].
    pub(crate) relevance: f64,
    pub(crate) features: Features,
}

/// The values of [`FEATURES`], in their order.
pub type Features = [f64; FEATURES.len()];

impl Evidence {
    /// The score without embeddings, between 0 and 1.
    pub(crate) fn lexical(&self) -> f32 {
        (self.keyword + self.title).min(1.0)
    }

    /// Whether nothing speaks for the node: no word of the question, and no more likeness of meaning
    /// than any node has. In a small base such a node may still be the best.
    fn is_void(&self) -> bool {
        self.coverage == 0.0 && self.surprise.unwrap_or_default() < MIN_SURPRISE
    }

    /// Words and meaning on one scale, to compare candidates with each other.
    fn strength(&self) -> f64 {
        KEYWORD * f64::from(self.keyword)
            + COVERAGE * f64::from(self.coverage)
            + TITLE * f64::from(self.title)
            + SURPRISE * self.surprise.unwrap_or_default()
    }
}

/// What is known about a question before any node is looked at.
pub(crate) struct Question {
    /// Content words.
    pub(crate) words: usize,
    /// Nodes that could answer it.
    pub(crate) nodes: usize,
    /// How similar ordinary nodes are to it; `None` until vectors are computed.
    pub(crate) background: Option<Background>,
}

/// The share of the words of a question, weighted by IDF, that a node has.
pub(crate) fn coverage(query: &KeywordQuery, matches: Matches, above: &[&str]) -> f32 {
    let (mut found, mut all) = (0.0, f32::MIN_POSITIVE);
    for (n, term) in query.terms.iter().enumerate().take(Matches::MAX_TERMS) {
        let mass = term.count * term.idf;
        all += mass;
        if matches.has(n) || above.contains(&term.stem.as_str()) {
            found += mass;
        }
    }
    found / all
}

/// Computes the relevance of all candidates for a question, which are compared with each other.
pub(crate) fn judge(question: &Question, candidates: &mut [&mut Evidence]) {
    for evidence in candidates.iter_mut() {
        let surprise = question.background.zip(evidence.cosine);
        evidence.surprise = surprise.map(|(background, cosine)| background.surprise(cosine));
    }
    let strengths: Vec<f64> = candidates.iter().map(|evidence| evidence.strength()).collect();
    let best = strengths.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = strengths.iter().map(|strength| ((strength - best) / TEMPERATURE).exp()).sum();
    for (evidence, strength) in candidates.iter_mut().zip(&strengths) {
        let stronger = strengths.iter().filter(|other| *other > strength).count();
        evidence.features = [
            // Of a node without a vector yet, only the words count.
            evidence.surprise.unwrap_or_default(),
            f64::from(evidence.keyword),
            f64::from(evidence.title),
            f64::from(evidence.coverage),
            (strength - best) / TEMPERATURE - total.ln(),
            (stronger as f64).ln_1p(),
            (question.words.min(MAX_WORDS) as f64).ln_1p(),
            f64::from(evidence.words).ln_1p(),
            (question.nodes.max(MIN_NODES) as f64).ln_1p(),
        ];
        let model = match evidence.surprise {
            Some(_) => Model::hybrid(),
            None => Model::keyword(),
        };
        evidence.relevance =
            if evidence.is_void() { 0.0 } else { model.probability(&evidence.features) };
    }
}

pub(crate) fn odds(probability: f64) -> f64 {
    // Certainty would swallow every boost.
    let probability = probability.clamp(1e-6, 1.0 - 1e-6);
    probability / (1.0 - probability)
}

pub(crate) fn probability(odds: f64) -> f64 {
    odds / (1.0 + odds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The relevance of a candidate beside two others.
    fn relevance(evidence: Evidence, background: Option<Background>) -> f64 {
        let other = Evidence { keyword: 0.2, coverage: 0.4, cosine: Some(0.3), ..evidence.clone() };
        let mut all = [evidence, other.clone(), other];
        let question = Question { words: 5, nodes: 200, background };
        judge(&question, &mut all.iter_mut().collect::<Vec<_>>());
        all[0].relevance
    }

    #[test]
    fn more_evidence_is_never_less_relevant() {
        let plain = Evidence {
            keyword: 0.3,
            coverage: 0.5,
            cosine: Some(0.4),
            words: 60,
            ..Evidence::default()
        };
        let more = [
            Evidence { keyword: 0.5, ..plain.clone() },
            Evidence { coverage: 0.8, ..plain.clone() },
            Evidence { cosine: Some(0.6), ..plain.clone() },
        ];
        let background = Background::of(&[0.1; 40]);
        for (n, better) in more.into_iter().enumerate() {
            assert!(
                relevance(better.clone(), Some(background))
                    > relevance(plain.clone(), Some(background)),
                "{n}"
            );
            assert!(
                relevance(better, None) >= relevance(plain.clone(), None),
                "{n} without vectors"
            );
        }
    }

    #[test]
    fn until_vectors_are_computed_words_decide() {
        let strong =
            Evidence { keyword: 0.7, title: 0.3, coverage: 1.0, words: 40, ..Evidence::default() };
        let weak = Evidence { keyword: 0.05, coverage: 0.1, words: 40, ..Evidence::default() };
        assert!(relevance(strong, None) > 0.5);
        assert!(relevance(weak, None) < 0.1);
    }
}
