//! How good search is, on questions with known answers: ranking (nDCG, recall, MRR, hits), whether
//! scores are probabilities (calibration), and whether it says no when there is no answer (refusal).

mod reading;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

pub use self::reading::Reading;
use crate::discover::Discovery;
use crate::error::Error;
use crate::keyword::NodeKey;
use crate::node::NodeRef;
pub use crate::relevance::{FEATURES, Features};
use crate::search::{CANDIDATES, SearchType};
use crate::semantic::Semantic;
use crate::snapshot::Snapshot;

const DEPTH: usize = 10;
/// Scores are compared with outcomes in so many bands of equal width.
const BANDS: usize = 10;
/// From this score on, a response tells an agent to load a node.
const LOAD: f64 = 0.7;
/// Below this score, nothing is recommended by default.
const SHOWN: f64 = 0.3;

/// A question with its relevance judgments.
#[derive(Debug, Clone)]
pub struct Judged {
    pub question: String,
    /// Why there is no answer, if there is none, such as `sibling`.
    pub absent: Option<String>,
    /// Gain by path of the node.
    pub relevant: HashMap<String, f64>,
}

/// Means over all questions that have an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Quality {
    pub ndcg_at_10: f64,
    pub recall_at_10: f64,
    pub mrr_at_10: f64,
    pub hit_at_1: f64,
    pub hit_at_3: f64,
}

/// Of the results whose score lies in a band, the share that is relevant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Band {
    pub from: f64,
    pub results: usize,
    pub mean_score: f64,
    pub relevant_share: f64,
}

/// How well scores agree with outcomes, over the ten best results of every question with an answer.
#[derive(Debug, Clone, Serialize)]
pub struct Calibration {
    /// Expected calibration error.
    pub ece: f64,
    pub brier: f64,
    /// The Brier score of always giving the mean.
    pub brier_of_a_constant: f64,
    /// The mean score of first results, and how often they are right.
    pub first_score: f64,
    pub first_right: f64,
    /// Questions with three or more results at 0.98 or above of which one is not right.
    pub saturated: f64,
    pub bands: Vec<Band>,
}

/// Shares of questions.
#[derive(Debug, Clone, Serialize)]
pub struct Refusal {
    /// With an answer, but no result at 0.3 or above.
    pub false_refusals: f64,
    /// Whose answers were taken away, and still something scores 0.7 or above.
    pub removed_but_sure: f64,
    /// Without an answer by the reason, and something scores 0.7 or above.
    pub absent_but_sure: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Evaluation {
    pub questions: usize,
    pub nodes: usize,
    pub keyword: Quality,
    pub semantic: Quality,
    pub hybrid: Quality,
    pub calibration: Calibration,
    pub refusal: Refusal,
    /// By a search for words over the files, and by the recommendations.
    pub read_by_words: Reading,
    pub read_by_discovery: Reading,
}

/// A candidate for a question with what the model of relevance sees of it.
#[derive(Debug, Clone)]
pub struct Candidate {
    pub path: String,
    pub relevance: f64,
    pub features: Features,
}

/// Which part of the evidence counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidences {
    WordsAndMeaning,
    /// As before vectors are computed.
    Words,
}

