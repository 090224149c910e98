//! What should be read before a task is begun.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::budget::best_within;
use crate::error::{Error, in_range};
use crate::keyword::KeywordQuery;
use crate::node::NodeRef;
use crate::proximity::proximity;
use crate::relevance::{Evidence, odds, probability};
use crate::search::{CANDIDATES, MAX_QUERY_CHARS, MAX_RESULTS};
use crate::snapshot::Snapshot;
use crate::text::days_since_epoch;

/// A parent at least this good, compared with its child, stands for both.
const AS_GOOD: f64 = 0.9;
/// This many children of one parent are better read as the parent.
const MANY_CHILDREN: usize = 3;
/// Deprecated knowledge may still explain what is there.
const DEPRECATED: f64 = 0.5;
/// What lies as near as can be to the file being worked on.
const NEAR: f64 = 1.3;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiscoverRequest {
    /// Natural language description of the task the LLM is about to perform
    #[schemars(length(min = 1, max = MAX_QUERY_CHARS))]
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
    /// Sections below that matter too: retrieve the node with its children
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub sections: Vec<String>,
}

/// How much is recommended, and what makes a node fit a task better.
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

/// A question that found nothing.
#[derive(Debug, Clone, Copy)]
pub struct Miss<'a> {
    pub tool: &'static str,
    pub query: &'a str,
}

/// Where misses are noted. Noting one never delays or fails an answer.
pub trait MissLog: Send + Sync {
    fn record(&self, miss: &Miss<'_>);
}

/// A node on its way to being recommended.
struct Candidate<'a> {
    node: NodeRef<'a>,
    score: f64,
    cosine: Option<f32>,
    /// Sections below that it stands for.
    absorbed: Vec<NodeRef<'a>>,
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
        let question = self.question(task)?;
        let (found, _) = self.gather(&question, CANDIDATES, |_| true)?;
        let mut candidates: Vec<Candidate<'_>> = found
            .into_iter()
            .map(|(node, evidence)| weigh(node, &evidence, request, settings))
            .filter(|candidate| candidate.score >= settings.min_relevance_threshold)
            .collect();
        sort(&mut candidates);
        let total_available = candidates.len();
        let mut candidates = merge_overlaps(candidates);
        if let Some(budget) = request.token_budget {
            candidates = fitting(candidates, budget, limit);
        }
        candidates.truncate(limit);
        let message = self.message(request, total_available, candidates.len());
        let recommendations =
            candidates.iter().map(|c| recommend(c, &question.keyword, request, settings)).collect();
        Ok(DiscoverResponse { recommendations, total_available, message })
    }

    fn message(&self, request: &DiscoverRequest, relevant: usize, shown: usize) -> Option<String> {
        let coverage = self.coverage();
        let partial = (!coverage.is_complete()).then(|| {
            format!(
                "{} of {} nodes are compared by keywords only, until their vectors are computed",
                coverage.total - coverage.embedded,
                coverage.total
            )
        });
        let empty = match (relevant, shown, request.token_budget) {
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

/// The odds of the evidence times the boosts, as a probability: never outside 0 to 1, in the
/// order of the boosts where the evidence is the same.
fn weigh<'a>(
    node: NodeRef<'a>,
    evidence: &Evidence,
    request: &DiscoverRequest,
    settings: &Discovery,
) -> Candidate<'a> {
    let boosts = boosts(node, request, settings);
    let factor: f64 = boosts.iter().map(|(factor, _)| factor).product();
    let score = probability(odds(evidence.relevance) * factor);
    Candidate { node, score, cosine: evidence.cosine, absorbed: Vec::new() }
}

/// What makes a node fit a task better or worse than its text says.
enum Boost {
    Kind,
    Active,
    Deprecated,
    Checked { days_ago: i64 },
    Near,
}

fn boosts(node: NodeRef<'_>, request: &DiscoverRequest, settings: &Discovery) -> Vec<(f64, Boost)> {
    let mut boosts = Vec::new();
    if let Some(task) = request.task_type {
        let of_task = settings.boosts.get(task.name());
        let factor = of_task.and_then(|boosts| boosts.get(node.kind())).copied().unwrap_or(1.0);
        boosts.push((factor, Boost::Kind));
    }
    match node.status() {
        "active" => boosts.push((settings.boost_active_status, Boost::Active)),
        "deprecated" => boosts.push((DEPRECATED, Boost::Deprecated)),
        _ => {}
    }
    if let Some(days_ago) = age_in_days(node)
        && days_ago <= i64::from(settings.boost_recent_update_days)
    {
        boosts.push((settings.boost_recent_update_factor, Boost::Checked { days_ago }));
    }
    if let Some(file) = &request.current_file {
        let nearness = proximity(file, node.document().path.as_str());
        boosts.push((1.0 + (NEAR - 1.0) * nearness, Boost::Near));
    }
    boosts.retain(|(factor, _)| (factor - 1.0).abs() > f64::EPSILON);
    boosts
}

impl Boost {
    fn why(&self, node: NodeRef<'_>, request: &DiscoverRequest) -> String {
        match self {
            Self::Kind => {
                format!("{} for {}", node.kind(), request.task_type.map_or("", TaskType::name))
            }
            Self::Active => "active".to_owned(),
            Self::Deprecated => "deprecated".to_owned(),
            Self::Checked { days_ago } => format!("checked {days_ago} days ago"),
            Self::Near => format!("near {}", request.current_file.as_deref().unwrap_or_default()),
        }
    }
}

