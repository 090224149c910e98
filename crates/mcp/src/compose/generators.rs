//! What writes texts, for the server's description of itself.

use kenning_compose::generator::Metadata;
use kenning_compose::list::GeneratorsRequest;
use serde_json::{Value, json};

use crate::generator::{GeneratorList, Generators, SelectionStrategy};
use crate::inventory::Toolset;
use crate::rooms::Rooms;

/// Those of the room, asked for anew each time.
#[derive(Debug, Clone, Copy)]
pub struct ComposeGenerators;

impl Generators for ComposeGenerators {
    fn toolset(&self) -> Toolset {
        Toolset::Compose
    }

    fn list(&self, rooms: &Rooms) -> GeneratorList {
        let Ok(compose) = rooms.compose() else { return GeneratorList::nothing() };
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

    fn takes_plugins(&self, rooms: &Rooms) -> bool {
        rooms.compose().is_ok_and(kenning_compose::Compose::takes_plugins)
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
