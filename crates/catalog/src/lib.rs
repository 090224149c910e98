//! What coding agents can do, answered in one call.
//!
//! The data is in `data/`: [`data`] is its form, [`catalog`] reads it, [`mod@check`] looks for what
//! is wrong with it. [`resolve`] finds the capability and the agent that somebody means, by
//! [`names`], [`lexical`] likeness and [`meaning`]. [`lookup`], [`compare`], [`list`] and
//! [`sources`] are the four questions that can be asked. [`clients`] is another table: how to give an
//! MCP server to the programs that use one.

pub mod catalog;
pub mod check;
pub mod clients;
pub mod compare;
pub mod data;
pub mod error;
mod lexical;
pub mod list;
pub mod lookup;
pub mod meaning;
mod names;
pub mod resolve;
pub mod sources;

pub use catalog::Catalog;
pub use error::Error;
