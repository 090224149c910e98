//! What must hold for any input.
//!
//! A fuzz target takes bytes, does with them what an attacker would have done, and panics if something
//! came of it. `cargo xtask fuzz` looks for such bytes, from the seeds in `fuzz/`; `tests/seeds.rs`
//! tries those that are known.

#![expect(clippy::unwrap_used, reason = "a target that cannot be set up must fail")]

#[path = "../../kenning/src/failure.rs"]
#[expect(dead_code, unreachable_pub, reason = "the program uses all of it; see `settings`")]
mod failure;
mod ingest;
mod markdown;
mod proxy;
mod sanitize;
mod settings;
mod template;
mod uri;

pub use ingest::ingest;
pub use markdown::markdown;
pub use proxy::proxy;
pub use sanitize::sanitized;
pub use settings::settings;
pub use template::template;
pub use uri::uri;

pub type Target = fn(&[u8]);

/// All targets, by the names of their folders in `fuzz/seeds`.
pub const TARGETS: [(&str, Target); 7] = [
    ("ingest", ingest),
    ("markdown", markdown),
    ("proxy", proxy),
    ("settings", settings),
    ("sanitize", sanitized),
    ("template", template),
    ("uri", uri),
];
