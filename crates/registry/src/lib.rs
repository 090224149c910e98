//! The registry: agents and the skills they have.
//!
//! [`Registry`] implements the four operations of the contract ([`register`], [`get`], [`list`],
//! [`deactivate`]) and those on the [`agents`] themselves. [`skills`] reads `SKILL.md` folders from
//! the usual [`places`], and [`sync`] updates an agent's capabilities to match them. [`find`] ranks
//! skills for a query. A [`RegistryStore`], implemented elsewhere, holds the data. [`Error`] has the
//! contract's codes.
//!
//! Requests and responses are a public contract: MCP tools, command line and REST use the same types.

pub mod agents;
pub mod deactivate;
pub mod error;
pub mod find;
pub mod get;
pub mod list;
pub mod model;
pub mod places;
pub mod register;
pub mod rules;
pub mod skills;
pub mod store;
pub mod sync;

use std::sync::Arc;

pub use error::{Code, Error, ErrorBody};
pub use find::Ranker;
pub use model::{Agent, Capability, Revision, Timestamp};
pub use store::RegistryStore;

/// Agents and their skills. Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    store: Arc<dyn RegistryStore>,
    ranker: Arc<dyn Ranker>,
    clock: fn() -> Timestamp,
}

impl Registry {
    /// A registry that ranks skills by their words alone.
    pub fn new(store: Arc<dyn RegistryStore>) -> Self {
        Self { store, ranker: Arc::new(find::Words), clock: Timestamp::now }
    }

    /// Ranks skills by meaning as well.
    #[must_use]
    pub fn with_ranker(mut self, ranker: Arc<dyn Ranker>) -> Self {
        self.ranker = ranker;
        self
    }

    /// Replaces the system clock, for tests.
    #[must_use]
    pub fn with_clock(mut self, clock: fn() -> Timestamp) -> Self {
        self.clock = clock;
        self
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").finish_non_exhaustive()
    }
}
