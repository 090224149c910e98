//! The server as its clients see it.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod api;
mod attack;
mod capabilities;
mod client;
mod compose;
#[cfg(target_os = "linux")]
mod daemon;
mod discovery;
mod doors;
mod gaps;
mod pages;
mod protocol;
mod replicas;
mod running;
mod stopping;
mod tracing;
