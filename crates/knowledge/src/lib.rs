//! Markdown knowledge bases: what is known, found again.
//!
//! Text becomes a [`Document`] of sections ([`document`]); a [`Base`] is a folder of them
//! ([`base`]); the [`Library`] keeps all bases in step with their files ([`library`]) and hands
//! out [`Snapshot`]s, on which every question is answered: [`retrieve`], [`list`], [`search`],
//! [`discover`], [`dependencies`]. Vectors fill in behind ([`semantic`]). What answers drew on is
//! counted ([`usage`]); files are only ever added ([`add`]).
//!
//! Requests and answers are the product's contract: the same types stand behind the MCP tools,
//! the command line and anything else that asks.

pub mod add;
pub mod base;
mod blocks;
mod budget;
pub mod dependencies;
pub mod diagnostic;
pub mod discover;
pub mod document;
pub mod error;
pub mod evaluate;
mod ids;
mod keyword;
pub mod library;
pub mod list;
pub mod metadata;
pub mod node;
mod parse;
pub mod path;
mod proximity;
mod relevance;
pub mod retrieve;
pub mod search;
pub mod semantic;
pub mod snapshot;
mod suggest;
mod text;
pub mod usage;
mod vectors;
pub mod watch;

pub use base::Base;
pub use document::Document;
pub use error::Error;
pub use library::{Changes, Library};
pub use node::NodeRef;
pub use snapshot::Snapshot;
pub use text::count_tokens;
