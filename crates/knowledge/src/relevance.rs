//! Calibration: the probability that a node is relevant, from keyword, title and semantic scores.
//!
//! Three scores between 0 and 1 are added: the cosine of the two embeddings; the node's BM25 as a
//! share of the greatest value possible for the query, which is small when only few or common
//! words match; and how well the title alone matches. They are shares of a fixed maximum, not of
//! the best hit, so each score shows by itself when its evidence is weak. A logistic curve turns
//! the sum into a probability. docs/search.md says how the form and the constants were chosen.

/// The sum at which the probability is one half, and the slope of the curve there.
const MIDPOINT: f64 = 0.6;
const STEEPNESS: f64 = 8.0;
/// Assumed until a node's vector is computed: the usual cosine of texts on the same subject.
const UNKNOWN_COSINE: f32 = 0.3;

/// The scores of a node for one query.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    /// BM25 as a share of the greatest possible.
    pub(crate) keyword: f32,
    pub(crate) title: f32,
    /// `None` until the node's vector is computed.
    pub(crate) cosine: Option<f32>,
    /// The part of the node's text that is most similar, in bytes.
    pub(crate) window: Option<std::ops::Range<usize>>,
    /// The probability that the node is relevant; 0 until [`Self::calibrate`].
    pub(crate) relevance: f64,
}

impl Evidence {
    /// The score without embeddings, between 0 and 1.
    pub(crate) fn lexical(&self) -> f32 {
        (self.keyword + self.title).min(1.0)
    }

    pub(crate) fn calibrate(&mut self) {
        let sum = self.cosine.unwrap_or(UNKNOWN_COSINE) + self.keyword + self.title;
        self.relevance = 1.0 / (1.0 + (STEEPNESS * (MIDPOINT - f64::from(sum))).exp());
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
