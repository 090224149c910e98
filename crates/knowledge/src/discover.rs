//! Recommendations: the nodes to read before starting a task.
//!
//! Hybrid search finds candidates with calibrated scores. Boosts for task type, status, recency and
//! proximity adjust them; overlapping sections are merged; a token budget may limit the set.

use std::collections::{BTreeMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boost::boosts;
use crate::budget::best_within;
use crate::copies::merge_copies;
use crate::error::{Error, in_range};
use crate::keyword::KeywordQuery;
use crate::merge::{Candidate, Part, merge_into_parents, sort};
use crate::node::NodeRef;
use crate::relevance::{Evidence, odds, probability};
use crate::search::{CANDIDATES, MAX_QUERY_CHARS, MAX_RESULTS, PreparedQuery};
use crate::snapshot::Snapshot;

/// With a best score below this, nothing is recommended unless the settings ask for less.
const MIN_FOR_ANY: f64 = 0.2;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscoverRequest {
    /// Natural language description of the task the LLM is about to perform
    #[schemars(length(min = 1, max = MAX_QUERY_CHARS), regex(pattern = r"\S"))]
    pub task_description: String,
    /// Optional categorization to improve matching
    pub task_type: Option<TaskType>,
    /// Optional path to the file currently being worked on
    pub current_file: Option<String>,
    /// Maximum number of recommendations to return
    #[schemars(range(min = 1, max = MAX_RESULTS), extend("default" = 5))]
    pub max_results: Option<usize>,
    /// Recommend the best set that fits in this many tokens
    #[schemars(range(min = 1))]
    pub token_budget: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskType {
    Implement,
    Debug,
    Refactor,
    Document,
    Review,
    Design,
    Test,
}

impl TaskType {
    /// Every task type, in the order in which settings and pages list them.
    pub const ALL: [Self; 7] = [
        Self::Implement,
        Self::Debug,
        Self::Refactor,
        Self::Document,
        Self::Review,
        Self::Design,
        Self::Test,
    ];

    /// The name used in requests and in the boost settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Implement => "implement",
            Self::Debug => "debug",
            Self::Refactor => "refactor",
            Self::Document => "document",
            Self::Review => "review",
            Self::Design => "design",
            Self::Test => "test",
        }
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DiscoverResponse {
    /// Best first. 0.9 and above: must load; 0.7: should load; 0.5: consider; below: skip
    pub recommendations: Vec<Recommendation>,
    /// How many nodes are relevant in all
    pub total_available: usize,
    /// Why there is nothing to read, or what is missing from the answer
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Recommendation {
    pub id: String,
    pub path: String,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// How likely the node is to matter for the task, 0 to 1
    pub relevance_score: f64,
    pub reason: String,
    pub estimated_tokens: usize,
    /// Sections below that matter too, best first: retrieve the node with its children
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sections: Vec<RecommendedSection>,
}

/// A section that is recommended as a part of the node above it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RecommendedSection {
    pub id: String,
    pub title: String,
    /// How likely the section is to matter for the task, 0 to 1
    pub relevance_score: f64,
}

/// Settings of recommendations: limits, and boosts for nodes that suit a task better.
#[derive(Debug, Clone)]
pub struct Discovery {
    pub default_max_results: usize,
    pub min_relevance_threshold: f64,
    pub boost_active_status: f64,
    pub boost_recent_update_days: u32,
    pub boost_recent_update_factor: f64,
    /// Task type → node type → factor.
    pub boosts: BTreeMap<String, BTreeMap<String, f64>>,
}

impl Discovery {
    /// The least score of the best node for there to be any recommendation: sections that may matter
    /// besides a good one are worth a line, and are noise without it.
    fn min_for_any(&self) -> f64 {
        (3.0 * self.min_relevance_threshold).min(MIN_FOR_ANY).max(self.min_relevance_threshold)
    }
}

impl Snapshot {
    pub fn discover(
        &self,
        request: &DiscoverRequest,
        settings: &Discovery,
    ) -> Result<DiscoverResponse, Error> {
        let task = request.task_description.trim();
        if task.is_empty() {
            return Err(Error::Empty { name: "task_description" });
        }
        in_range("length of task_description", task.chars().count(), 1..=MAX_QUERY_CHARS)?;
        let limit = request.max_results.unwrap_or(settings.default_max_results);
        in_range("max_results", limit, 1..=MAX_RESULTS)?;
        if request.token_budget == Some(0) {
            return Err(Error::Empty { name: "token_budget" });
        }
        let query = self.prepare(task)?;
        let (found, _) = self.candidates(&query, CANDIDATES, |_| true)?;
        let mut candidates: Vec<Candidate<'_>> = found
            .into_iter()
            .map(|(node, evidence)| boosted(node, evidence, request, settings))
            .filter(|candidate| candidate.score >= settings.min_relevance_threshold)
            .collect();
        sort(&mut candidates);
        let best = candidates.first().map_or(0.0, |best| best.score);
        if best < settings.min_for_any() {
            candidates.clear();
        }
        let total_available = candidates.len();
        let mut candidates = merge_into_parents(merge_copies(candidates));
        if let Some(budget) = request.token_budget {
            candidates = within_budget(candidates, budget, limit);
        }
        candidates.truncate(limit);
        let message = self.message(&query, request, total_available, candidates.len());
        let recommendations =
            candidates.iter().map(|c| recommend(c, &query.keyword, request, settings)).collect();
        Ok(DiscoverResponse { recommendations, total_available, message })
    }

    fn message(
        &self,
        query: &PreparedQuery,
        request: &DiscoverRequest,
        relevant: usize,
        returned: usize,
    ) -> Option<String> {
        let coverage = self.coverage_by(&query.semantic);
        let partial = (!coverage.is_complete()).then(|| {
            format!(
                "meaning: {} % ready; {} of {} nodes are compared by keywords only, until their \
                 vectors are computed",
                coverage.percent(),
                coverage.total - coverage.embedded,
                coverage.total
            )
        });
        let partial = match (self.unavailable_message(), partial) {
            (Some(unavailable), Some(partial)) => Some(format!("{unavailable}; {partial}")),
            (unavailable, partial) => unavailable.or(partial),
        };
        let empty = match (relevant, returned, request.token_budget) {
            (0, _, _) => Some(format!(
                "No knowledge base entry found for \"{}\". Try search_knowledge with other words; \
                 proceed with general knowledge and flag the uncertainty.",
                request.task_description.trim()
            )),
            (_, 0, Some(budget)) => Some(format!("nothing relevant fits in {budget} tokens")),
            _ => None,
        };
        match (empty, partial) {
            (Some(empty), Some(partial)) => Some(format!("{empty} ({partial})")),
            (empty, partial) => empty.or(partial),
        }
    }
}

/// Multiplies the odds by the boosts. A score stays between 0 and 1, and nodes with the same
/// evidence are ordered by their boosts.
fn boosted<'a>(
    node: NodeRef<'a>,
    evidence: Evidence,
    request: &DiscoverRequest,
    settings: &Discovery,
) -> Candidate<'a> {
    let boosts = boosts(node, request, settings);
    let factor: f64 = boosts.iter().map(|(factor, _)| factor).product();
    let score = probability(odds(evidence.relevance) * factor);
    Candidate { node, score, evidence, merged: Vec::new(), copies: Vec::new() }
}

