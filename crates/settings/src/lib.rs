//! The user's settings.
//!
//! From weak to strong: defaults, the user's file, the project's file, `KENNING_*` variables,
//! flags. [`layers`] merges them once and remembers where each value was set; [`typed`] gives the
//! result its types and checks it.
//!
//! **Invariant: a project's file reaches nothing outside of its project.** It comes with a clone,
//! so it can name neither a path outside, nor a store, nor an endpoint.
//!
//! The crate depends on no server, database or command line, so that fuzzing it builds quickly.

mod age;
mod error;
mod layers;
mod typed;

pub use age::parse_age;
pub use error::Error;
pub use layers::{DEFAULTS, Layers, Origin, Sources, env_name};
pub use typed::{LogFormat, LogLevel, Server, Settings, Transport};
