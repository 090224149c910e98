//! The `knowledge` source: as many nodes as fit in a token budget.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::PoisonError;

use kenning_compose::list::{ListRequest, MAX_LISTED};
use kenning_compose::sources::{
    KnowledgeBase, KnowledgeDigest, KnowledgeNode, KnowledgeParams, OmittedNode, SourceError,
};
use kenning_knowledge::discover::DiscoverRequest;
use kenning_knowledge::search::MAX_RESULTS;
use kenning_knowledge::{Base, NodeRef, Snapshot};

use super::{DomainSources, failed};

/// Tokens reserved for the text of the template itself.
const TEMPLATE_TOKENS: usize = 100;
/// Tokens of the Markdown that makes a title a heading.
const HEADING_TOKENS: usize = 4;
/// If nodes are omitted, a fourth of the budget is for their names.
const NAMES_SHARE: usize = 4;
/// As many token counts take some 20 MB; beyond that the cache is emptied.
const MAX_CACHED: usize = 300_000;

/// A node with its cost in tokens.
struct Candidate<'a> {
    node: NodeRef<'a>,
    text: String,
    tokens: usize,
    /// Tokens of text and heading.
    cost: usize,
}

impl From<Candidate<'_>> for KnowledgeNode {
    fn from(Candidate { node, text, tokens, .. }: Candidate<'_>) -> Self {
        Self {
            id: node.id().to_owned(),
            base: node.base().name().to_owned(),
            path: node.path(),
            title: node.title().to_owned(),
            kind: node.kind().to_owned(),
            status: node.status().to_owned(),
            text,
            tokens,
        }
    }
}

impl DomainSources {
    /// The nodes that fit in the budget. If some do not, a part of the budget is for the names of
    /// omitted nodes; retrieving one of those returns the nodes below it, too.
    pub(super) fn knowledge(
        &self,
        params: &KnowledgeParams,
    ) -> Result<KnowledgeDigest, SourceError> {
        let snapshot = self.library.snapshot();
        let mut digest = KnowledgeDigest { bases: bases(&snapshot), ..KnowledgeDigest::default() };
        let nodes = self.selected(&snapshot, params)?.into_iter();
        let nodes: Vec<Candidate<'_>> = nodes.filter_map(|node| self.candidate(node)).collect();
        let budget = params.max_tokens.saturating_sub(TEMPLATE_TOKENS);
        let all: usize = nodes.iter().map(|one| one.cost).sum();
        let for_names = if all > budget { budget / NAMES_SHARE } else { 0 };
        let (mut for_texts, mut omitted) = (budget - for_names, Vec::new());
        for one in nodes {
            if one.cost > for_texts {
                omitted.push(one);
                continue;
            }
            for_texts -= one.cost;
            digest.total_tokens += one.tokens;
            digest.nodes.push(one.into());
        }
        digest.omitted_count = omitted.len();
        digest.omitted = self.named(&omitted, for_names);
        Ok(digest)
    }

    /// `None` for a node without text.
    fn candidate<'a>(&self, node: NodeRef<'a>) -> Option<Candidate<'a>> {
        let text = node.body().trim().to_owned();
        if text.is_empty() {
            return None;
        }
        let tokens = self.tokens(&text);
        Some(Candidate {
            node,
            cost: tokens + self.tokens(node.title()) + HEADING_TOKENS,
            tokens,
            text,
        })
    }

    /// The topmost omitted nodes, as many as fit.
    fn named(&self, omitted: &[Candidate<'_>], mut budget: usize) -> Vec<OmittedNode> {
        let ids: HashSet<&str> = omitted.iter().map(|one| one.node.id()).collect();
        let is_below_another = |node: NodeRef<'_>| {
            let mut above = std::iter::successors(node.parent(), |node| node.parent());
            above.any(|node| ids.contains(node.id()))
        };
        let mut named = Vec::new();
        for Candidate { node, tokens, .. } in omitted {
            if is_below_another(*node) {
                continue;
            }
            let (id, title) = (node.id().to_owned(), node.title().to_owned());
            let cost = self.tokens(&format!("- `{id}`: {title}\n"));
            let Some(rest) = budget.checked_sub(cost) else { break };
            budget = rest;
            named.push(OmittedNode { id, path: node.path(), title, tokens: *tokens });
        }
        named
    }

    /// Token count of a text, cached.
    fn tokens(&self, text: &str) -> usize {
        let key = blake3::hash(text.as_bytes());
        let counts = || self.token_counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tokens) = counts().get(&key) {
            return *tokens;
        }
        let tokens = kenning_knowledge::count_tokens(text);
        let mut counts = counts();
        if counts.len() >= MAX_CACHED {
            counts.clear();
        }
        counts.insert(key, tokens);
        tokens
    }

    /// The nodes that help with the task, best first; without a task, all in file order.
    fn selected<'a>(
        &self,
        snapshot: &'a Snapshot,
        params: &KnowledgeParams,
    ) -> Result<Vec<NodeRef<'a>>, SourceError> {
        if let Some(base) = &params.base
            && !snapshot.bases().any(|one| one.name() == base)
        {
            let known: Vec<&str> = snapshot.bases().map(Base::name).collect();
            return Err(failed(&format!("no base `{base}`; there is {}", known.join(", "))));
        }
        let outputs = self.output_files();
        let fits = |node: &NodeRef<'_>| {
            let file = node.base().root().join(node.document().path.as_str());
            !outputs.contains(&file)
                && params.base.as_deref().is_none_or(|base| node.base().name() == base)
                && (params.types.is_empty() || params.types.iter().any(|kind| kind == node.kind()))
        };
        let Some(task) = &params.task else { return Ok(snapshot.nodes().filter(fits).collect()) };
        if let Some(prepare) = &self.before_search {
            prepare().map_err(SourceError)?;
        }
        let request = DiscoverRequest {
            task_description: task.clone(),
            task_type: None,
            current_file: None,
            max_results: Some(MAX_RESULTS),
            token_budget: None,
        };
        let found = snapshot.discover(&request, &self.discovery).map_err(|error| failed(&error))?;
        let of = |id: &String| snapshot.nodes().find(|node| node.id() == id);
        let found = found.recommendations.iter().filter_map(|one| of(&one.id));
        Ok(found.flat_map(NodeRef::subtree).filter(fits).collect())
    }

    /// Files that compose writes: a generated file must not be a source of itself.
    fn output_files(&self) -> HashSet<PathBuf> {
        let Some(compose) = self.compose.get() else { return HashSet::new() };
        let all = ListRequest { limit: MAX_LISTED, ..ListRequest::default() };
        let artifacts = compose.list_artifacts(&all).map(|listed| listed.artifacts);
        let outputs = artifacts.unwrap_or_default().into_iter();
        let outputs = outputs.flat_map(|one| [one.outputs, one.written_elsewhere].concat());
        // Knowledge bases have canonical paths, too.
        let root = compose.root().canonicalize().unwrap_or_else(|_| compose.root().to_owned());
        outputs.map(|output| root.join(output)).collect()
    }
}

fn bases(snapshot: &Snapshot) -> Vec<KnowledgeBase> {
    let base = |name: &str| KnowledgeBase {
        name: name.to_owned(),
        files: snapshot.roots().filter(|root| root.base().name() == name).count(),
        nodes: snapshot.nodes().filter(|node| node.base().name() == name).count(),
    };
    snapshot.bases().map(|one| base(one.name())).collect()
}
