use kenning_knowledge::dependencies::{
    DependenciesRequest, DependenciesResponse, Dependency, Direction,
};

use super::Context;
use crate::cli;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, deps: cli::Deps) -> Result<Exit, Failure> {
    let request = DependenciesRequest {
        node_id: deps.id,
        direction: match deps.direction {
            cli::Direction::Upstream => Direction::Upstream,
            cli::Direction::Downstream => Direction::Downstream,
            cli::Direction::Both => Direction::Both,
        },
        depth: deps.depth,
    };
    let found = context.open_library()?.snapshot().dependencies(&request)?;
    context.printer.answer(&found, text)?;
    Ok(Exit::Success)
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
    section("waits for", &found.upstream);
    section("is waited for by", &found.downstream);
    for cycle in &found.cycles {
        out += &format!("circle: {}\n", cycle.join(" → "));
    }
    for missing in &found.unresolved {
        out += &format!("missing: {} (named by {})\n", missing.target, missing.required_by);
    }
    out
}
