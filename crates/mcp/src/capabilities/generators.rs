//! `capabilities://generators`: what can write content, and how one of them is chosen.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::generator::SelectionStrategy;
use crate::house::House;
use crate::server::VERSION;

#[derive(Debug, Serialize)]
pub(super) struct Registered {
    generators: Map<String, Value>,
    selection_strategy: SelectionStrategy,
    metadata: Counts,
}

#[derive(Debug, Serialize)]
struct Counts {
    version: &'static str,
    generator_count: usize,
    builtin_count: usize,
    plugin_count: usize,
}

pub(super) fn of(house: &House) -> Registered {
    let all = list(house);
    let from = |source: &str| all.iter().filter(|one| one["source"] == source).count();
    let metadata = Counts {
        version: VERSION,
        generator_count: all.len(),
        builtin_count: from("builtin"),
        plugin_count: from("plugin"),
    };
    let strategy = house.inventory.generators.as_ref();
    let strategy = strategy.map(|generators| generators.selection_strategy(&house.rooms));
    let by_type =
        all.into_iter().map(|one| (one["type"].as_str().unwrap_or_default().to_owned(), one));
    Registered {
        generators: by_type.collect(),
        selection_strategy: strategy.unwrap_or_else(SelectionStrategy::nothing),
        metadata,
    }
}

/// Those there are now.
pub(super) fn list(house: &House) -> Vec<Value> {
    let generators = house.inventory.generators.as_ref();
    generators.map(|generators| generators.list(&house.rooms)).unwrap_or_default()
}
