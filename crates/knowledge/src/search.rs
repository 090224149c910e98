//! Keyword, semantic and hybrid search over the nodes of a snapshot.

use std::collections::{HashMap, HashSet};
use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, in_range};
use crate::keyword::{KeywordQuery, NodeKey};
use crate::node::NodeRef;
use crate::relevance::{Evidence, Question, coverage, judge};
use crate::semantic::Semantic;
use crate::snapshot::Snapshot;
use crate::text::one_line;

pub const DEFAULT_RESULTS: usize = 10;
pub const MAX_RESULTS: usize = 100;
pub const MAX_QUERY_CHARS: usize = 10_000;
/// Nodes that keyword and semantic search each contribute to a hybrid search.
pub(crate) const CANDIDATES: usize = 100;
const SNIPPET_CHARS: usize = 280;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    /// Search query (supports natural language)
    #[schemars(length(min = 1, max = MAX_QUERY_CHARS), regex(pattern = r"\S"))]
    pub query: String,
    /// By matching words, by meaning, or by both
    #[serde(default)]
    pub search_type: SearchType,
    /// Optional list of knowledge base IDs to search within: names of bases, ids or paths of
    /// files, ids of sections
    #[serde(default)]
    #[schemars(inner(length(min = 1), regex(pattern = r"\S")))]
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
        let accepts = move |key: NodeKey| scope.as_ref().is_none_or(|keys| keys.contains(&key));
        let query = self.prepare(&request.query)?;
        let ranked = self.rank(&query, request.search_type, request.max_results, accepts)?;
        let snippets = self.keyword().snippets(&query.keyword)?;
        let results: Vec<Found> = ranked
            .best
            .into_iter()
            .take(request.max_results)
            .map(|(node, evidence, value)| {
                let text = node.plain();
                let matched = snippets.of(&text).unwrap_or_else(|| window(&text, &evidence));
                Found {
                    id: node.id().to_owned(),
                    path: node.path(),
                    title: node.title().to_owned(),
                    kind: node.kind().to_owned(),
                    status: node.status().to_owned(),
                    score: Score { value, keyword: evidence.lexical(), semantic: evidence.cosine },
                    snippet: one_line(&matched, SNIPPET_CHARS),
                    estimated_tokens: node.token_count(),
                }
            })
            .collect();
        let message = self.search_message(request, &query, results.is_empty());
        Ok(SearchResponse { results, total_available: ranked.total, message })
    }

    fn search_message(
        &self,
        request: &SearchRequest,
        query: &PreparedQuery,
        is_empty: bool,
    ) -> Option<String> {
        let missing = [self.unavailable_message(), self.unready_message(request, query)];
        let missing: Vec<String> = missing.into_iter().flatten().collect();
        if !missing.is_empty() {
            return Some(missing.join("; "));
        }
        is_empty.then(|| match query.keyword.terms.as_slice() {
            [] => format!("`{}` has no word to look for", request.query.trim()),
            terms => {
                let words: Vec<&str> = terms.iter().map(|term| term.word.as_str()).collect();
                format!("no node has any of the words: {}", words.join(", "))
            }
        })
    }

    /// What is missing because vectors are.
    fn unready_message(&self, request: &SearchRequest, query: &PreparedQuery) -> Option<String> {
        let coverage = self.coverage_by(&query.semantic);
        let follows = match request.search_type {
            SearchType::Keyword => return None,
            SearchType::Hybrid => "they are found by keywords only",
            SearchType::Semantic => "they cannot be found by meaning",
        };
        (!coverage.is_complete()).then(|| {
            let (percent, total) = (coverage.percent(), coverage.total);
            let missing = total - coverage.embedded;
            format!("meaning: {percent} % ready; {missing} of {total} nodes have no vectors yet; {follows}")
        })
    }

    pub(crate) fn prepare(&self, text: &str) -> Result<PreparedQuery, Error> {
        Ok(PreparedQuery {
            text: text.to_owned(),
            keyword: self.keyword().query(text)?,
            semantic: self.semantic(),
            vector: OnceLock::new(),
        })
    }

    /// The nodes in the order of one type of search.
    pub(crate) fn rank(
        &self,
        query: &PreparedQuery,
        search_type: SearchType,
        limit: usize,
        accepts: impl Fn(NodeKey) -> bool + Clone + Send + Sync + 'static,
    ) -> Result<Ranked<'_>, Error> {
        let candidates = CANDIDATES.max(limit * 2);
        let (found, total) = match search_type {
            SearchType::Keyword => {
                let (mut found, total) = self.by_keyword(query, candidates, accepts)?;
                self.score_titles(query, &mut found)?;
                (found, total)
            }
            SearchType::Semantic => self.by_similarity(query, limit, accepts)?,
            SearchType::Hybrid => self.candidates(query, candidates, accepts)?,
        };
        let value = |evidence: &Evidence| match search_type {
            SearchType::Keyword => f64::from(evidence.lexical()),
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
        query: &PreparedQuery,
        limit: usize,
        accepts: impl Fn(NodeKey) -> bool + Send + Sync + 'static,
    ) -> Result<(Vec<Scored<'_>>, usize), Error> {
        let (hits, total) = self.keyword().search(&query.keyword, limit, accepts)?;
        let bound = query.keyword.bound();
        let found = hits.iter().filter_map(|hit| {
            let evidence = Evidence { keyword: hit.score / bound, ..Evidence::default() };
            Some((self.by_key(hit.key)?, evidence))
        });
        Ok((found.collect(), total))
    }

    fn by_similarity(
        &self,
        query: &PreparedQuery,
        limit: usize,
        accepts: impl Fn(NodeKey) -> bool + Sync,
    ) -> Result<(Vec<Scored<'_>>, usize), Error> {
        let Some(vector) = query.vector()? else {
            return Ok((Vec::new(), 0));
        };
        let vectors = &query.semantic.vectors;
        let found: Vec<_> = vectors
            .nearest(vector, limit, accepts)
            .into_iter()
            // The vectors may belong to an older snapshot, so a key may be unknown here.
            .filter_map(|neighbor| {
                let evidence = Evidence {
                    cosine: Some(neighbor.cosine),
                    window: vectors.window(neighbor),
                    ..Evidence::default()
                };
                Some((self.by_key(neighbor.key)?, evidence))
            })
            .collect();
        let total = found.len();
        Ok((found, total))
    }

    /// The candidates of keyword and semantic search, each with all its scores, calibrated, in no
    /// particular order, and how many nodes matched.
    pub(crate) fn candidates(
        &self,
        query: &PreparedQuery,
        limit: usize,
        accepts: impl Fn(NodeKey) -> bool + Clone + Send + Sync + 'static,
    ) -> Result<(Vec<Scored<'_>>, usize), Error> {
        // More keyword hits than candidates: a node that is similar in meaning may be far down the
        // keyword ranking, and its score is cheap. The keyword search runs while the query is
        // embedded, which takes longer than everything else.
        let (by_keyword, by_similarity) = std::thread::scope(|scope| {
            let filter = accepts.clone();
            let by_keyword = scope.spawn(move || self.by_keyword(query, limit * 5, filter));
            let by_similarity = self.by_similarity(query, limit, accepts);
            let by_keyword = by_keyword.join().unwrap_or_else(|panic| resume_unwind(panic));
            (by_keyword, by_similarity)
        });
        let ((by_keyword, matched), (by_similarity, _)) = (by_keyword?, by_similarity?);
        let mut found: HashMap<usize, Scored<'_>> = by_similarity
            .into_iter()
            .map(|(node, evidence)| (node.index(), (node, evidence)))
            .collect();
        for (rank, (node, evidence)) in by_keyword.into_iter().enumerate() {
            if rank < limit || found.contains_key(&node.index()) {
                let entry =
                    found.entry(node.index()).or_insert_with(|| (node, Evidence::default()));
                entry.1.keyword = evidence.keyword;
            }
        }
        let total = matched.max(found.len());
        let mut all: Vec<_> = found.into_values().collect();
        self.score_titles(query, &mut all)?;
        let (vector, vectors) = (query.vector()?, &query.semantic.vectors);
        for (node, evidence) in &mut all {
            if let (None, Some(vector)) = (evidence.cosine, vector)
                && let Some(neighbor) = vectors.similarity(node.key(), vector)
            {
                evidence.cosine = Some(neighbor.cosine);
                evidence.window = vectors.window(neighbor);
            }
        }
        self.judge(query, &mut all)?;
        Ok((all, total))
    }

    fn judge(&self, query: &PreparedQuery, found: &mut [Scored<'_>]) -> Result<(), Error> {
        let keys: Vec<NodeKey> = found.iter().map(|(node, _)| node.key()).collect();
        let matches = self.keyword().matches(&query.keyword, &keys)?;
        for ((node, evidence), matches) in found.iter_mut().zip(matches) {
            let above: Vec<&str> = node.ancestors().flat_map(NodeRef::title_stems).collect();
            evidence.coverage = coverage(&query.keyword, matches, &above);
            evidence.words = matches.words;
        }
        let background = match query.vector()? {
            Some(vector) => query.semantic.vectors.background(vector),
            None => None,
        };
        let question =
            Question { words: query.keyword.terms.len(), nodes: self.node_count(), background };
        let mut evidence: Vec<&mut Evidence> =
            found.iter_mut().map(|(_, evidence)| evidence).collect();
        judge(&question, &mut evidence);
        Ok(())
    }

    /// Adds the title scores. The indexed text includes the title, so a node without a keyword
    /// score has no title score either.
    fn score_titles(&self, query: &PreparedQuery, found: &mut [Scored<'_>]) -> Result<(), Error> {
        for (node, evidence) in found.iter_mut().filter(|(_, evidence)| evidence.keyword > 0.0) {
            evidence.title =
                self.keyword().title_match(&query.keyword, node.section().title_stems())?;
        }
        Ok(())
    }

    /// The nodes in `scope`; `None` for all.
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

/// A node with its scores.
type Scored<'a> = (NodeRef<'a>, Evidence);

/// A query prepared for keyword and semantic search.
pub(crate) struct PreparedQuery {
    text: String,
    pub(crate) keyword: KeywordQuery,
    pub(crate) semantic: Arc<Semantic>,
    vector: OnceLock<Vec<f32>>,
}

impl PreparedQuery {
    /// The embedding, computed on first use; `None` until the model is loaded.
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
    /// Nodes with their scores and the value they are ranked by, best first.
    pub(crate) best: Vec<(NodeRef<'a>, Evidence, f64)>,
    total: usize,
}

/// The part of a text that is most similar in meaning.
fn window(text: &str, evidence: &Evidence) -> String {
    let part = evidence.window.clone().and_then(|window| text.get(window));
    part.unwrap_or(text).to_owned()
}
