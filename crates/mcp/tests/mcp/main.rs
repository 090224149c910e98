//! The definitions that clients see, and the server's self-description compared with what it does.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod compose;
mod contract;
mod drift;
mod errors;
mod fixture;
mod inventory;
mod limits;
mod workspace;
