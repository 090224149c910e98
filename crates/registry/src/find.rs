//! Ranks skills for a query.
//!
//! Two scores are combined: the share of the query's words that occur in the skill, and the
//! similarity of meaning that a [`Ranker`] computes. Either alone can find a skill; both together
//! rank it higher.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::model::Metadata;
use crate::store::Skill;

/// Skills with a lower score are left out.
const MIN_RELEVANCE: f64 = 0.25;
/// The score of a skill that has all words of the query, and nothing else in its favour.
const WORDS_WEIGHT: f64 = 0.6;
/// How much of a skill's text is ranked, in characters.
const MAX_TEXT: usize = 2_000;

/// Compares texts with a query by meaning.
pub trait Ranker: Send + Sync {
    /// A similarity from 0 to 1 for each text, in order.
    fn similarity(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, RankError>;
}

#[derive(Debug, thiserror::Error)]
#[error("skills cannot be compared by meaning: {0}")]
pub struct RankError(Box<dyn std::error::Error + Send + Sync>);

impl RankError {
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

impl<F> Ranker for F
where
    F: Fn(&str, &[String]) -> Result<Vec<f32>, RankError> + Send + Sync,
{
    fn similarity(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, RankError> {
        self(query, texts)
    }
}

/// Finds no similarity of meaning, so that only words count.
#[derive(Debug, Clone, Copy)]
pub struct Words;

impl Ranker for Words {
    fn similarity(&self, _: &str, texts: &[String]) -> Result<Vec<f32>, RankError> {
        Ok(vec![0.0; texts.len()])
    }
}

/// Scores by skill name and version.
#[derive(Debug, Default)]
pub(crate) struct Relevance(HashMap<String, HashMap<String, f64>>);

impl Relevance {
    pub(crate) fn of(&self, skill: &str, version: &str) -> Option<f64> {
        self.0.get(skill)?.get(version).copied()
    }

    /// The names of the best skills.
    pub(crate) fn best(&self, limit: usize) -> Vec<String> {
        let mut names: Vec<(&String, f64)> = self
            .0
            .iter()
            .map(|(name, versions)| (name, versions.values().copied().fold(0.0, f64::max)))
            .collect();
        names.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        names.into_iter().take(limit).map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn skill_count(&self) -> usize {
        self.0.len()
    }
}

/// Scores the skills and keeps the relevant ones.
pub(crate) fn rank(query: &str, skills: &[Skill], ranker: &dyn Ranker) -> Relevance {
    let texts: Vec<String> =
        skills.iter().map(|skill| text(&skill.skill_name, skill.metadata.as_ref())).collect();
    let similarities = ranker.similarity(query, &texts).unwrap_or_else(|error| {
        tracing::warn!(%error, "ranking by meaning failed; ranking skills by words alone");
        Vec::new()
    });
    let query = words(query);
    let mut relevance = Relevance::default();
    for (index, (skill, text)) in skills.iter().zip(&texts).enumerate() {
        let similarity = similarities.get(index).copied().unwrap_or_default();
        let score = weigh(f64::from(similarity), share(&query, &words(text)));
        if score >= MIN_RELEVANCE {
            let versions = relevance.0.entry(skill.skill_name.clone()).or_default();
            let best = versions.entry(skill.version.clone()).or_default();
            *best = best.max(score);
        }
    }
    relevance
}

pub(crate) fn better(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

/// One minus the probability that both scores are wrong, to four digits.
fn weigh(similarity: f64, words: f64) -> f64 {
    let either = 1.0 - (1.0 - similarity.clamp(0.0, 1.0)) * (1.0 - WORDS_WEIGHT * words);
    (either * 10_000.0).round() / 10_000.0
}

/// The text of a skill: its name as words, and all strings in its metadata.
pub fn text(skill_name: &str, metadata: Option<&Metadata>) -> String {
    let mut text = skill_name.replace(['-', '_', '/', '.'], " ");
    for value in metadata.into_iter().flat_map(Metadata::values) {
        collect(value, &mut text);
    }
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

fn collect(value: &Value, text: &mut String) {
    match value {
        Value::String(string) if text.len() < 4 * MAX_TEXT => {
            text.push_str(". ");
            text.push_str(string);
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, text)),
        Value::Object(object) => object.values().for_each(|value| collect(value, text)),
        _ => {}
    }
}

/// The share of the query's words that the text has.
fn share(query: &BTreeSet<String>, text: &BTreeSet<String>) -> f64 {
    if query.is_empty() {
        return 0.0;
    }
    query.intersection(text).count() as f64 / query.len() as f64
}

/// Lower-case stems, without the words that every query has.
fn words(text: &str) -> BTreeSet<String> {
    let text = text.to_lowercase();
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !COMMON.contains(word))
        .map(|word| stem(word).to_owned())
        .collect()
}

/// Makes `deploys`, `deploying`, `deployed` and `deployment` the same.
fn stem(word: &str) -> &str {
    let endings = ["ments", "ment", "ing", "ers", "er", "ed", "es", "s"];
    let stripped = endings.iter().find_map(|ending| word.strip_suffix(ending));
    stripped.filter(|stem| stem.chars().count() >= 3).unwrap_or(word)
}

const COMMON: [&str; 44] = [
    "a", "about", "agent", "agents", "all", "an", "and", "any", "are", "be", "can", "do", "does",
    "for", "from", "have", "has", "how", "i", "in", "is", "it", "me", "of", "on", "or", "our",
    "skill", "skills", "some", "someone", "that", "the", "there", "this", "to", "us", "use", "we",
    "what", "which", "who", "with", "you",
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn skill(name: &str, metadata: &Value) -> Skill {
        Skill {
            skill_name: name.to_owned(),
            version: "1.0.0".to_owned(),
            metadata: metadata.as_object().cloned(),
        }
    }

    #[test]
    fn finds_a_skill_by_words_alone() {
        let skills = [
            skill("k8s", &json!({"description": "Deploys services to Kubernetes"})),
            skill("cooking", &json!({"description": "Soups"})),
            skill("deploy", &json!({"tags": ["ftp"]})),
        ];
        let found = rank("who can deploy to kubernetes?", &skills, &Words);
        assert_eq!(found.best(10), ["k8s", "deploy"]);
        assert_eq!(found.of("cooking", "1.0.0"), None);
    }

    #[test]
    fn ranks_by_words_when_the_ranker_fails() {
        let broken = |_: &str, _: &[String]| Err(RankError::new(std::io::Error::other("no model")));
        let skills = [skill("rust-testing", &Value::Null)];
        assert_eq!(rank("testing rust", &skills, &broken).best(1), ["rust-testing"]);
    }

    #[test]
    fn scores_stay_between_zero_and_one() {
        for similarity in [-0.5, 0.0, 0.5, 1.0, 1.2] {
            for words in [0.0, 0.5, 1.0] {
                assert!((0.0..=1.0).contains(&weigh(similarity, words)));
            }
        }
    }
}
