//! As much of the knowledge bases as a text has room for.

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

use super::{Rooms, failed};

/// Tokens that are kept for what a template says around the knowledge.
const AROUND: usize = 100;
/// Tokens of what makes a title a heading.
const HEADING: usize = 4;
/// What is left out is named within a fourth of the budget.
const NAMES: usize = 4;
/// So many counts take some 20 MB; beyond that it begins anew.
const MAX_COUNTED: usize = 300_000;

/// A node that may become part of a text.
struct Weighed<'a> {
    node: NodeRef<'a>,
    text: String,
    tokens: usize,
    /// With its heading.
    cost: usize,
}

impl From<Weighed<'_>> for KnowledgeNode {
    fn from(Weighed { node, text, tokens, .. }: Weighed<'_>) -> Self {
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

impl Rooms {
    /// What fits in the budget. If that is not all, a part of the budget is for the names of what
    /// is left out; whoever asks for one of these is given what is below it, too.
    pub(super) fn knowledge(
        &self,
        params: &KnowledgeParams,
    ) -> Result<KnowledgeDigest, SourceError> {
        let snapshot = self.library.snapshot();
        let mut digest = KnowledgeDigest { bases: bases(&snapshot), ..KnowledgeDigest::default() };
        let nodes = self.wanted(&snapshot, params)?.into_iter();
        let nodes: Vec<Weighed<'_>> = nodes.filter_map(|node| self.weighed(node)).collect();
        let budget = params.max_tokens.saturating_sub(AROUND);
        let all: usize = nodes.iter().map(|one| one.cost).sum();
        let for_names = if all > budget { budget / NAMES } else { 0 };
        let (mut for_texts, mut left_out) = (budget - for_names, Vec::new());
        for one in nodes {
            if one.cost > for_texts {
                left_out.push(one);
                continue;
            }
            for_texts -= one.cost;
            digest.total_tokens += one.tokens;
            digest.nodes.push(one.into());
        }
        digest.omitted_count = left_out.len();
        digest.omitted = self.named(&left_out, for_names);
        Ok(digest)
    }

    /// A node with a text of its own, and what it takes of a budget.
    fn weighed<'a>(&self, node: NodeRef<'a>) -> Option<Weighed<'a>> {
        let text = node.body().trim().to_owned();
        if text.is_empty() {
            return None;
        }
        let tokens = self.tokens(&text);
        Some(Weighed { node, cost: tokens + self.tokens(node.title()) + HEADING, tokens, text })
    }

    /// The uppermost of what is left out, as many as fit.
    fn named(&self, left_out: &[Weighed<'_>], mut budget: usize) -> Vec<OmittedNode> {
        let ids: HashSet<&str> = left_out.iter().map(|one| one.node.id()).collect();
        let is_below_another = |node: NodeRef<'_>| {
            let mut above = std::iter::successors(node.parent(), |node| node.parent());
            above.any(|node| ids.contains(node.id()))
        };
        let mut named = Vec::new();
        for Weighed { node, tokens, .. } in left_out {
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

    /// How many tokens a text has, counted once for each text there is.
    fn tokens(&self, text: &str) -> usize {
        let key = blake3::hash(text.as_bytes());
        let counted = || self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tokens) = counted().get(&key) {
            return *tokens;
        }
        let tokens = kenning_knowledge::count_tokens(text);
        let mut counted = counted();
        if counted.len() >= MAX_COUNTED {
            counted.clear();
        }
        counted.insert(key, tokens);
        tokens
    }

    /// The nodes that help with the task, best first; all, in the order of the files, without one.
    fn wanted<'a>(
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
        let made = self.made();
        let fits = |node: &NodeRef<'_>| {
            let file = node.base().root().join(node.document().path.as_str());
            !made.contains(&file)
                && params.base.as_deref().is_none_or(|base| node.base().name() == base)
                && (params.types.is_empty() || params.types.iter().any(|kind| kind == node.kind()))
        };
        let Some(task) = &params.task else { return Ok(snapshot.nodes().filter(fits).collect()) };
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

    /// Files that are made from what is known must not be what they are made from.
    fn made(&self) -> HashSet<PathBuf> {
        let Some(compose) = self.compose.get() else { return HashSet::new() };
        let all = ListRequest { limit: MAX_LISTED, ..ListRequest::default() };
        let artifacts = compose.list_artifacts(&all).map(|listed| listed.artifacts);
        let outputs = artifacts.unwrap_or_default().into_iter();
        let outputs = outputs.flat_map(|one| [one.outputs, one.written_elsewhere].concat());
        // As bases have it: without links.
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
