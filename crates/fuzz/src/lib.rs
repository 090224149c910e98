//! What must hold for any input.
//!
//! A fuzz target takes bytes, uses them as an attacker would, and panics if that did harm.
//! `cargo xtask fuzz` searches for such bytes, starting from the seeds in `fuzz/`; `tests/seeds.rs`
//! runs the seeds themselves with every run of the tests.

#![expect(clippy::unwrap_used, reason = "a target that cannot be set up must fail")]

mod ingest;
mod markdown;
mod proxy;
mod sanitize;
mod settings;
mod template;
mod uri;

pub type Target = fn(&[u8]);

/// All targets, by the names of their folders in `fuzz/seeds`.
pub const TARGETS: [(&str, Target); 7] = [
    ("ingest", ingest::ingest),
    ("markdown", markdown::markdown),
    ("proxy", proxy::proxy),
    ("sanitize", sanitize::sanitized),
    ("settings", settings::settings),
    ("template", template::template),
    ("uri", uri::uri),
];

/// Separates the parts of an input that has several.
const SEPARATOR: u8 = 0;
/// Stands in files outside of what a target may read.
const SECRET: &str = "content of a file outside";
