//! What the server says of itself, held against what it does.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod compose;
mod contract;
mod drift;
mod errors;
mod limits;
mod site;
mod workspace;
