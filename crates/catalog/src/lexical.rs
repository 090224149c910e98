//! Lexical similarity: tf-idf over character trigrams, so that a typo costs little.

use std::collections::HashMap;

type Gram = [char; 3];

/// An index of many short texts.
#[derive(Debug, Default)]
pub(crate) struct Grams {
    idf: HashMap<Gram, f32>,
    /// The texts that contain a gram, each with its weight.
    postings: HashMap<Gram, Vec<(u32, f32)>>,
    texts: usize,
}

impl Grams {
    pub(crate) fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let counted: Vec<HashMap<Gram, f32>> = texts.map(count).collect();
        let mut with: HashMap<Gram, f32> = HashMap::new();
        for gram in counted.iter().flat_map(HashMap::keys) {
            *with.entry(*gram).or_default() += 1.0;
        }
        let all = counted.len() as f32;
        let idf = |with: f32| ((1.0 + all) / (1.0 + with)).ln() + 1.0;
        let idf = with.into_iter().map(|(gram, with)| (gram, idf(with))).collect();
        let mut grams = Self { idf, postings: HashMap::new(), texts: counted.len() };
        for (text, counts) in (0..).zip(counted) {
            for (gram, weight) in grams.weigh(counts) {
                grams.postings.entry(gram).or_default().push((text, weight));
            }
        }
        grams
    }

    /// The cosine similarity of a query with every text.
    pub(crate) fn compare(&self, query: &str) -> Vec<f32> {
        let mut cosines = vec![0.0; self.texts];
        for (gram, weight) in self.weigh(count(query)) {
            for (text, other) in self.postings.get(&gram).into_iter().flatten() {
                cosines[*text as usize] += weight * other;
            }
        }
        cosines
    }

    /// Grams that no text has are left out, so that they do not lower the query's scores.
    fn weigh(&self, counts: HashMap<Gram, f32>) -> Vec<(Gram, f32)> {
        let weigh =
            |(gram, count): (Gram, f32)| Some((gram, (1.0 + count.ln()) * self.idf.get(&gram)?));
        let mut weights: Vec<(Gram, f32)> = counts.into_iter().filter_map(weigh).collect();
        let length = weights.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
        for (_, weight) in &mut weights {
            *weight /= length;
        }
        weights
    }
}

/// Counts the grams of every word, padded by spaces so that its first and last letters count.
fn count(text: &str) -> HashMap<Gram, f32> {
    let mut counts = HashMap::new();
    for word in text.to_lowercase().split_whitespace() {
        let letters: Vec<char> = format!(" {word} ").chars().collect();
        for gram in letters.windows(3) {
            *counts.entry([gram[0], gram[1], gram[2]]).or_default() += 1.0;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_the_intended_text_first_despite_a_typo() {
        let texts = ["checkpoints", "code completion", "sandboxing", "context compaction"];
        let grams = Grams::new(texts.into_iter());
        for (asked, meant) in [("chekpoints", 0), ("code competion", 1), ("sandboxxing", 2)] {
            let cosines = grams.compare(asked);
            let best = (0..texts.len()).max_by(|a, b| cosines[*a].total_cmp(&cosines[*b]));
            assert_eq!(best, Some(meant), "{asked}: {cosines:?}");
        }
        let same = grams.compare("sandboxing")[2];
        assert!((same - 1.0).abs() < 1e-5);
        assert!(grams.compare("").iter().all(|cosine| *cosine == 0.0));
    }
}
