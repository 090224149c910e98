//! `capabilities://generators`: what generates content, and how a generator is chosen.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::generator::{GeneratorList, SelectionStrategy};
use crate::state::{AppState, VERSION};

#[derive(Debug, Serialize)]
pub(super) struct Registered {
    generators: Map<String, Value>,
    /// Generators that cannot be used here, each with the reason.
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

pub(super) fn of(state: &AppState) -> Registered {
    let GeneratorList { generators, absent, selection_strategy } = list(state);
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

pub(super) fn list(state: &AppState) -> GeneratorList {
    let generators = state.inventory.generators.as_ref();
    generators.map_or_else(GeneratorList::nothing, |generators| generators.list(&state.services))
}
