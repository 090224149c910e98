//! The server as its clients see it.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod api;
mod attack;
mod capabilities;
mod client;
mod compose;
mod discovery;
mod doors;
mod gaps;
mod pages;
mod protocol;
mod replicas;
