//! Retrieving the content of nodes by id.

use std::collections::HashSet;

use kenning_tokens::count_tokens;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{Error, in_range};
use crate::links::LinkedNode;
use crate::node::NodeRef;
use crate::snapshot::Snapshot;

pub const MAX_IDS: usize = 20;
pub const DEFAULT_MAX_TOKENS: usize = 20_000;
pub const MAX_TOKENS: usize = 200_000;
/// Links named for each node and direction.
pub const MAX_LINKS: usize = 20;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetrieveRequest {
    /// List of node IDs to retrieve: 1 to 20 ids or paths such as `guides/SETUP.md#linux`
    #[schemars(length(min = 1, max = MAX_IDS))]
    pub ids: Vec<String>,
    /// Whether to include child nodes in the response
    #[serde(default)]
    pub include_children: bool,
    /// Whether to name the nodes that each node links to and those that link to it
    #[serde(default)]
    pub include_links: bool,
    /// `markdown` as written, `plain` without markup, `json` with the index entry of each node
    #[serde(default)]
    pub format: Format,
    /// Content beyond this many tokens is left out and named in `omitted`
    #[serde(default = "default_max_tokens")]
    #[schemars(range(min = 1, max = MAX_TOKENS))]
    pub max_tokens: usize,
}

fn default_max_tokens() -> usize {
    DEFAULT_MAX_TOKENS
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    #[default]
    Markdown,
    Json,
    Plain,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RetrieveResponse {
    pub nodes: Vec<Retrieved>,
    /// Tokens of all content returned
    pub total_tokens: usize,
    /// Ids that name no node
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub not_found: Vec<NotFound>,
    /// Nodes whose content did not fit in `max_tokens`
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub omitted: Vec<Omitted>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Retrieved {
    pub id: String,
    pub path: String,
    pub title: String,
    pub metadata: Map<String, Value>,
    pub content: String,
    /// The nodes below, when asked for, in the same form
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub children: Vec<Retrieved>,
    pub children_ids: Vec<String>,
    /// When asked for: `outgoing` and `incoming` nodes, at most 20 each, and how many are `omitted`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    pub links: Option<Links>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<IndexEntry>,
}

/// The links of a node, at most 20 in each direction.
#[derive(Debug, Clone, Serialize)]
pub struct Links {
    /// Nodes that its own text links to, in the order of the text
    pub outgoing: Vec<LinkedNode>,
    /// Nodes whose text links to it
    pub incoming: Vec<LinkedNode>,
    /// How many more there are in both directions
    pub omitted: usize,
}

impl Links {
    pub fn of(node: NodeRef<'_>) -> Self {
        let (outgoing, incoming) = (node.links(), node.backlinks());
        let omitted = [&outgoing, &incoming].map(|all| all.len().saturating_sub(MAX_LINKS));
        let named = |nodes: Vec<NodeRef<'_>>| {
            nodes.into_iter().take(MAX_LINKS).map(LinkedNode::of).collect()
        };
        Self { outgoing: named(outgoing), incoming: named(incoming), omitted: omitted.iter().sum() }
    }
}

/// What the index knows of a node.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct IndexEntry {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    pub content_hash: String,
    pub keywords: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    pub blocked_by: Vec<String>,
    pub token_count: usize,
    pub line: usize,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NotFound {
    pub id: String,
    pub message: String,
    pub hint: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Omitted {
    pub id: String,
    pub token_count: usize,
}

impl IndexEntry {
    pub fn of(node: NodeRef<'_>) -> Self {
        Self {
            kind: node.kind().to_owned(),
            status: node.status().to_owned(),
            content_hash: node.content_hash(),
            keywords: node.keywords(),
            parent_id: node.parent().map(|parent| parent.id().to_owned()),
            blocked_by: node.blocked_by(),
            token_count: node.token_count(),
            line: node.section().line,
        }
    }
}

impl Snapshot {
    pub fn retrieve(&self, request: &RetrieveRequest) -> Result<RetrieveResponse, Error> {
        if request.ids.is_empty() {
            return Err(Error::Empty { name: "ids" });
        }
        in_range("number of ids", request.ids.len(), 1..=MAX_IDS)?;
        in_range("max_tokens", request.max_tokens, 1..=MAX_TOKENS)?;
        let mut builder =
            Builder { request, seen: HashSet::new(), total_tokens: 0, omitted: Vec::new() };
        let mut nodes = Vec::new();
        let mut not_found = Vec::new();
        for id in &request.ids {
            match self.resolve(id) {
                Ok(node) => nodes.extend(builder.node(node)),
                Err(error) => not_found.push(NotFound {
                    id: id.clone(),
                    message: error.to_string(),
                    hint: error.hint(),
                }),
            }
        }
        Ok(RetrieveResponse {
            nodes,
            total_tokens: builder.total_tokens,
            not_found,
            omitted: builder.omitted,
        })
    }
}

/// The response while it is built.
struct Builder<'a> {
    request: &'a RetrieveRequest,
    seen: HashSet<usize>,
    total_tokens: usize,
    omitted: Vec<Omitted>,
}

impl Builder<'_> {
    /// The node, unless it was already added or does not fit.
    fn node(&mut self, node: NodeRef<'_>) -> Option<Retrieved> {
        if !self.seen.insert(node.index()) {
            return None;
        }
        let content = match self.request.format {
            Format::Plain => node.plain(),
            Format::Markdown | Format::Json => node.body().into_owned(),
        };
        let tokens = count_tokens(&content);
        if self.total_tokens + tokens > self.request.max_tokens {
            self.omitted.push(Omitted { id: node.id().to_owned(), token_count: tokens });
            return None;
        }
        self.total_tokens += tokens;
        let children = if self.request.include_children {
            node.children().filter_map(|child| self.node(child)).collect()
        } else {
            Vec::new()
        };
        Some(Retrieved {
            id: node.id().to_owned(),
            path: node.path(),
            title: node.title().to_owned(),
            metadata: node.section().metadata.as_map().clone(),
            content,
            children,
            children_ids: node.children().map(|child| child.id().to_owned()).collect(),
            links: self.request.include_links.then(|| Links::of(node)),
            entry: (self.request.format == Format::Json).then(|| IndexEntry::of(node)),
        })
    }
}
