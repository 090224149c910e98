//! Holds what the server says of itself against what it does.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod compose;
mod contract;
mod drift;
mod errors;
mod fixture;
mod limits;
mod workspace;
