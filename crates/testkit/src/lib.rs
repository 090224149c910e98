//! Fixtures for tests: a real `PostgreSQL` server, a language model that follows a script (a real one
//! needs a network), and files that are replaced atomically.
//!
//! **Invariant: only tests, benchmarks and `xtask` depend on this crate.** It panics when a fixture is
//! not available, because a test that is skipped silently tests nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod binaries;
mod postgres;
mod scripted;

use std::path::Path;

pub use postgres::Postgres;
pub use scripted::Scripted;

/// Replaces a file atomically, so that a watcher never reads it empty or incomplete.
pub fn write_at_once(path: &Path, text: &str) {
    let aside = path.with_extension("aside");
    std::fs::write(&aside, text).unwrap();
    std::fs::rename(aside, path).unwrap();
}
