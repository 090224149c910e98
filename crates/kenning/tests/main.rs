//! The real program, as its users and clients see it: one test binary, because linking takes most of
//! the time that a test program costs.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod catalog;
mod cli;
mod docs;
mod install;
mod registry;
mod server;
