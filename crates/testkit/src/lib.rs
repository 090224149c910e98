//! Test support: a private `PostgreSQL` server, a language model that follows a script (there is no
//! real one without a network), child processes, waiting with a deadline, and atomic file writes.
//!
//! **Invariant: only tests, benchmarks and xtask depend on this crate.** It panics when a part is not
//! available, because a test that is skipped silently tests nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod binaries;
pub mod jsonrpc;
mod postgres;
mod process;
mod scripted;
mod wait;

use std::path::Path;

pub use postgres::Postgres;
pub use process::{HttpProcess, LineProcess};
pub use scripted::{Request, Scripted};
pub use wait::{DEADLINE, DeadlineReader, eventually, finish, output, wait};

/// Replaces a file in one step, so that a watcher never reads it empty or in part.
pub fn write_at_once(path: &Path, text: &str) {
    let aside = path.with_extension("aside");
    std::fs::write(&aside, text).unwrap();
    std::fs::rename(aside, path).unwrap();
}
