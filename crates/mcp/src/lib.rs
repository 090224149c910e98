//! Kenning over the Model Context Protocol.
//!
//! A [`Server`] answers one client from an [`AppState`](kenning_app::AppState); [`stdio`] and
//! [`http`] carry it. [`render`] turns operations, resources and prompts into the SDK's types;
//! [`notifications`] tells clients what changed; [`unreadable`] answers messages that are not JSON-RPC,
//! which [`lines`] reads from streams.
//!
//! This crate translates. What an answer says is decided behind the operations, in the domain
//! crates.

pub mod http;
mod lines;
mod notifications;
pub mod render;
mod server;
mod span;
pub mod stdio;
mod unreadable;

pub use notifications::{ChangeFeed, Changed};
pub use server::{Server, Transport, protocol};
