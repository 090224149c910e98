//! Which toolsets a client is offered.

use std::collections::BTreeSet;

use kenning_app::{Access, Inventory, Toolset};
use kenning_settings::{Layers, Settings};

use crate::failure::Failure;

/// A client's selection. It orders and compares, so that clients with the same selection share a
/// server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Selection {
    pub(super) toolsets: BTreeSet<Toolset>,
    pub(super) read_only: bool,
    /// Whether agents are asked why they call a tool.
    pub(super) intent: bool,
}

impl Selection {
    pub(super) fn of(settings: &Settings, layers: &Layers) -> Result<Self, Failure> {
        let toolsets = Toolset::parse_list(&settings.server.toolsets)
            .map_err(|error| layers.fault("server.toolsets", &error.to_string()))?;
        Ok(Self {
            toolsets: toolsets.into_iter().collect(),
            read_only: settings.server.read_only,
            intent: settings.gaps.intent,
        })
    }

    /// What is selected of all that there is.
    pub(super) fn of_all(&self, all: Inventory) -> Inventory {
        let access = if self.read_only { Access::ReadOnly } else { Access::ReadWrite };
        let toolsets: Vec<Toolset> = self.toolsets.iter().copied().collect();
        let inventory = all.select(&toolsets, access);
        let asks_intent = self.intent && self.toolsets.contains(&Toolset::Gaps);
        if asks_intent { inventory.with_intent() } else { inventory }
    }
}
