//! What writes texts, for the server's description of itself.

use kenning_compose::generator::{Listing, Metadata};
use kenning_compose::list::GeneratorsRequest;
use serde_json::Value;

use crate::generator::{Generators, SelectionStrategy};
use crate::inventory::Toolset;
use crate::rooms::Rooms;

/// Those of the room, asked for anew each time.
#[derive(Debug, Clone, Copy)]
pub struct ComposeGenerators;

impl Generators for ComposeGenerators {
    fn toolset(&self) -> Toolset {
        Toolset::Compose
    }

    fn list(&self, rooms: &Rooms) -> Vec<Value> {
        let listing = listing(rooms);
        listing
            .into_iter()
            .flat_map(|listing| listing.generators.into_values())
            .map(entry)
            .collect()
    }

    fn selection_strategy(&self, rooms: &Rooms) -> SelectionStrategy {
        let strategy = listing(rooms).map(|listing| listing.selection_strategy);
        strategy.map_or_else(SelectionStrategy::nothing, |strategy| SelectionStrategy {
            kind: strategy.strategy_type,
            explanation: strategy.explanation,
            fallback: strategy.fallback,
        })
    }

    fn takes_plugins(&self, rooms: &Rooms) -> bool {
        rooms.compose().is_ok_and(kenning_compose::Compose::takes_plugins)
    }
}

fn listing(rooms: &Rooms) -> Option<Listing> {
    let compose = rooms.compose().ok()?;
    Some(compose.list_generators(&GeneratorsRequest::default()).listing)
}

/// With the fields that the contract has, and no others.
fn entry(metadata: Metadata) -> Value {
    let mut entry = serde_json::to_value(metadata).expect("metadata is plain JSON");
    if let Some(fields) = entry.as_object_mut() {
        fields.remove("description");
    }
    entry
}
