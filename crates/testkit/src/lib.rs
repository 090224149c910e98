//! Parts for tests: a real `PostgreSQL` server of one's own, a language model that follows a script,
//! because there is no real one without a network, and files that appear whole.
//!
//! **Invariant: only tests, benchmarks and chores depend on this crate.** It panics when a part cannot be
//! had, because a test that is skipped in silence tests nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod binaries;
mod postgres;
mod scripted;

use std::path::Path;

pub use postgres::Postgres;
pub use scripted::Scripted;

/// Writes a file that is being watched, so that nobody ever sees it empty or in part.
pub fn write_at_once(path: &Path, text: &str) {
    let aside = path.with_extension("aside");
    std::fs::write(&aside, text).unwrap();
    std::fs::rename(aside, path).unwrap();
}
