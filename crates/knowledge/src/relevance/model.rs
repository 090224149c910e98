//! The fitted coefficients, which are data.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::Features;

/// The features of a candidate, in the order of their values.
pub const FEATURES: [&str; 9] = [
    "surprise",
    "keyword",
    "title",
    "coverage",
    "share",
    "rank",
    "question_words",
    "text_words",
    "nodes",
];

/// Written by `cargo xtask fit`.
const COEFFICIENTS: &str = include_str!("coefficients.json");

#[derive(Deserialize)]
struct Coefficients {
    /// With vectors, and until they are computed.
    hybrid: Fitted,
    keyword: Fitted,
}

#[derive(Deserialize)]
struct Fitted {
    intercept: f64,
    weights: BTreeMap<String, f64>,
}

pub(crate) struct Model {
    intercept: f64,
    weights: Features,
}

static MODELS: LazyLock<(Model, Model)> = LazyLock::new(|| {
    let Coefficients { hybrid, keyword } =
        serde_json::from_str(COEFFICIENTS).expect("the coefficients are compiled in and tested");
    (Model::new(&hybrid), Model::new(&keyword))
});

impl Model {
    fn new(fitted: &Fitted) -> Self {
        // A feature that the fit left out has no weight.
        let weights = FEATURES.map(|name| fitted.weights.get(name).copied().unwrap_or_default());
        Self { intercept: fitted.intercept, weights }
    }

    pub(super) fn hybrid() -> &'static Self {
        &MODELS.0
    }

    /// For as long as there are no vectors.
    pub(super) fn keyword() -> &'static Self {
        &MODELS.1
    }

    pub(super) fn probability(&self, features: &Features) -> f64 {
        let weighted = self.weights.iter().zip(features).map(|(weight, value)| weight * value);
        let log_odds = self.intercept + weighted.sum::<f64>();
        1.0 / (1.0 + (-log_odds).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coefficients_name_known_features() {
        let Coefficients { hybrid, keyword } = serde_json::from_str(COEFFICIENTS).unwrap();
        for name in hybrid.weights.keys().chain(keyword.weights.keys()) {
            assert!(FEATURES.contains(&name.as_str()), "{name}");
        }
        assert!(!keyword.weights.contains_key("surprise"));
    }
}
