//! The generators of compose, for the server's self-description.

use kenning_compose::generator::Metadata;
use kenning_compose::list::GeneratorsRequest;
use serde_json::{Value, json};

use crate::generator::{GeneratorList, Generators, SelectionStrategy};
use crate::services::Services;
use crate::toolset::Toolset;

/// Asks compose each time, because plugins come and go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ComposeGenerators;

impl Generators for ComposeGenerators {
    fn toolset(&self) -> Toolset {
        Toolset::Compose
    }

    fn list(&self, services: &Services) -> GeneratorList {
        let Ok(compose) = services.compose() else { return GeneratorList::nothing() };
        let listing = compose.list_generators(&GeneratorsRequest::default()).listing;
        let strategy = listing.selection_strategy;
        GeneratorList {
            generators: listing.generators.into_values().map(entry).collect(),
            absent: listing.absent.into_iter().map(|absent| json!(absent)).collect(),
            selection_strategy: SelectionStrategy {
                kind: strategy.strategy_type,
                explanation: strategy.explanation,
                fallback: strategy.fallback,
            },
        }
    }

    fn takes_plugins(&self, services: &Services) -> bool {
        services.compose().is_ok_and(kenning_compose::Compose::takes_plugins)
    }
}

/// With the fields that the contract has, and no others.
fn entry(metadata: Metadata) -> Value {
    let mut entry = serde_json::to_value(metadata).expect("metadata is plain JSON");
    if let Some(fields) = entry.as_object_mut() {
        fields.remove("description");
    }
    entry
}
