//! The server as an MCP client sees it.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod capabilities;
mod client;
mod discovery;
mod protocol;
