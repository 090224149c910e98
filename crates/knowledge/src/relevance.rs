//! How likely a node is to be what somebody needs, from its words and its meaning.
//!
//! Three numbers between 0 and 1 are added up: the cosine of the two texts' vectors; the node's
//! BM25 as a share of the greatest there could be for this question, which is small when only few
//! or common words match; and how well the title alone answers. Being shares of a fixed whole,
//! not of the best hit at hand, they say by themselves when one kind of evidence is weak. A
//! logistic curve turns the sum into a probability.

/// Where the curve is at one half, and how steep it is there.
const MIDDLE: f64 = 0.6;
const STEEPNESS: f64 = 8.0;
/// What a node's cosine is taken to be until its vector is computed: that of texts on one subject.
const UNKNOWN_COSINE: f32 = 0.3;

/// What speaks for a node.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    /// BM25 as a share of the greatest possible.
    pub(crate) keyword: f32,
    pub(crate) title: f32,
    /// `None` until the node's vector is computed.
    pub(crate) cosine: Option<f32>,
    /// Which part of the node's text is nearest.
    pub(crate) window: Option<std::ops::Range<usize>>,
    /// The probability that the node is relevant.
    pub(crate) relevance: f64,
}

impl Evidence {
    /// What the words say, without their meaning: between 0 and 1.
    pub(crate) fn words(&self) -> f32 {
        (self.keyword + self.title).min(1.0)
    }

    pub(crate) fn judge(&mut self) {
        let sum = self.cosine.unwrap_or(UNKNOWN_COSINE) + self.keyword + self.title;
        self.relevance = 1.0 / (1.0 + (STEEPNESS * (MIDDLE - f64::from(sum))).exp());
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
