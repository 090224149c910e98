//! `deps`: shows what a node depends on and what depends on it.

use kenning_knowledge::dependencies::{DependenciesRequest, DependenciesResponse, Dependency};

use super::Context;
use crate::cli;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, args: cli::Deps) -> Result<Exit, Failure> {
    let request =
        DependenciesRequest { node_id: args.id, direction: args.direction, depth: args.depth };
    let found = context.open_library()?.snapshot().dependencies(&request)?;
    context.answer(&found, text)
}

fn text(found: &DependenciesResponse) -> String {
    let mut out = format!("{}\n", found.node_id);
    let mut section = |title: &str, nodes: &Option<Vec<Dependency>>| {
        let Some(nodes) = nodes else { return };
        out += &format!("{title}{}\n", if nodes.is_empty() { " nothing" } else { ":" });
        for node in nodes {
            let indent = "  ".repeat(node.depth);
            out += &format!("{indent}{} [{}] {}\n", node.id, node.status, node.title);
        }
    };
    section("depends on", &found.upstream);
    section("required by", &found.downstream);
    for cycle in &found.cycles {
        out += &format!("cycle: {}\n", cycle.join(" → "));
    }
    for missing in &found.unresolved {
        out += &format!("missing: {} (required by {})\n", missing.target, missing.required_by);
    }
    out
}