fn within_budget(
    candidates: Vec<Candidate<'_>>,
    budget: usize,
    limit: usize,
) -> Vec<Candidate<'_>> {
    let items: Vec<(f64, usize)> =
        candidates.iter().map(|c| (odds(c.score), c.tokens().max(1))).collect();
    let chosen: HashSet<usize> = best_within(&items, budget, limit).into_iter().collect();
    let all = candidates.into_iter().enumerate();
    all.filter(|(i, _)| chosen.contains(i)).map(|(_, candidate)| candidate).collect()
}

fn recommend(
    candidate: &Candidate<'_>,
    query: &KeywordQuery,
    request: &DiscoverRequest,
    settings: &Discovery,
) -> Recommendation {
    let node = candidate.node;
    let boosts = boosts(node, request, settings).into_iter();
    let boosts = boosts.map(|(factor, boost)| (factor, boost.reason(node, request)));
    Recommendation {
        id: node.id().to_owned(),
        path: node.path(),
        title: node.title().to_owned(),
        kind: node.kind().to_owned(),
        relevance_score: rounded(candidate.score),
        reason: reason(candidate, query, boosts),
        estimated_tokens: candidate.tokens(),
        sections: candidate.merged.iter().map(section).collect(),
    }
}

fn section(part: &Part<'_>) -> RecommendedSection {
    RecommendedSection {
        id: part.node.id().to_owned(),
        title: part.node.title().to_owned(),
        relevance_score: rounded(part.score),
    }
}

fn rounded(score: f64) -> f64 {
    (score * 1000.0).round() / 1000.0
}

/// Why the node is recommended: matching words, similarity and boosts.
fn reason(
    candidate: &Candidate<'_>,
    query: &KeywordQuery,
    boosts: impl Iterator<Item = (f64, String)>,
) -> String {
    let mut parts = Vec::new();
    let in_title = query.words_in(candidate.node.title());
    let mut in_text = query.words_in(&candidate.node.body());
    in_text.retain(|word| !in_title.contains(word));
    if !in_title.is_empty() {
        parts.push(format!("its title has {}", quoted(&in_title)));
    }
    if !in_text.is_empty() {
        parts.push(format!("its text has {}", quoted(&in_text)));
    }
    let evidence = &candidate.evidence;
    if evidence.coverage > 0.0 {
        parts.push(format!("{:.0} % of the task by its words", evidence.coverage * 100.0));
    }
    if let (Some(cosine), Some(surprise)) = (evidence.cosine, evidence.surprise) {
        parts.push(format!(
            "similarity of meaning {cosine:.2}, {surprise:+.1} deviations from the mean of the base"
        ));
    }
    if !candidate.merged.is_empty() {
        let titles: Vec<&str> = candidate.merged.iter().map(|part| part.node.title()).collect();
        parts.push(format!("sections below fit too ({})", titles.join(", ")));
    }
    if let [first, ..] = candidate.copies.as_slice() {
        let others = match candidate.copies.len() {
            1 => String::new(),
            more => format!(" and {} more", more - 1),
        };
        parts.push(format!("copied in another version or language: {}{others}", first.path()));
    }
    for (factor, reason) in boosts {
        parts.push(format!("{reason} ×{}", (factor * 100.0).round() / 100.0));
    }
    parts.join("; ")
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}
