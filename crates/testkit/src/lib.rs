//! Real parts for tests: a `PostgreSQL` server of one's own.
//!
//! **Invariant: only tests and benchmarks depend on this crate.** It panics when a part cannot be
//! had, because a test that is skipped in silence tests nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod binaries;
mod postgres;

pub use postgres::Postgres;
