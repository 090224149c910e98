//! The catalog's operations, clients and name resolution, on the bundled data.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod answers;
mod clients;
mod resolution;
