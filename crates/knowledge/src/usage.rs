//! Usage: which nodes responses contain, and which they never do.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::discover::DiscoverResponse;
use crate::error::{Error, in_range};
use crate::node::NodeRef;
use crate::retrieve::{RetrieveResponse, Retrieved};
use crate::search::SearchResponse;
use crate::snapshot::Snapshot;
use crate::text::format_date;

pub const DEFAULT_USAGE: usize = 20;
pub const MAX_USAGE: usize = 500;
/// Milliseconds of a day.
pub const DAY: u64 = 24 * 60 * 60 * 1_000;

/// How a node came up.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum UsageKind {
    /// It was recommended for a task.
    Discovered,
    /// A search found it.
    Searched,
    /// It was read.
    Retrieved,
}

impl UsageKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Discovered => "discovered",
            Self::Searched => "searched",
            Self::Retrieved => "retrieved",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Discovered, Self::Searched, Self::Retrieved];
        all.into_iter().find(|kind| kind.name() == name)
    }
}

/// The nodes of one response.
#[derive(Debug, Clone)]
pub struct Usage<'a> {
    pub kind: UsageKind,
    /// Their ids, as in the response.
    pub nodes: Vec<&'a str>,
    /// Milliseconds since 1970.
    pub at: u64,
}

impl<'a> Usage<'a> {
    /// Includes the sections that were merged into a recommended node.
    pub fn discovered(response: &'a DiscoverResponse, at: u64) -> Self {
        let nodes = response.recommendations.iter();
        let nodes = nodes.flat_map(|one| {
            std::iter::once(one.id.as_str())
                .chain(one.sections.iter().map(|section| section.id.as_str()))
        });
        Self { kind: UsageKind::Discovered, nodes: nodes.collect(), at }
    }

    pub fn searched(response: &'a SearchResponse, at: u64) -> Self {
        let nodes = response.results.iter().map(|one| one.id.as_str()).collect();
        Self { kind: UsageKind::Searched, nodes, at }
    }

    /// Includes the children that were returned with the requested nodes.
    pub fn retrieved(response: &'a RetrieveResponse, at: u64) -> Self {
        let mut nodes = Vec::new();
        let mut pending: Vec<&Retrieved> = response.nodes.iter().collect();
        while let Some(node) = pending.pop() {
            nodes.push(node.id.as_str());
            pending.extend(&node.children);
        }
        Self { kind: UsageKind::Retrieved, nodes, at }
    }
}

/// How often a node was in responses of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Used {
    pub node: String,
    pub kind: UsageKind,
    pub times: u64,
    /// Milliseconds since 1970.
    pub last_at: u64,
}

/// A range of time, in milliseconds since 1970. Counts are kept by day; a day belongs to the period
/// if any part of it does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Period {
    pub from: Option<u64>,
    /// Exclusive.
    pub until: Option<u64>,
}

#[derive(Debug, thiserror::Error)]
#[error("the usage counts failed: {0}")]
pub struct UsageError(Box<dyn std::error::Error + Send + Sync>);

