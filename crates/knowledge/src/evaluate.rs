//! Retrieval quality on queries with relevance judgments: nDCG, recall, MRR and hit rate.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::error::Error;
use crate::keyword::NodeKey;
use crate::search::SearchType;
use crate::snapshot::Snapshot;

const DEPTH: usize = 10;
/// Lower bounds of the bands in which relevance scores are reported.
const BANDS: [f64; 5] = [0.0, 0.3, 0.5, 0.7, 0.9];

/// A query with its relevance judgments: gain by document path.
#[derive(Debug, Clone)]
pub struct Judged {
    pub query: String,
    pub relevant: HashMap<String, f64>,
}

/// Means over all queries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Quality {
    pub ndcg_at_10: f64,
    pub recall_at_10: f64,
    pub mrr_at_10: f64,
    pub hit_at_1: f64,
}

/// Of the results whose score lies in a band, the share that is relevant.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Band {
    pub from: f64,
    pub results: usize,
    pub relevant_share: f64,
}

#[derive(Debug, Clone, Serialize)]
pub struct Evaluation {
    pub queries: usize,
    pub documents: usize,
    pub keyword: Quality,
    pub semantic: Quality,
    pub hybrid: Quality,
    /// Over the ten best results of every hybrid search.
    pub bands: Vec<Band>,
}

impl Snapshot {
    pub fn evaluate(&self, judged: &[Judged]) -> Result<Evaluation, Error> {
        let runs: Vec<[Vec<(String, f64)>; 3]> = judged
            .iter()
            .map(|judged| {
                let query = self.prepare(&judged.query)?;
                let run = |search_type| -> Result<Vec<(String, f64)>, Error> {
                    let ranked = self.rank(&query, search_type, DEPTH, |_: NodeKey| true)?;
                    let best = ranked.best.into_iter().take(DEPTH);
                    Ok(best.map(|(node, _, score)| (node.path(), score)).collect())
                };
                Ok([
                    run(SearchType::Keyword)?,
                    run(SearchType::Semantic)?,
                    run(SearchType::Hybrid)?,
                ])
            })
            .collect::<Result<_, Error>>()?;
        let quality = |kind: usize| {
            let pairs = judged.iter().zip(runs.iter().map(|runs| &runs[kind]));
            mean(pairs.map(|(judged, found)| measure(&judged.relevant, found)))
        };
        let (keyword, semantic, hybrid) = (quality(0), quality(1), quality(2));
        let hybrids = judged.iter().zip(runs.iter().map(|runs| &runs[2]));
        Ok(Evaluation {
            queries: judged.len(),
            documents: self.file_count(),
            keyword,
            semantic,
            hybrid,
            bands: bands(hybrids.map(|(judged, found)| (&judged.relevant, found.as_slice()))),
        })
    }
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
    }
}

fn bands<'a>(
    runs: impl Iterator<Item = (&'a HashMap<String, f64>, &'a [(String, f64)])>,
) -> Vec<Band> {
    let mut counted: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (relevant, found) in runs {
        for (path, score) in found {
            let band = BANDS.partition_point(|from| from <= score).saturating_sub(1);
            let entry = counted.entry(band).or_default();
            entry.0 += 1;
            entry.1 += usize::from(relevant.get(path).is_some_and(|gain| *gain > 0.0));
        }
    }
    let band = |(band, (results, relevant)): (usize, (usize, usize))| Band {
        from: BANDS[band],
        results,
        relevant_share: relevant as f64 / results.max(1) as f64,
    };
    counted.into_iter().map(band).collect()
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
}
