//! What becomes of the program when something around it fails: it recovers by itself, or stops with
//! one clear sentence. docs/reliability.md lists every fault with its test.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod clock;
mod damaged;
mod database;
mod full;
mod killed;
mod readonly;
mod settings;
mod support;
mod watching;
mod wrapped;
