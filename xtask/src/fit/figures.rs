//! Figures of a fitted model on a set.

use std::collections::BTreeMap;

use super::Question;
use super::logistic::Fitted;

const DEPTH: usize = 10;
const BANDS: usize = 10;
/// From this score on, a response tells an agent to load a node.
const LOAD: f64 = 0.7;
/// Below this score, nothing is recommended by default.
const SHOWN: f64 = 0.3;

pub(super) struct Figures {
    name: String,
    ndcg: f64,
    first_three: f64,
    ece: f64,
    first_score: f64,
    first_right: f64,
    refused: f64,
    removed: f64,
    absent: BTreeMap<String, f64>,
}

impl Figures {
    pub(super) fn head() -> String {
        "| set left out | nDCG@10 | among the first three | ECE | first result: score / right | refused \
         although there | sure although removed | sure although absent |\n|---|---|---|---|---|---|---|---|\n"
            .to_owned()
    }

    pub(super) fn of(name: &str, questions: &[&Question], model: &Fitted) -> Self {
        let (mut outcomes, mut ndcg, mut three) = (Vec::new(), Vec::new(), Vec::new());
        let (mut first, mut right, mut removed) = (Vec::new(), Vec::new(), Vec::new());
        let mut absent: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for question in questions {
            let best = best(question, model);
            let top = best.first().map_or(0.0, |(score, _)| *score);
            match (&question.absent, question.removed) {
                (Some(reason), _) => absent.entry(reason.clone()).or_default().push(top),
                (None, true) => removed.push(top),
                (None, false) => {
                    ndcg.push(discounted(&best, question.answers));
                    three.push(f64::from(u8::from(best.iter().take(3).any(|(_, right)| *right))));
                    first.push(top);
                    right.push(f64::from(u8::from(best.first().is_some_and(|(_, right)| *right))));
                    outcomes.extend(best);
                }
            }
        }
        let sure = |scores: &[f64]| share(scores, |score| score >= LOAD);
        Self {
            name: name.to_owned(),
            ndcg: mean(&ndcg),
            first_three: mean(&three),
            ece: calibration_error(&outcomes),
            first_score: mean(&first),
            first_right: mean(&right),
            refused: share(&first, |score| score < SHOWN),
            removed: sure(&removed),
            absent: absent.iter().map(|(reason, scores)| (reason.clone(), sure(scores))).collect(),
        }
    }

    pub(super) fn row(&self) -> String {
        let absent = self.absent.iter().map(|(reason, share)| format!("{reason} {share:.2}"));
        format!(
            "| {} | {:.3} | {:.2} | {:.3} | {:.2} / {:.2} | {:.2} | {:.2} | {} |\n",
            self.name,
            self.ndcg,
            self.first_three,
            self.ece,
            self.first_score,
            self.first_right,
            self.refused,
            self.removed,
            absent.collect::<Vec<_>>().join(", "),
        )
    }
}

/// Scores and labels of the best candidates, best first.
fn best(question: &Question, model: &Fitted) -> Vec<(f64, bool)> {
    let candidates = question.candidates.iter();
    let mut best: Vec<(f64, bool)> =
        candidates.map(|(right, features)| (model.probability(features), *right)).collect();
    best.sort_by(|a, b| b.0.total_cmp(&a.0));
    best.truncate(DEPTH);
    best
}

fn discounted(best: &[(f64, bool)], answers: usize) -> f64 {
    let discount = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let found = best.iter().enumerate().filter(|(_, (_, right))| *right);
    let gained: f64 = found.map(|(rank, _)| discount(rank)).sum();
    let ideal: f64 = (0..answers.min(DEPTH)).map(discount).sum();
    gained / ideal.max(f64::MIN_POSITIVE)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a probability lies between 0 and 1"
)]
fn calibration_error(outcomes: &[(f64, bool)]) -> f64 {
    let mut bands = [(0.0, 0.0); BANDS];
    for (score, right) in outcomes {
        let band = ((score * BANDS as f64) as usize).min(BANDS - 1);
        bands[band].0 += score;
        bands[band].1 += f64::from(u8::from(*right));
    }
    let gaps: f64 = bands.iter().map(|(scores, right)| (scores - right).abs()).sum();
    gaps / outcomes.len().max(1) as f64
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn share(values: &[f64], is: impl Fn(f64) -> bool) -> f64 {
    values.iter().filter(|value| is(**value)).count() as f64 / values.len().max(1) as f64
}
