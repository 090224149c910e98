//! Nodes found by their words.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, in_range};
use crate::snapshot::{NodeRef, Snapshot};
use crate::text::{one_line, plain};

pub const DEFAULT_RESULTS: usize = 10;
pub const MAX_RESULTS: usize = 100;
pub const MAX_QUERY_CHARS: usize = 10_000;
const SNIPPET_CHARS: usize = 280;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    /// Search query (supports natural language)
    #[schemars(length(min = 1, max = 10_000))]
    pub query: String,
    /// `keyword` ranks by matching words; `semantic` and `hybrid` need embeddings, which this
    /// version does not have
    #[serde(default)]
    pub search_type: SearchType,
    /// Optional list of knowledge base IDs to search within: names of bases, ids or paths of
    /// files, ids of sections
    #[serde(default)]
    pub scope: Vec<String>,
    /// Maximum number of results to return
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = 100))]
    pub max_results: usize,
}

fn default_results() -> usize {
    DEFAULT_RESULTS
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchType {
    Semantic,
    #[default]
    Keyword,
    Hybrid,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SearchResponse {
    /// Best first
    pub results: Vec<Found>,
    /// How many nodes matched in all
    pub total_available: usize,
    /// Why there is nothing to see
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
    /// BM25: comparable within one answer, not between queries
    pub score: f32,
    /// The stretch of text that matched best
    pub snippet: String,
    pub estimated_tokens: usize,
}

impl Snapshot {
    pub fn search(&self, request: &SearchRequest) -> Result<SearchResponse, Error> {
        match request.search_type {
            SearchType::Keyword => {}
            SearchType::Semantic => return Err(Error::NoEmbeddings("semantic")),
            SearchType::Hybrid => return Err(Error::NoEmbeddings("hybrid")),
        }
        if request.query.trim().is_empty() {
            return Err(Error::Empty { name: "query" });
        }
        in_range("length of query", request.query.chars().count(), 1..=MAX_QUERY_CHARS)?;
        in_range("max_results", request.max_results, 1..=MAX_RESULTS)?;
        let scope = self.scope(&request.scope)?;
        let keys: Option<HashSet<_>> =
            scope.map(|nodes| nodes.into_iter().map(|index| self.at(index).key()).collect());
        let query = self.keyword.query(&request.query);
        let (hits, total_available) =
            self.keyword.search(&query, request.max_results, move |key| {
                keys.as_ref().is_none_or(|keys| keys.contains(&key))
            })?;
        let snippets = self.keyword.snippets(&query)?;
        let results = hits.iter().filter_map(|hit| {
            let node = self.by_key(hit.key)?;
            let text = plain(&node.body());
            let snippet = snippets.of(&text);
            Some(Found {
                id: node.id().to_owned(),
                path: node.path(),
                title: node.title().to_owned(),
                kind: node.kind().to_owned(),
                status: node.status().to_owned(),
                score: hit.score,
                snippet: one_line(snippet.as_deref().unwrap_or(&text), SNIPPET_CHARS),
                estimated_tokens: node.token_count(),
            })
        });
        let results: Vec<Found> = results.collect();
        let message = results.is_empty().then(|| match query.terms.as_slice() {
            [] => format!("`{}` has no word to look for", request.query.trim()),
            terms => format!("no node has any of the words: {}", terms.join(", ")),
        });
        Ok(SearchResponse { results, total_available, message })
    }

    /// The nodes that `scope` allows; `None` for all.
    fn scope(&self, scope: &[String]) -> Result<Option<HashSet<usize>>, Error> {
        if scope.is_empty() {
            return Ok(None);
        }
        let mut nodes = HashSet::new();
        for name in scope {
            if self.bases().any(|base| base.name() == name) {
                let of_base = self.nodes().filter(|node| node.base().name() == name);
                nodes.extend(of_base.map(NodeRef::index));
            } else {
                nodes.extend(self.resolve(name)?.subtree().map(NodeRef::index));
            }
        }
        Ok(Some(nodes))
    }
}
