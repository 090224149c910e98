//! The token cost of five typical tasks, compared with reading the raw data.

use kenning_catalog::Catalog;
use kenning_knowledge::count_tokens;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::server::Server;
use crate::failure::Failure;

pub(super) const TOOLS: [&str; 4] =
    ["lookup_capability", "compare_capability", "list_capabilities", "get_sources"];

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cost {
    pub(super) scenario: &'static str,
    pub(super) calls: usize,
    /// Of the four tools' definitions, and of every call with its answer.
    pub(super) tokens: usize,
    /// Of the files that hold the answer, as compact JSON.
    pub(super) raw_tokens: usize,
}

pub(super) async fn measure(server: &Server, catalog: &Catalog) -> Result<Vec<Cost>, Failure> {
    let agents: Vec<&str> = catalog.agents().iter().map(|agent| agent.agent.as_str()).collect();
    let debugging = std::iter::once(("compare_capability", json!({"capability": "Debugging"})));
    let lookups = agents
        .iter()
        .take(4)
        .map(|agent| ("lookup_capability", json!({"agent": agent, "capability": "Debugging"})));
    let lists = agents.iter().map(|agent| ("list_capabilities", json!({"agent": agent})));
    let parity = catalog.definitions().iter();
    let parity = parity.map(|known| ("compare_capability", json!({"capability": known.name})));
    let scenarios = [
        (
            "set up MCP in Claude Code",
            vec![("lookup_capability", json!({"agent": "claude-code", "capability": "MCP"}))],
            vec!["claude-code"],
        ),
        ("debug across agents", debugging.chain(lookups).collect(), agents.clone()),
        (
            "cite all sources for Gemini CLI",
            vec![("get_sources", json!({"agent": "gemini-cli"}))],
            vec!["gemini-cli"],
        ),
        ("find all that is free", lists.collect(), agents.clone()),
        ("check all for parity", parity.collect(), agents.clone()),
    ];
    let definitions = definitions(server)?;
    let mut costs = Vec::new();
    for (scenario, calls, files) in scenarios {
        let mut tokens = definitions;
        for (tool, arguments) in &calls {
            tokens += call(server, tool, arguments).await?;
        }
        let raw_tokens = files.iter().map(|agent| raw(agent)).sum();
        costs.push(Cost { scenario, calls: calls.len(), tokens, raw_tokens });
    }
    Ok(costs)
}

fn definitions(server: &Server) -> Result<usize, Failure> {
    let listed: Vec<_> =
        server.tools().iter().filter(|tool| TOOLS.contains(&tool.name.as_ref())).collect();
    let text = serde_json::to_string(&listed).map_err(|error| Failure::new(error.to_string()))?;
    Ok(count_tokens(&text))
}

async fn call(server: &Server, tool: &str, arguments: &Value) -> Result<usize, Failure> {
    let given: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
    let answer = server.call(tool, given).await?;
    Ok(count_tokens(&arguments.to_string()) + count_tokens(&answer.content.to_string()))
}

fn raw(agent: &str) -> usize {
    let text = kenning_catalog::catalog::bundled_file(agent).unwrap_or_default();
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    count_tokens(&value.to_string())
}
