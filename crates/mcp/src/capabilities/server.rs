//! `capabilities://server`: who answers, what it can do, and how much of it at once.

use std::collections::BTreeMap;

use rmcp::model::{Implementation, ProtocolVersion};
use serde::Serialize;

use super::generators;
use crate::house::House;
use crate::inventory::{Inventory, Toolset};
use crate::server::{NAME, VERSION};
use crate::tool::Effect;

/// Features of the contract that are there as soon as all their tools are.
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
    /// The newest that is spoken; which one is, client and server agree on.
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

pub(super) fn of(house: &House) -> Server {
    let inventory = &house.inventory;
    Server {
        name: NAME,
        version: VERSION,
        mcp_version: ProtocolVersion::LATEST.to_string(),
        features: features(house),
        limits: inventory.limits.iter().map(|limit| (limit.name, limit.value)).collect(),
        runtime: Runtime {
            rust: env!("KENNING_RUSTC"),
            // Said by the SDK itself.
            rmcp: Implementation::from_build_env().version,
            platform: std::env::consts::OS,
        },
        tool_count: inventory.tools.len(),
        resource_count: inventory.resources.iter().map(|family| family.templates().len()).sum(),
        generator_count: generators::list(house).generators.len(),
    }
}

fn features(house: &House) -> BTreeMap<&'static str, bool> {
    let inventory = &house.inventory;
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
        ("generator_plugins", plugins.is_some_and(|all| all.takes_plugins(&house.rooms))),
        ("read_only", inventory.tools.iter().all(|tool| tool.effect == Effect::Reads)),
        ("validation_suggestions", suggests(inventory)),
    ]);
    features
}

/// Whether a tool that validates says how to mend what it finds.
fn suggests(inventory: &Inventory) -> bool {
    let validating = inventory.tools.iter().filter(|tool| tool.category() == "validation");
    let mut answers = validating.filter_map(|tool| tool.output_schema.as_ref());
    answers
        .any(|schema| schema.get("properties").is_some_and(|has| has.get("suggestions").is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A feature that waits for a tool that nobody offers would be off for ever.
    #[test]
    fn features_name_tools_that_come_with_their_toolset() {
        let compose = Toolset::ALL.iter().any(|toolset| toolset.name() == "compose");
        let inventory = Inventory::full();
        for tool in BY_TOOLS.into_iter().flat_map(|(_, tools)| tools) {
            assert_eq!(inventory.tool(tool).is_some(), compose, "{tool}");
        }
    }
}
