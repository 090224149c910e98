//! `capabilities://server`: version, features and limits of the server.

use std::collections::BTreeMap;

use serde::Serialize;

use super::generators;
use crate::inventory::Inventory;
use crate::operation::Effect;
use crate::state::{AppState, VERSION};
use crate::toolset::Toolset;

const NAME: &str = "kenning";

/// Features of the contract that are on if all their tools are offered.
const BY_TOOLS: [(&str, &[&str]); 6] = [
    ("content_generation", &["generate_content"]),
    ("artifact_assembly", &["assemble_artifact"]),
    ("config_lifecycle", &["draft_config", "test_config", "save_config", "modify_config"]),
    ("batch_operations", &["batch_generate_content"]),
    ("ephemeral_storage", &["query_ephemeral_storage"]),
    ("content_validation", &["validate_content"]),
];

#[derive(Debug, Serialize)]
pub(super) struct Server {
    name: &'static str,
    version: &'static str,
    /// The newest supported; client and server negotiate the one in use.
    mcp_version: String,
    features: BTreeMap<&'static str, bool>,
    limits: BTreeMap<&'static str, u64>,
    runtime: Runtime,
    tool_count: usize,
    resource_count: usize,
    generator_count: usize,
}

#[derive(Debug, Serialize)]
struct Runtime {
    rust: &'static str,
    rmcp: String,
    platform: &'static str,
}

pub(super) fn of(state: &AppState) -> Server {
    let inventory = &*state.inventory;
    Server {
        name: NAME,
        version: VERSION,
        mcp_version: state.protocol.mcp_version.clone(),
        features: features(state),
        limits: state.limits().map(|limit| (limit.name, limit.value)).collect(),
        runtime: Runtime {
            rust: env!("KENNING_RUSTC"),
            rmcp: state.protocol.sdk_version.clone(),
            platform: std::env::consts::OS,
        },
        tool_count: inventory.tools().count(),
        resource_count: inventory.resources.iter().map(|one| one.family().templates.len()).sum(),
        generator_count: generators::list(state).generators.len(),
    }
}

fn features(state: &AppState) -> BTreeMap<&'static str, bool> {
    let inventory = &*state.inventory;
    let plugins = inventory.generators.as_ref();
    let mut features: BTreeMap<&str, bool> = BY_TOOLS
        .into_iter()
        .map(|(feature, tools)| (feature, tools.iter().all(|tool| inventory.tool(tool).is_some())))
        .collect();
    features.extend(Toolset::ALL.map(|toolset| (toolset.name(), inventory.has(toolset))));
    features.extend([
        ("resource_providers", !inventory.resources.is_empty()),
        ("prompts", !inventory.prompts.is_empty()),
        ("capability_discovery", inventory.family(super::SERVER_URI).is_some()),
        ("generator_plugins", plugins.is_some_and(|all| all.takes_plugins(&state.services))),
        ("read_only", inventory.tools().all(|tool| tool.effect == Effect::Reads)),
        ("validation_suggestions", suggests(inventory)),
    ]);
    features
}

/// Whether a tool that validates suggests corrections.
fn suggests(inventory: &Inventory) -> bool {
    let validating = inventory.tools().filter(|tool| tool.category_name() == "validation");
    let mut answers = validating.filter_map(|tool| tool.output_schema.as_ref());
    answers
        .any(|schema| schema.get("properties").is_some_and(|has| has.get("suggestions").is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A feature that names a tool which does not exist would be off for ever.
    #[test]
    fn features_name_tools_that_come_with_their_toolset() {
        let compose = Toolset::ALL.iter().any(|toolset| toolset.name() == "compose");
        let inventory = Inventory::full();
        for tool in BY_TOOLS.into_iter().flat_map(|(_, tools)| tools) {
            assert_eq!(inventory.tool(tool).is_some(), compose, "{tool}");
        }
    }
}
