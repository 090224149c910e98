//! Nodes found by their words and their meaning.

use std::collections::{HashMap, HashSet};
use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, in_range};
use crate::keyword::{KeywordQuery, NodeKey};
use crate::node::NodeRef;
use crate::relevance::Evidence;
use crate::semantic::Semantic;
use crate::snapshot::Snapshot;
use crate::text::{one_line, plain};

pub const DEFAULT_RESULTS: usize = 10;
pub const MAX_RESULTS: usize = 100;
pub const MAX_QUERY_CHARS: usize = 10_000;
/// Nodes of each kind of evidence that are looked at closely.
pub(crate) const CANDIDATES: usize = 100;
const SNIPPET_CHARS: usize = 280;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    /// Search query (supports natural language)
    #[schemars(length(min = 1, max = MAX_QUERY_CHARS))]
    pub query: String,
    /// By matching words, by meaning, or by both
    #[serde(default)]
    pub search_type: SearchType,
    /// Optional list of knowledge base IDs to search within: names of bases, ids or paths of
    /// files, ids of sections
    #[serde(default)]
    pub scope: Vec<String>,
    /// Maximum number of results to return
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = MAX_RESULTS))]
    pub max_results: usize,
}

fn default_results() -> usize {
    DEFAULT_RESULTS
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchType {
    Semantic,
    Keyword,
    #[default]
    Hybrid,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SearchResponse {
    /// Best first
    pub results: Vec<Found>,
    /// How many nodes matched in all
    pub total_available: usize,
    /// Why there is nothing to see, or what is missing from the answer
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Found {
    pub id: String,
    pub path: String,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub score: Score,
    /// The stretch of text that matched best
    pub snippet: String,
    pub estimated_tokens: usize,
}

/// All between 0 and 1.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Score {
    /// What results are ranked by
    #[serde(rename = "final")]
    pub value: f64,
    /// How well words and title match: BM25 as a share of the greatest possible for this query
    pub keyword: f32,
    /// Similarity of meaning (cosine), once it is computed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic: Option<f32>,
}

impl Snapshot {
    pub fn search(&self, request: &SearchRequest) -> Result<SearchResponse, Error> {
        if request.query.trim().is_empty() {
            return Err(Error::Empty { name: "query" });
        }
        in_range("length of query", request.query.chars().count(), 1..=MAX_QUERY_CHARS)?;
        in_range("max_results", request.max_results, 1..=MAX_RESULTS)?;
        let scope = self.scope(&request.scope)?;
        let wanted = move |key: NodeKey| scope.as_ref().is_none_or(|keys| keys.contains(&key));
        let question = self.question(&request.query)?;
        let ranked = self.ranked(&question, request.search_type, request.max_results, wanted)?;
        let snippets = self.keyword().snippets(&question.keyword)?;
        let results: Vec<Found> = ranked
            .best
            .into_iter()
            .take(request.max_results)
            .map(|(node, evidence, value)| {
                let text = plain(&node.body());
                let matched = snippets.of(&text).unwrap_or_else(|| window(&text, &evidence));
                Found {
                    id: node.id().to_owned(),
                    path: node.path(),
                    title: node.title().to_owned(),
                    kind: node.kind().to_owned(),
                    status: node.status().to_owned(),
                    score: Score { value, keyword: evidence.words(), semantic: evidence.cosine },
                    snippet: one_line(&matched, SNIPPET_CHARS),
                    estimated_tokens: node.token_count(),
                }
            })
            .collect();
        let message = self.search_message(request, &question, results.is_empty());
        Ok(SearchResponse { results, total_available: ranked.total, message })
    }

    fn search_message(
        &self,
        request: &SearchRequest,
        question: &Question,
        is_empty: bool,
    ) -> Option<String> {
        let coverage = self.coverage_by(&question.semantic);
        if request.search_type != SearchType::Keyword && !coverage.is_complete() {
            return Some(format!(
                "{} of {} nodes have no vectors yet; they are found by keywords only",
                coverage.total - coverage.embedded,
                coverage.total
            ));
        }
        is_empty.then(|| match question.keyword.terms.as_slice() {
            [] => format!("`{}` has no word to look for", request.query.trim()),
            terms => {
                let words: Vec<&str> = terms.iter().map(|term| term.word.as_str()).collect();
                format!("no node has any of the words: {}", words.join(", "))
            }
        })
    }

    pub(crate) fn question(&self, query: &str) -> Result<Question, Error> {
        Ok(Question {
            text: query.to_owned(),
            keyword: self.keyword().query(query)?,
            semantic: self.semantic(),
            vector: OnceLock::new(),
        })
    }

    /// The nodes in the order of one kind of search.
    pub(crate) fn ranked(
        &self,
        question: &Question,
        search_type: SearchType,
        limit: usize,
        wanted: impl Fn(NodeKey) -> bool + Clone + Send + Sync + 'static,
    ) -> Result<Ranked<'_>, Error> {
        let candidates = CANDIDATES.max(limit * 2);
        let (found, total) = match search_type {
            SearchType::Keyword => {
                let (mut found, total) = self.by_keyword(question, candidates, wanted)?;
                self.read_titles(question, &mut found)?;
                (found, total)
            }
            SearchType::Semantic => self.by_meaning(question, limit, wanted)?,
            SearchType::Hybrid => self.gather(question, candidates, wanted)?,
        };
        let value = |evidence: &Evidence| match search_type {
            SearchType::Keyword => f64::from(evidence.words()),
            SearchType::Semantic => f64::from(evidence.cosine.unwrap_or_default()),
            SearchType::Hybrid => evidence.relevance,
        };
        let mut best: Vec<_> = found
            .into_iter()
            .map(|(node, evidence)| {
                let value = value(&evidence);
                (node, evidence, value)
            })
            .collect();
        best.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.index().cmp(&b.0.index())));
        Ok(Ranked { best, total })
    }

    fn by_keyword(
        &self,
        question: &Question,
        limit: usize,
        wanted: impl Fn(NodeKey) -> bool + Send + Sync + 'static,
    ) -> Result<(Vec<(NodeRef<'_>, Evidence)>, usize), Error> {
        let (hits, total) = self.keyword().search(&question.keyword, limit, wanted)?;
        let bound = question.keyword.bound();
        let found = hits.iter().filter_map(|hit| {
            let evidence = Evidence { keyword: hit.score / bound, ..Evidence::default() };
            Some((self.by_key(hit.key)?, evidence))
        });
        Ok((found.collect(), total))
    }

    fn by_meaning(
        &self,
        question: &Question,
        limit: usize,
        wanted: impl Fn(NodeKey) -> bool + Sync,
    ) -> Result<(Vec<(NodeRef<'_>, Evidence)>, usize), Error> {
        let Some(vector) = question.vector()? else {
            return Ok((Vec::new(), 0));
        };
        let vectors = &question.semantic.vectors;
        let found: Vec<_> = vectors
            .nearest(vector, limit, wanted)
            .into_iter()
            // Vectors may still be those of an older snapshot.
            .filter_map(|near| {
                let evidence = Evidence {
                    cosine: Some(near.cosine),
                    window: vectors.window(near),
                    ..Evidence::default()
                };
                Some((self.by_key(near.key)?, evidence))
            })
            .collect();
        let total = found.len();
        Ok((found, total))
    }

    /// The candidates of both kinds, each with all its evidence, judged, in no order.
    pub(crate) fn gather(
        &self,
        question: &Question,
        candidates: usize,
        wanted: impl Fn(NodeKey) -> bool + Clone + Send + Sync + 'static,
    ) -> Result<(Vec<(NodeRef<'_>, Evidence)>, usize), Error> {
        // Keyword scores are cheap: a node near in meaning may have one far down the list. They
        // are looked up while the question is being embedded, which takes longer than the rest.
        let (by_words, by_meaning) = std::thread::scope(|scope| {
            let filter = wanted.clone();
            let by_words = scope.spawn(move || self.by_keyword(question, candidates * 5, filter));
            let by_meaning = self.by_meaning(question, candidates, wanted);
            let by_words = by_words.join().unwrap_or_else(|panic| resume_unwind(panic));
            (by_words, by_meaning)
        });
        let ((by_words, matched), (by_meaning, _)) = (by_words?, by_meaning?);
        let near: HashSet<usize> = by_meaning.iter().map(|(node, _)| node.index()).collect();
        let mut found: HashMap<usize, (NodeRef<'_>, Evidence)> = by_meaning
            .into_iter()
            .map(|(node, evidence)| (node.index(), (node, evidence)))
            .collect();
        for (rank, (node, evidence)) in by_words.into_iter().enumerate() {
            if rank < candidates || near.contains(&node.index()) {
                let entry =
                    found.entry(node.index()).or_insert_with(|| (node, Evidence::default()));
                entry.1.keyword = evidence.keyword;
            }
        }
        let total = matched.max(found.len());
        let mut all: Vec<_> = found.into_values().collect();
        self.read_titles(question, &mut all)?;
        let vector = question.vector()?;
        for (node, evidence) in &mut all {
            if let (None, Some(vector)) = (evidence.cosine, vector)
                && let Some(near) = question.semantic.vectors.of(node.key(), vector)
            {
                evidence.cosine = Some(near.cosine);
                evidence.window = question.semantic.vectors.window(near);
            }
            evidence.judge();
        }
        Ok((all, total))
    }

    /// Titles are part of the text: without a word in it there is none in the title.
    fn read_titles(
        &self,
        question: &Question,
        found: &mut [(NodeRef<'_>, Evidence)],
    ) -> Result<(), Error> {
        for (node, evidence) in found.iter_mut().filter(|(_, evidence)| evidence.keyword > 0.0) {
            evidence.title = self.keyword().title_match(&question.keyword, node.title())?;
        }
        Ok(())
    }

    /// The nodes that `scope` allows; `None` for all.
    fn scope(&self, scope: &[String]) -> Result<Option<HashSet<NodeKey>>, Error> {
        if scope.is_empty() {
            return Ok(None);
        }
        let mut keys = HashSet::new();
        for name in scope {
            if self.bases().any(|base| base.name() == name) {
                let of_base = self.nodes().filter(|node| node.base().name() == name);
                keys.extend(of_base.map(NodeRef::key));
            } else {
                keys.extend(self.resolve(name)?.subtree().map(NodeRef::key));
            }
        }
        Ok(Some(keys))
    }
}

/// A query, made ready for both kinds of search.
pub(crate) struct Question {
    text: String,
    pub(crate) keyword: KeywordQuery,
    semantic: Arc<Semantic>,
    vector: OnceLock<Vec<f32>>,
}

impl Question {
    /// Computed when it is first needed; `None` as long as there is no model.
    fn vector(&self) -> Result<Option<&[f32]>, Error> {
        let Some(embedder) = &self.semantic.embedder else { return Ok(None) };
        if let Some(vector) = self.vector.get() {
            return Ok(Some(vector));
        }
        let vector = embedder.embed(&self.text)?;
        Ok(Some(self.vector.get_or_init(|| vector)))
    }
}

pub(crate) struct Ranked<'a> {
    /// Nodes with their evidence and what they are ranked by, best first.
    pub(crate) best: Vec<(NodeRef<'a>, Evidence, f64)>,
    total: usize,
}

/// The part of a text that is nearest in meaning.
fn window(text: &str, evidence: &Evidence) -> String {
    let part = evidence.window.clone().and_then(|window| text.get(window));
    part.unwrap_or(text).to_owned()
}