impl Snapshot {
    /// The candidates for a question, best first, as if the nodes at `removed` did not exist.
    pub fn judge_question(
        &self,
        question: &str,
        evidence: Evidences,
        removed: &HashSet<&str>,
    ) -> Result<Vec<Candidate>, Error> {
        let mut query = self.prepare(question)?;
        if evidence == Evidences::Words {
            query.semantic = Arc::new(Semantic::default());
        }
        let removed: HashSet<NodeKey> = self
            .nodes()
            .filter(|node| !removed.is_empty() && removed.contains(node.path().as_str()))
            .map(NodeRef::key)
            .collect();
        let (found, _) = self.candidates(&query, CANDIDATES, move |key| !removed.contains(&key))?;
        let mut candidates: Vec<Candidate> = found
            .into_iter()
            .map(|(node, evidence)| Candidate {
                path: node.path(),
                relevance: evidence.relevance,
                features: evidence.features,
            })
            .collect();
        candidates.sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then(a.path.cmp(&b.path)));
        Ok(candidates)
    }

    pub fn evaluate(&self, judged: &[Judged], settings: &Discovery) -> Result<Evaluation, Error> {
        let answerable: Vec<&Judged> = judged.iter().filter(|one| one.absent.is_none()).collect();
        let mut runs: [Vec<Run<'_>>; 3] = Default::default();
        let mut removed = Vec::new();
        for one in &answerable {
            let query = self.prepare(&one.question)?;
            let types = [SearchType::Keyword, SearchType::Semantic, SearchType::Hybrid];
            for (runs, search_type) in runs.iter_mut().zip(types) {
                let ranked = self.rank(&query, search_type, DEPTH, |_: NodeKey| true)?;
                let best = ranked.best.into_iter().take(DEPTH);
                let found = best.map(|(node, _, score)| (node.path(), score)).collect();
                runs.push(Run { relevant: &one.relevant, found });
            }
            let answers = one.relevant.keys().map(String::as_str).collect();
            removed.push(self.best_score(&one.question, &answers)?);
        }
        let mut absent: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for one in judged {
            if let Some(reason) = &one.absent {
                let score = self.best_score(&one.question, &HashSet::new())?;
                absent.entry(reason.clone()).or_default().push(score);
            }
        }
        let quality = |runs: &[Run<'_>]| mean(runs.iter().map(Run::quality));
        let [keyword, semantic, hybrid] = &runs;
        let sure = |scores: &[f64]| share(scores.iter(), |score| **score >= LOAD);
        let read_by_words = self.read_by_words(&answerable);
        let read_by_discovery = self.read_by_discovery(&answerable, settings)?;
        Ok(Evaluation {
            read_by_words,
            read_by_discovery,
            questions: judged.len(),
            nodes: self.node_count(),
            keyword: quality(keyword),
            semantic: quality(semantic),
            hybrid: quality(hybrid),
            calibration: calibration(hybrid),
            refusal: Refusal {
                false_refusals: share(hybrid.iter(), |run| run.first_score() < SHOWN),
                removed_but_sure: sure(&removed),
                absent_but_sure: absent.iter().map(|(k, v)| (k.clone(), sure(v))).collect(),
            },
        })
    }

    fn best_score(&self, question: &str, removed: &HashSet<&str>) -> Result<f64, Error> {
        let candidates = self.judge_question(question, Evidences::WordsAndMeaning, removed)?;
        Ok(candidates.first().map_or(0.0, |best| best.relevance))
    }
}

/// The ten best results of one question with their scores.
struct Run<'a> {
    relevant: &'a HashMap<String, f64>,
    found: Vec<(String, f64)>,
}

impl Run<'_> {
    fn quality(&self) -> Quality {
        measure(self.relevant, &self.found)
    }

    fn first_score(&self) -> f64 {
        self.found.first().map_or(0.0, |(_, score)| *score)
    }

    fn is_right(&self, path: &str) -> bool {
        self.relevant.get(path).is_some_and(|gain| *gain > 0.0)
    }

    /// Score and outcome of every result.
    fn outcomes(&self) -> impl Iterator<Item = (f64, bool)> {
        self.found.iter().map(|(path, score)| (*score, self.is_right(path)))
    }

    fn is_saturated(&self) -> bool {
        let sure: Vec<bool> =
            self.outcomes().filter(|(score, _)| *score >= 0.98).map(|(_, right)| right).collect();
        sure.len() >= 3 && sure.contains(&false)
    }
}

fn share<T>(all: impl Iterator<Item = T>, is: impl Fn(&T) -> bool) -> f64 {
    let (mut matching, mut count) = (0, 0_usize);
    for one in all {
        count += 1;
        matching += usize::from(is(&one));
    }
    matching as f64 / count.max(1) as f64
}

