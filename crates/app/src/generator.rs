//! Generators of content, as `capabilities://generators` describes them.

use serde::Serialize;
use serde_json::Value;

use crate::services::Services;
use crate::toolset::Toolset;

/// The source of generators. Nothing is cached between two reads, because plugins come and go while
/// the server runs.
pub trait Generators: Send + Sync {
    /// The toolset they are switched on and off with.
    fn toolset(&self) -> Toolset;

    /// The generators of this moment, plugins included.
    fn list(&self, services: &Services) -> GeneratorList;

    /// Whether more can be added without rebuilding the program.
    fn takes_plugins(&self, services: &Services) -> bool;
}

/// Generators at one moment.
#[derive(Debug, Clone)]
pub struct GeneratorList {
    /// Each is an object with the fields that the contract has for an entry of
    /// `capabilities://generators`, among them `type` and `source`.
    pub generators: Vec<Value>,
    /// Built-in generators that cannot be used here, each with its `reason`.
    pub absent: Vec<Value>,
    pub selection_strategy: SelectionStrategy,
}

/// How a generator is chosen for a config that names none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SelectionStrategy {
    #[serde(rename = "type")]
    pub kind: String,
    pub explanation: String,
    /// The generator that is taken if nothing speaks for another; empty if there is none.
    pub fallback: String,
}

impl GeneratorList {
    /// Of a server without generators.
    pub(crate) fn nothing() -> Self {
        Self {
            generators: Vec::new(),
            absent: Vec::new(),
            selection_strategy: SelectionStrategy {
                kind: "none".to_owned(),
                explanation: "This server has no generators".to_owned(),
                fallback: String::new(),
            },
        }
    }
}
