//! What must hold for any input.
//!
//! A trial takes bytes, does with them what an attacker would have done, and panics if something
//! came of it. `cargo xtask fuzz` looks for such bytes, from the seeds in `fuzz/`; `tests/seeds.rs`
//! tries those that are known.

#![expect(clippy::unwrap_used, reason = "a trial that cannot be set up must fail")]

#[path = "../../kenning/src/failure.rs"]
#[expect(dead_code, unreachable_pub, reason = "the program uses all of it; see `settings`")]
mod failure;
mod ingest;
mod markdown;
mod proxy;
mod settings;
mod shown;
mod template;
mod uri;

pub use ingest::ingest;
pub use markdown::markdown;
pub use proxy::proxy;
pub use settings::settings;
pub use shown::shown;
pub use template::template;
pub use uri::uri;

pub type Trial = fn(&[u8]);

/// All trials, by the names of their folders in `fuzz/seeds`.
pub const TRIALS: [(&str, Trial); 7] = [
    ("ingest", ingest),
    ("markdown", markdown),
    ("proxy", proxy),
    ("settings", settings),
    ("shown", shown),
    ("template", template),
    ("uri", uri),
];
