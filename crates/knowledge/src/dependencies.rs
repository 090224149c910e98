//! The dependency graph of `blocked_by`.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostic;
use crate::error::{Error, in_range};
use crate::node::NodeRef;
use crate::snapshot::Snapshot;

pub const MAX_DEPTH: usize = 20;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DependenciesRequest {
    /// The node ID to analyze
    #[schemars(length(min = 1), regex(pattern = r"\S"))]
    pub node_id: String,
    /// `upstream`: what the node waits for; `downstream`: what waits for it
    #[serde(default)]
    pub direction: Direction,
    /// How many levels of dependencies to traverse
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1, max = MAX_DEPTH))]
    pub depth: usize,
}

fn default_depth() -> usize {
    1
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Upstream,
    Downstream,
    #[default]
    Both,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DependenciesResponse {
    pub node_id: String,
    /// What the node waits for, nearest first
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Vec<Dependency>>,
    /// What waits for the node, nearest first
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downstream: Option<Vec<Dependency>>,
    /// Circles among the nodes named here, each from its first node round to the last
    pub cycles: Vec<Vec<String>>,
    /// Targets of `blocked_by` that name no node
    pub unresolved: Vec<Unresolved>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Dependency {
    pub id: String,
    pub path: String,
    pub title: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub status: String,
    /// Steps from the node asked about
    pub depth: usize,
    /// The node one step nearer through which this one was found
    pub via: String,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Unresolved {
    pub target: String,
    pub required_by: String,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub suggestions: Vec<String>,
}

/// Edges between nodes, by index. Nodes without edges are absent.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    upstream: BTreeMap<usize, Vec<usize>>,
    downstream: HashMap<usize, Vec<usize>>,
    unresolved: HashMap<usize, Vec<String>>,
    cycles: Vec<Vec<usize>>,
}

impl Graph {
    pub(crate) fn of(snapshot: &Snapshot) -> (Self, Vec<Diagnostic>) {
        let mut graph = Self::default();
        let mut diagnostics = Vec::new();
        for node in snapshot.nodes() {
            for target in node.blocked_by() {
                if let Some(index) = snapshot.target(node, &target) {
                    graph.upstream.entry(node.index()).or_default().push(index);
                    graph.downstream.entry(index).or_default().push(node.index());
                } else {
                    diagnostics
                        .push(diagnostic(node, format!("blocked_by `{target}` names no node")));
                    graph.unresolved.entry(node.index()).or_default().push(target);
                }
            }
        }
        graph.cycles = graph.find_cycles();
        for cycle in &graph.cycles {
            let ids = closed_path(snapshot, cycle).join(" → ");
            diagnostics.push(diagnostic(
                snapshot.at(cycle[0]),
                format!("blocked_by forms a cycle: {ids}"),
            ));
        }
        (graph, diagnostics)
    }

    /// One cycle for every edge back to a node on the current path of a depth-first search.
    fn find_cycles(&self) -> Vec<Vec<usize>> {
        let mut done = HashSet::new();
        let mut cycles = Vec::new();
        for &start in self.upstream.keys() {
            let mut path: Vec<(usize, usize)> = Vec::new();
            if !done.contains(&start) {
                path.push((start, 0));
            }
            while let Some((node, next)) = path.last_mut() {
                let Some(&target) = self.upstream.get(node).and_then(|all| all.get(*next)) else {
                    done.insert(*node);
                    path.pop();
                    continue;
                };
                *next += 1;
                if let Some(from) = path.iter().position(|(on_path, _)| *on_path == target) {
                    cycles.push(path[from..].iter().map(|(node, _)| *node).collect());
                } else if !done.contains(&target) {
                    path.push((target, 0));
                }
            }
        }
        cycles
    }

    fn edges(&self, node: usize, downstream: bool) -> &[usize] {
        let edges = if downstream { self.downstream.get(&node) } else { self.upstream.get(&node) };
        edges.map_or(&[], Vec::as_slice)
    }
}

fn diagnostic(node: NodeRef<'_>, message: String) -> Diagnostic {
    let path = node.document().path.as_str();
    Diagnostic::new(node.section().line, message).located(node.base().name(), path)
}

/// The ids of a cycle, with the first one again at the end.
fn closed_path(snapshot: &Snapshot, cycle: &[usize]) -> Vec<String> {
    let all = cycle.iter().chain(cycle.first());
    all.map(|&index| snapshot.at(index).id().to_owned()).collect()
}

impl Snapshot {
    pub fn dependencies(
        &self,
        request: &DependenciesRequest,
    ) -> Result<DependenciesResponse, Error> {
        in_range("depth", request.depth, 1..=MAX_DEPTH)?;
        let node = self.resolve(&request.node_id)?;
        let wanted = |direction| [direction, Direction::Both].contains(&request.direction);
        let upstream = wanted(Direction::Upstream).then(|| self.reach(node, request.depth, false));
        let downstream =
            wanted(Direction::Downstream).then(|| self.reach(node, request.depth, true));
        let mut reached: HashSet<usize> = HashSet::from([node.index()]);
        reached.extend(upstream.iter().chain(&downstream).flatten().map(|step| step.node));
        let cycles =
            self.graph.cycles.iter().filter(|cycle| cycle.iter().any(|n| reached.contains(n)));
        let unresolved =
            if wanted(Direction::Upstream) { self.unresolved(&reached) } else { Vec::new() };
        let describe = |steps: Vec<Step>| steps.iter().map(|step| self.describe(step)).collect();
        Ok(DependenciesResponse {
            node_id: node.id().to_owned(),
            cycles: cycles.map(|cycle| closed_path(self, cycle)).collect(),
            unresolved,
            upstream: upstream.map(describe),
            downstream: downstream.map(describe),
        })
    }

    /// Every resolved dependency: the blocked node and the node that blocks it.
    pub fn dependency_edges(&self) -> impl Iterator<Item = (NodeRef<'_>, NodeRef<'_>)> {
        self.graph.upstream.iter().flat_map(move |(&node, targets)| {
            targets.iter().map(move |&target| (self.at(node), self.at(target)))
        })
    }

    /// All nodes within `depth` steps, breadth first, each once.
    fn reach(&self, from: NodeRef<'_>, depth: usize, downstream: bool) -> Vec<Step> {
        let mut seen = HashSet::from([from.index()]);
        let mut steps = Vec::new();
        let mut queue = VecDeque::from([(from.index(), 0)]);
        while let Some((via, at)) = queue.pop_front() {
            if at == depth {
                break;
            }
            for &node in self.graph.edges(via, downstream) {
                if seen.insert(node) {
                    steps.push(Step { node, via, depth: at + 1 });
                    queue.push_back((node, at + 1));
                }
            }
        }
        steps
    }

    fn describe(&self, step: &Step) -> Dependency {
        let node = self.at(step.node);
        Dependency {
            id: node.id().to_owned(),
            path: node.path(),
            title: node.title().to_owned(),
            kind: node.kind().to_owned(),
            status: node.status().to_owned(),
            depth: step.depth,
            via: self.at(step.via).id().to_owned(),
        }
    }

    fn unresolved(&self, reached: &HashSet<usize>) -> Vec<Unresolved> {
        let mut sources: Vec<usize> = reached
            .iter()
            .copied()
            .filter(|node| self.graph.unresolved.contains_key(node))
            .collect();
        sources.sort_unstable();
        let targets = |source: usize| {
            self.graph.unresolved[&source].iter().map(move |target| Unresolved {
                target: target.clone(),
                required_by: self.at(source).id().to_owned(),
                suggestions: self.similar_ids(target),
            })
        };
        sources.into_iter().flat_map(targets).collect()
    }
}

struct Step {
    node: usize,
    via: usize,
    depth: usize,
}
