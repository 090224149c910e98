//! Generators of content, as clients are told of them.

use serde::Serialize;
use serde_json::Value;

use crate::inventory::Toolset;
use crate::rooms::Rooms;

/// Where the generators are. Nothing of it is remembered between two questions: plugins come and
/// go while the server runs.
pub trait Generators: Send + Sync {
    /// The toolset they are switched on and off with.
    fn toolset(&self) -> Toolset;

    /// Those there are now, plugins included. Each is an object with the fields that the contract
    /// has for an entry of `capabilities://generators`, among them `type` and `source`.
    fn list(&self, rooms: &Rooms) -> Vec<Value>;

    fn selection_strategy(&self, rooms: &Rooms) -> SelectionStrategy;

    /// Whether more can be added without building the program anew.
    fn takes_plugins(&self, rooms: &Rooms) -> bool;
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

impl SelectionStrategy {
    /// Where there is nothing to choose from.
    pub(crate) fn nothing() -> Self {
        Self {
            kind: "none".to_owned(),
            explanation: "This server has no generators".to_owned(),
            fallback: String::new(),
        }
    }
}
