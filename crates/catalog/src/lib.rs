//! The capabilities of coding agents.
//!
//! The data is in `data/`: [`data`] is its form, [`catalog`] reads it, [`mod@check`] validates it.
//! [`resolve`] finds the capability and the agent that a query means, by [`names`], [`lexical`]
//! similarity and [`meaning`]. [`lookup`], [`compare`], [`list`] and [`sources`] are the four
//! operations. [`clients`] is another table: how MCP clients are configured.
//!
//! **Invariant: every claim has a source, and "no" is not "unknown".** A claim that is not in the
//! data is `null`, never `false`.

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
