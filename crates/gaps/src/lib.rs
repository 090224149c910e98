//! What agents asked for and could not get, on any MCP server.
//!
//! The [`contract`] adds a reserved tool and a parameter to a server's tools; a server's own intent
//! field can replace the parameter ([`native`]). Each call is [`redact`]ed and recorded as an
//! [`event`]. The events of one user without a longer pause are a [`session`]. [`ask`] finds what
//! was wanted in them, [`group`] finds asks that mean the same, [`report`] ranks them. A [`gap`] is
//! a group with a status; it closes when its answer appears, often through a [`proposal`].
//! [`ports`] are the traits that a store implements.
//!
//! [`Gaps`] is the entry point. [`ingest`] stores calls, [`extract`] finds the asks in them,
//! [`list`] and [`show`] read gaps, [`reporting`] makes the report, [`decide`] changes gaps,
//! [`answers`] closes gaps, [`offers`] stores proposals, [`forget`] removes calls and asks.
//! Requests and responses are JSON in camel case, as mcpeye's are; times are milliseconds since
//! 1970.
//!
//! Vectors and the current time are parameters. No model, protocol, server, database or clock is
//! used here.

pub mod answers;
pub mod ask;
pub mod contract;
pub mod decide;
pub mod error;
pub mod event;
pub mod extract;
pub mod forget;
pub mod gap;
pub mod group;
pub mod ingest;
pub mod list;
pub mod native;
pub mod offers;
pub mod ports;
pub mod proposal;
pub mod redact;
pub mod render;
pub mod report;
pub mod reporting;
pub mod session;
pub mod show;
mod words;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use ports::Storage;

pub use error::{Code, Error, ErrorBody};
pub use event::{Batch, Event, Identity};
pub use gap::Gap;
pub use proposal::Proposal;
pub use redact::Redactor;
pub use report::Report;
pub use session::Session;

/// The project of Kenning's own tools.
pub const OWN_PROJECT: &str = "kenning";

/// Maps a text to a vector of length 1, or to `None` without a model: then only words count.
pub trait Embedder: Send + Sync {
    fn embed(&self, text: &str) -> Option<Vec<f32>>;
}

impl<F> Embedder for F
where
    F: Fn(&str) -> Option<Vec<f32>> + Send + Sync,
{
    fn embed(&self, text: &str) -> Option<Vec<f32>> {
        self(text)
    }
}

/// The gaps in a store. Cheap to clone.
#[derive(Clone)]
pub struct Gaps {
    storage: Arc<dyn Storage>,
    embedder: Arc<dyn Embedder>,
    redactor: Redactor,
}

impl Gaps {
    /// Compares asks by their words only.
    pub fn new(storage: Arc<dyn Storage>) -> Self {
        let embedder = Arc::new(|_: &str| None);
        Self { storage, embedder, redactor: Redactor::default() }
    }

    /// Also compares asks by meaning.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = embedder;
        self
    }

    /// Replaces the redactor of ingested calls.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Records which tools a server offered.
    pub fn note_tools(&self, project_id: &str, tools: &[String], now: u64) -> Result<(), Error> {
        Ok(self.storage.note_tools(project_id, tools, now)?)
    }

    fn vectors(&self, budget: usize) -> Vectors<'_> {
        Vectors { embedder: &*self.embedder, budget, known: RefCell::default() }
    }
}

impl std::fmt::Debug for Gaps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gaps").finish_non_exhaustive()
    }
}

/// Computes the vector of each text once, for a limited number of texts: beyond that, only words
/// count.
struct Vectors<'a> {
    embedder: &'a dyn Embedder,
    budget: usize,
    known: RefCell<HashMap<String, Option<Vec<f32>>>>,
}

impl Vectors<'_> {
    fn of(&self, text: &str) -> Option<Vec<f32>> {
        if let Some(known) = self.known.borrow().get(text) {
            return known.clone();
        }
        if self.known.borrow().len() >= self.budget {
            return None;
        }
        let vector = self.embedder.embed(text);
        self.known.borrow_mut().insert(text.to_owned(), vector.clone());
        vector
    }
}
