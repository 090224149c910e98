//! Markdown knowledge bases: parsing, indexing, search and retrieval.
//!
//! A file is parsed into a [`Document`] of sections; a [`Base`] is a folder of files. The
//! [`Library`] keeps all bases in step with their files and hands out [`Snapshot`]s. A request runs
//! on one snapshot: [`retrieve`], [`list`], [`search`], [`discover`], [`dependencies`]. Embeddings are
//! computed in the background ([`semantic`]). [`usage`] counts the nodes in responses; [`add`] is
//! the only way to write a file.
//!
//! Request and response types are the contract of the product: the MCP tools, the REST API and the
//! command line use the same ones. This crate knows no protocol, no async, no SQL and no printing.

pub mod add;
pub mod base;
mod blocks;
mod boost;
mod budget;
mod copies;
pub mod dependencies;
pub mod diagnostic;
mod dialect;
pub mod discover;
pub mod document;
pub mod error;
pub mod evaluate;
mod ids;
mod keyword;
pub mod library;
pub mod links;
pub mod list;
mod merge;
pub mod metadata;
mod model;
pub mod node;
mod parse;
pub mod path;
mod proximity;
pub mod reading;
mod relevance;
pub mod retrieve;
pub mod role;
pub mod search;
pub mod semantic;
pub mod snapshot;
mod suggest;
mod survey;
mod text;
mod top_k;
pub mod usage;
mod vectors;
pub mod watch;

pub use base::Base;
pub use document::Document;
pub use error::Error;
pub use kenning_tokens::count_tokens;
pub use library::{Changes, Library};
pub use node::NodeRef;
pub use snapshot::Snapshot;
