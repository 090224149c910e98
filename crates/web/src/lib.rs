//! Kenning over HTTP, besides MCP.
//!
//! [`rest`] serves the operations of `kenning-app`, [`openapi`] documents them. [`pages`] are HTML
//! for people. [`ingest`] takes events that were recorded elsewhere. [`auth`] checks every request,
//! by [`token`] wherever the server is not on a loopback address; [`login_throttle`] slows down
//! clients that guess tokens, and [`connections`] bounds what clients
//! hold open. [`monitoring`] is health, metrics, traces and shutdown. Errors outside
//! of an operation's contract are a [`problem`].
//!
//! This crate translates. What an answer says is decided behind the operations, in the domain
//! crates.

mod auth;
mod body;
mod connections;
mod ingest;
mod login_throttle;
mod monitoring;
mod openapi;
mod pages;
mod problem;
mod rest;
mod site;
pub mod token;

pub use auth::{AccessPolicy, Grant, TokenStore, TokenStoreError};
pub use connections::ConnectionLimits;
pub use monitoring::{AdoptTrace, Health, Monitoring, Shutdown, StoreHealth};
pub use site::{Mount, Site};