impl UsageError {
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

/// Counts usage, by day.
pub trait UsageLog: Send + Sync {
    /// Never delays or fails a response.
    fn note(&self, usage: &Usage<'_>);

    /// The counts of a period, one entry for each node and kind.
    fn used(&self, period: &Period) -> Result<Vec<Used>, UsageError>;

    /// Removes the counts of earlier days; returns how many were removed.
    fn forget_usage_before(&self, at: u64) -> Result<u64, UsageError>;
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UsageRequest {
    /// From this day on; milliseconds since 1970
    pub from: Option<u64>,
    /// Before this moment, the whole of its day included; milliseconds since 1970
    pub until: Option<u64>,
    /// Only the nodes of this base
    pub base: Option<String>,
    /// Maximum number of nodes in each list; 20 unless said otherwise
    #[schemars(range(min = 1, max = 500))]
    pub max_results: Option<usize>,
}

impl UsageRequest {
    pub fn period(&self) -> Period {
        Period { from: self.from, until: self.until }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UsageResponse {
    /// All nodes there are
    pub total_nodes: usize,
    /// Those that came up at least once
    pub found_nodes: usize,
    /// Those that came up most, most first
    pub most_used: Vec<UsedNode>,
    /// How many nodes never came up, on all pages
    pub never_found_nodes: usize,
    /// Nodes that never came up, by id
    pub never_found: Vec<UnusedNode>,
    /// Ids that came up and are no nodes any longer, or were renamed
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UsedNode {
    pub id: String,
    pub path: String,
    pub title: String,
    /// How often it was recommended for a task
    pub discovered: u64,
    /// How often a search found it
    pub searched: u64,
    /// How often it was read
    pub retrieved: u64,
    /// The day it came up last, like 2026-01-31
    pub last_used: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnusedNode {
    pub id: String,
    pub path: String,
    pub title: String,
}

/// The counts of one node.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    discovered: u64,
    searched: u64,
    retrieved: u64,
    last_at: u64,
}

impl Counts {
    fn add(&mut self, used: &Used) {
        let count = match used.kind {
            UsageKind::Discovered => &mut self.discovered,
            UsageKind::Searched => &mut self.searched,
            UsageKind::Retrieved => &mut self.retrieved,
        };
        *count += used.times;
        self.last_at = self.last_at.max(used.last_at);
    }

    /// Reading a node says more about its use than finding it.
    fn rank(&self) -> (u64, u64, u64) {
        (self.retrieved, self.discovered + self.searched, self.last_at)
    }
}

impl Snapshot {
    /// Joins the counts of a period with the nodes of this snapshot.
    pub fn usage(&self, request: &UsageRequest, used: &[Used]) -> Result<UsageResponse, Error> {
        let limit = request.max_results.unwrap_or(DEFAULT_USAGE);
        in_range("max_results", limit, 1..=MAX_USAGE)?;
        if let Some(base) = &request.base {
            self.base_index(base)?;
        }
        let mut counts: HashMap<&str, Counts> = HashMap::new();
        for one in used {
            counts.entry(&one.node).or_default().add(one);
        }
        let in_base =
            |node: &NodeRef<'_>| request.base.as_deref().is_none_or(|b| node.base().name() == b);
        let mut most: Vec<(NodeRef<'_>, Counts)> = Vec::new();
        let mut never: Vec<NodeRef<'_>> = Vec::new();
        for node in self.nodes().filter(in_base) {
            match counts.remove(node.id()) {
                Some(counts) => most.push((node, counts)),
                None => never.push(node),
            }
        }
        most.sort_by(|a, b| b.1.rank().cmp(&a.1.rank()).then_with(|| a.0.id().cmp(b.0.id())));
        never.sort_by_key(|node| node.id());
        Ok(UsageResponse {
            total_nodes: most.len() + never.len(),
            found_nodes: most.len(),
            never_found_nodes: never.len(),
            most_used: most
                .iter()
                .take(limit)
                .map(|(node, counts)| used_node(*node, counts))
                .collect(),
            never_found: never.into_iter().take(limit).map(unused_node).collect(),
            // An id that no longer exists cannot be attributed to a base.
            gone: if request.base.is_none() { first(counts, limit) } else { Vec::new() },
        })
    }
}

/// The first `limit` ids in order.
fn first(counts: HashMap<&str, Counts>, limit: usize) -> Vec<String> {
    let mut ids: Vec<&str> = counts.into_keys().collect();
    ids.sort_unstable();
    ids.into_iter().take(limit).map(str::to_owned).collect()
}

fn used_node(node: NodeRef<'_>, counts: &Counts) -> UsedNode {
    UsedNode {
        id: node.id().to_owned(),
        path: node.path(),
        title: node.title().to_owned(),
        discovered: counts.discovered,
        searched: counts.searched,
        retrieved: counts.retrieved,
        last_used: format_date(counts.last_at),
    }
}

fn unused_node(node: NodeRef<'_>) -> UnusedNode {
    UnusedNode { id: node.id().to_owned(), path: node.path(), title: node.title().to_owned() }
}
