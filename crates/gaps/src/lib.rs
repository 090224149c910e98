//! What agents asked for and could not get, on any MCP server.
//!
//! The [`contract`] is what an agent sees: one reserved tool and one parameter (or a server's own,
//! [`native`]). What comes back is
//! [`redact`]ed and travels as an [`event`]. Events of one user within a while are a [`session`];
//! what was wanted in it are [`ask`]s; asks that mean the same are a [`group`]; a [`report`] ranks
//! them. A [`gap`] is a group with a life: it closes when the answer appears, often through a
//! [`proposal`]. What has to be remembered is said in [`ports`].
//!
//! [`Gaps`] ties these together and answers the questions there are: [`ingest`] takes calls in,
//! [`digest`] hears what was asked in them, [`list`] and [`show`] tell of gaps, [`reporting`]
//! makes the report, [`decide`] is for people, [`answers`] closes what is answered, [`offers`]
//! keeps proposals, [`forget`] removes what must not be kept. Requests and answers are the
//! product's contract, as JSON in camel case like mcpeye's; times are milliseconds since 1970.
//!
//! Vectors are handed in. Nothing here knows a model, a protocol, a server or a database, and
//! nothing reads a clock.

pub mod answers;
pub mod ask;
pub mod contract;
pub mod decide;
pub mod digest;
pub mod error;
pub mod event;
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

use ports::Memory;

pub use error::{Code, Error, ErrorBody};
pub use event::{Batch, Event, Identity};
pub use gap::Gap;
pub use proposal::Proposal;
pub use redact::Redactor;
pub use report::Report;
pub use session::Session;

/// The project of Kenning's own tools: what was asked of them and not found is missing here.
pub const OWN_PROJECT: &str = "kenning";

/// Text to vector of length 1; `None` when there is no model, and words alone decide.
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

/// What is missing, remembered. Cheap to clone.
#[derive(Clone)]
pub struct Gaps {
    memory: Arc<dyn Memory>,
    embedder: Arc<dyn Embedder>,
    redactor: Redactor,
}

impl Gaps {
    /// Gaps that are told apart by their words.
    pub fn new(memory: Arc<dyn Memory>) -> Self {
        let embedder = Arc::new(|_: &str| None);
        Self { memory, embedder, redactor: Redactor::default() }
    }

    /// Tells gaps apart by what they mean, too.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Arc<dyn Embedder>) -> Self {
        self.embedder = embedder;
        self
    }

    /// Takes other things out of what comes in.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Remembers which tools a server offered.
    pub fn note_tools(&self, project_id: &str, tools: &[String], now: u64) -> Result<(), Error> {
        Ok(self.memory.note_tools(project_id, tools, now)?)
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

/// Computes the vector of a text once, and of so many texts at most: beyond that, words decide.
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