fn calibration(runs: &[Run<'_>]) -> Calibration {
    let outcomes: Vec<(f64, bool)> = runs.iter().flat_map(Run::outcomes).collect();
    let count = outcomes.len().max(1) as f64;
    let relevant = share(outcomes.iter(), |(_, right)| *right);
    let errors =
        outcomes.iter().map(|(score, right)| (score - f64::from(u8::from(*right))).powi(2));
    let bands = bands(&outcomes);
    let gaps = bands
        .iter()
        .map(|band| band.results as f64 / count * (band.mean_score - band.relevant_share).abs());
    Calibration {
        ece: gaps.sum(),
        brier: errors.sum::<f64>() / count,
        brier_of_a_constant: relevant * (1.0 - relevant),
        first_score: runs.iter().map(Run::first_score).sum::<f64>() / runs.len().max(1) as f64,
        first_right: share(runs.iter(), |run| run.outcomes().next().is_some_and(|(_, r)| r)),
        saturated: share(runs.iter(), |run| run.is_saturated()),
        bands,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a score lies between 0 and 1"
)]
fn bands(outcomes: &[(f64, bool)]) -> Vec<Band> {
    let mut counted: BTreeMap<usize, (usize, f64, usize)> = BTreeMap::new();
    for (score, right) in outcomes {
        let band = ((score * BANDS as f64) as usize).min(BANDS - 1);
        let entry = counted.entry(band).or_default();
        entry.0 += 1;
        entry.1 += score;
        entry.2 += usize::from(*right);
    }
    let band = |(band, (results, scores, right)): (usize, (usize, f64, usize))| Band {
        from: band as f64 / BANDS as f64,
        results,
        mean_score: scores / results as f64,
        relevant_share: right as f64 / results as f64,
    };
    counted.into_iter().map(band).collect()
}

fn measure(relevant: &HashMap<String, f64>, found: &[(String, f64)]) -> Quality {
    let gain = |path: &String| relevant.get(path).copied().unwrap_or(0.0);
    let discount = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let dcg: f64 =
        found.iter().enumerate().map(|(rank, (path, _))| gain(path) * discount(rank)).sum();
    let mut ideal: Vec<f64> = relevant.values().copied().filter(|gain| *gain > 0.0).collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let best: f64 = ideal.iter().take(DEPTH).enumerate().map(|(rank, g)| g * discount(rank)).sum();
    let hits = found.iter().filter(|(path, _)| gain(path) > 0.0).count();
    let first = found.iter().position(|(path, _)| gain(path) > 0.0);
    Quality {
        ndcg_at_10: if best > 0.0 { dcg / best } else { 0.0 },
        recall_at_10: hits as f64 / ideal.len().max(1) as f64,
        mrr_at_10: first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64),
        hit_at_1: f64::from(u8::from(first == Some(0))),
        hit_at_3: f64::from(u8::from(first.is_some_and(|rank| rank < 3))),
    }
}

fn mean(all: impl Iterator<Item = Quality>) -> Quality {
    let all: Vec<Quality> = all.collect();
    let count = all.len().max(1) as f64;
    let of = |value: fn(&Quality) -> f64| all.iter().map(value).sum::<f64>() / count;
    Quality {
        ndcg_at_10: of(|q| q.ndcg_at_10),
        recall_at_10: of(|q| q.recall_at_10),
        mrr_at_10: of(|q| q.mrr_at_10),
        hit_at_1: of(|q| q.hit_at_1),
        hit_at_3: of(|q| q.hit_at_3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_match_their_definitions() {
        let relevant = HashMap::from([("a".to_owned(), 1.0), ("b".to_owned(), 1.0)]);
        let found = [("x".to_owned(), 0.9), ("a".to_owned(), 0.8), ("b".to_owned(), 0.7)];
        let quality = measure(&relevant, &found);
        let expected = (1.0 / 3_f64.log2() + 0.5) / (1.0 + 1.0 / 3_f64.log2());
        assert!((quality.ndcg_at_10 - expected).abs() < 1e-12);
        assert!((quality.recall_at_10 - 1.0).abs() < 1e-12);
        assert!((quality.mrr_at_10 - 0.5).abs() < 1e-12);
        assert!(quality.hit_at_1.abs() < 1e-12);
    }

    #[test]
    fn scores_are_compared_with_outcomes() {
        let relevant = HashMap::from([("a".to_owned(), 1.0)]);
        let found = vec![("a".to_owned(), 0.9), ("x".to_owned(), 0.5), ("y".to_owned(), 0.5)];
        let calibration = calibration(&[Run { relevant: &relevant, found }]);
        // One of one right at 0.9, none of two at 0.5.
        assert!((calibration.ece - (0.1 + 2.0 * 0.5) / 3.0).abs() < 1e-12);
        assert!((calibration.brier - (0.01 + 0.25 + 0.25) / 3.0).abs() < 1e-12);
        assert!((calibration.brier_of_a_constant - 2.0 / 9.0).abs() < 1e-12);
        assert_eq!(calibration.bands.len(), 2);
    }
}
