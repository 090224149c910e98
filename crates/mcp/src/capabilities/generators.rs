//! `capabilities://generators`: what can write content, and how one of them is chosen.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::generator::{GeneratorList, SelectionStrategy};
use crate::house::House;
use crate::server::VERSION;

#[derive(Debug, Serialize)]
pub(super) struct Registered {
    generators: Map<String, Value>,
    /// Those that cannot be used here, each with the reason.
    absent: Vec<Value>,
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
    let GeneratorList { generators, absent, selection_strategy } = list(house);
    let from = |source: &str| generators.iter().filter(|one| one["source"] == source).count();
    let metadata = Counts {
        version: VERSION,
        generator_count: generators.len(),
        builtin_count: from("builtin"),
        plugin_count: from("plugin"),
    };
    let by_type = generators
        .into_iter()
        .map(|one| (one["type"].as_str().unwrap_or_default().to_owned(), one));
    Registered { generators: by_type.collect(), absent, selection_strategy, metadata }
}

/// Those there are now.
pub(super) fn list(house: &House) -> GeneratorList {
    let generators = house.inventory.generators.as_ref();
    generators.map_or_else(GeneratorList::nothing, |generators| generators.list(&house.rooms))
}
