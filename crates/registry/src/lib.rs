//! The registry: agents, and the skills they really have.
//!
//! The [`Registry`] answers four questions of the contract — [`register`], [`get`], [`list`],
//! [`deactivate`] — and those about the [`agents`] themselves. [`skills`] reads `SKILL.md` folders
//! from the usual [`places`], and [`sync`] brings an agent's capabilities in step with them.
//! [`find`] ranks skills by what a question means. What is remembered lies on a [`RegistryStore`], which
//! somebody else builds; what can be wrong is an [`Error`] with the contract's codes.
//!
//! Requests and answers are the product's contract: the same types stand behind the MCP tools, the
//! command line and REST.

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
    /// A registry that finds skills by their words.
    pub fn new(store: Arc<dyn RegistryStore>) -> Self {
        Self { store, ranker: Arc::new(find::Words), clock: Timestamp::now }
    }

    /// Finds skills by what they mean, too.
    #[must_use]
    pub fn with_ranker(mut self, ranker: Arc<dyn Ranker>) -> Self {
        self.ranker = ranker;
        self
    }

    /// Takes the time from elsewhere.
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
