//! Parts for tests: a real `PostgreSQL` server of one's own, and a language model that follows a
//! script, because there is no real one without a network.
//!
//! **Invariant: only tests, benchmarks and chores depend on this crate.** It panics when a part cannot be
//! had, because a test that is skipped in silence tests nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod binaries;
mod postgres;
mod scripted;

pub use postgres::Postgres;
pub use scripted::Scripted;
