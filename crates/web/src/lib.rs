//! Kenning over HTTP, besides MCP.
//!
//! An [`operation`] is registered once, with what it takes, gives and may refuse: the router, the
//! `OpenAPI` document and its page for people ([`document`]) derive from it. [`api`] holds those
//! that there are. [`guard`] lets in who may come in, by [`token`] where that is not only this
//! machine; what is not in a contract is refused as a [`problem`].
//!
//! [`pages`] is the same for people, as HTML. [`ingest`] takes in what was heard elsewhere.
//! [`running`] tells those who run the server how it fares. This crate translates. What the answers say is decided in the rooms.

mod api;
mod document;
mod guard;
mod guesses;
mod ingest;
mod operation;
mod pages;
mod problem;
mod running;
mod site;
pub mod token;

pub use guard::{Doors, Grant, Keys, KeysError};
pub use running::{Adopt, Running, Stopping, ToolFigures, Vitals};
pub use site::{Mount, Rooms, Site};
