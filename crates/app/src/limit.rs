//! Limits, in the words that clients read.

use crate::toolset::Toolset;

/// A limit that clients are told. It is made beside the code that enforces it, from the same
/// constant, so that the two cannot differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub name: &'static str,
    pub value: u64,
    /// `None`: of the server as a whole.
    pub toolset: Option<Toolset>,
}

impl Limit {
    /// A limit of the server as a whole.
    pub(crate) fn of_server(name: &'static str, value: usize) -> Self {
        Self { name, value: value as u64, toolset: None }
    }

    pub(crate) fn of(toolset: Toolset, name: &'static str, value: usize) -> Self {
        Self { toolset: Some(toolset), ..Self::of_server(name, value) }
    }
}