/// Days since `last_checked`; a date to come counts as today.
fn age_in_days(node: NodeRef<'_>) -> Option<i64> {
    let checked = days_since_epoch(node.section().last_checked.as_deref()?)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs() / 86_400;
    Some((i64::try_from(now).ok()? - checked).max(0))
}

fn sort(candidates: &mut [Candidate<'_>]) {
    candidates
        .sort_by(|a, b| b.score.total_cmp(&a.score).then(a.node.index().cmp(&b.node.index())));
}

/// One recommendation where several would overlap: a parent that fits as well as its child stands
/// for it, and a parent stands for its children where many of them fit.
fn merge_overlaps(candidates: Vec<Candidate<'_>>) -> Vec<Candidate<'_>> {
    let mut by_node: HashMap<usize, Candidate<'_>> =
        candidates.into_iter().map(|candidate| (candidate.node.index(), candidate)).collect();
    // Deepest first, so that what a parent took over can go further up.
    let mut order: Vec<usize> = by_node.keys().copied().collect();
    order.sort_by_key(|index| {
        let depth = by_node[index].node.section().level;
        (std::cmp::Reverse(depth), *index)
    });
    for index in order {
        let Some(parent) = parent_of(&by_node[&index]) else { continue };
        let as_good =
            by_node.get(&parent).is_some_and(|p| p.score >= AS_GOOD * by_node[&index].score);
        if as_good && let Some(child) = by_node.remove(&index) {
            absorb(&mut by_node, parent, child);
        }
    }
    let mut children: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, candidate) in &by_node {
        if let Some(parent) = parent_of(candidate) {
            children.entry(parent).or_default().push(*index);
        }
    }
    children.retain(|_, children| children.len() >= MANY_CHILDREN);
    for (parent, children) in children {
        for child in children {
            let Some(child) = by_node.remove(&child) else { continue };
            if let Some(whole) = child.node.parent() {
                by_node.entry(parent).or_insert_with(|| Candidate {
                    node: whole,
                    score: child.score,
                    cosine: child.cosine,
                    absorbed: Vec::new(),
                });
            }
            absorb(&mut by_node, parent, child);
        }
    }
    let mut merged: Vec<Candidate<'_>> = by_node.into_values().collect();
    sort(&mut merged);
    merged
}

fn parent_of(candidate: &Candidate<'_>) -> Option<usize> {
    candidate.node.parent().map(NodeRef::index)
}

fn absorb<'a>(all: &mut HashMap<usize, Candidate<'a>>, parent: usize, child: Candidate<'a>) {
    if let Some(parent) = all.get_mut(&parent) {
        parent.score = parent.score.max(child.score);
        parent.absorbed.push(child.node);
        parent.absorbed.extend(child.absorbed);
        parent.absorbed.sort_by_key(|node| node.index());
    }
}

impl Candidate<'_> {
    /// What reading it costs: its text, and that of the sections it stands for.
    fn tokens(&self) -> usize {
        let below: usize = self.absorbed.iter().map(|node| node.token_count()).sum();
        self.node.token_count() + below
    }
}

fn fitting(candidates: Vec<Candidate<'_>>, budget: usize, limit: usize) -> Vec<Candidate<'_>> {
    let worth: Vec<(f64, usize)> =
        candidates.iter().map(|c| (odds(c.score), c.tokens().max(1))).collect();
    let chosen: HashSet<usize> = best_within(&worth, budget, limit).into_iter().collect();
    let all = candidates.into_iter().enumerate();
    all.filter(|(i, _)| chosen.contains(i)).map(|(_, candidate)| candidate).collect()
}

fn recommend(
    candidate: &Candidate<'_>,
    asked: &KeywordQuery,
    request: &DiscoverRequest,
    settings: &Discovery,
) -> Recommendation {
    let node = candidate.node;
    let boosts = boosts(node, request, settings).into_iter();
    let boosts = boosts.map(|(factor, boost)| (factor, boost.why(node, request)));
    Recommendation {
        id: node.id().to_owned(),
        path: node.path(),
        title: node.title().to_owned(),
        kind: node.kind().to_owned(),
        relevance_score: (candidate.score * 1000.0).round() / 1000.0,
        reason: reason(candidate, asked, boosts),
        estimated_tokens: candidate.tokens(),
        sections: candidate.absorbed.iter().map(|node| node.id().to_owned()).collect(),
    }
}

/// What speaks for the node, from the evidence alone.
fn reason(
    candidate: &Candidate<'_>,
    asked: &KeywordQuery,
    boosts: impl Iterator<Item = (f64, String)>,
) -> String {
    let mut parts = Vec::new();
    let in_title = asked.words_in(candidate.node.title());
    let mut in_text = asked.words_in(&candidate.node.body());
    in_text.retain(|word| !in_title.contains(word));
    if !in_title.is_empty() {
        parts.push(format!("its title has {}", words(&in_title)));
    }
    if !in_text.is_empty() {
        parts.push(format!("its text has {}", words(&in_text)));
    }
    if let Some(cosine) = candidate.cosine {
        parts.push(format!("similarity of meaning {cosine:.2}"));
    }
    if !candidate.absorbed.is_empty() {
        let titles: Vec<&str> = candidate.absorbed.iter().map(|node| node.title()).collect();
        parts.push(format!("sections below fit too ({})", titles.join(", ")));
    }
    for (factor, why) in boosts {
        parts.push(format!("{why} ×{}", (factor * 100.0).round() / 100.0));
    }
    parts.join("; ")
}

fn words(terms: &[String]) -> String {
    terms.iter().map(|term| format!("\"{term}\"")).collect::<Vec<_>>().join(", ")
}
