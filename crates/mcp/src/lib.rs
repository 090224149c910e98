//! Kenning over the Model Context Protocol.
//!
//! The [`Inventory`] is the one place where a tool, a resource family or a prompt is registered
//! ([`knowledge`], [`catalog`], [`registry`] and [`compose`] hold those of their rooms). A [`House`] is an
//! inventory and the [`Rooms`] behind it; [`capabilities`] describes it to clients, from what it
//! is. A [`Server`] answers a client from a house; [`stdio`] and [`http`] carry it.
//!
//! This crate translates. What the answers say is decided in the rooms.

pub mod capabilities;
pub mod catalog;
pub mod compose;
pub mod gaps;
mod gate;
pub mod generator;
mod house;
pub mod http;
pub mod inventory;
pub mod knowledge;
pub mod limit;
mod meter;
pub mod prompt;
pub mod registry;
pub mod resource;
pub mod rooms;
mod schema;
mod server;
mod session;
mod span;
pub mod stdio;
pub mod tool;

pub use house::House;
pub use inventory::{Inventory, Toolset};
pub use meter::ToolFigures;
pub use rooms::Rooms;
pub use server::{Server, Transport};
pub use session::{ChangeFeed, Changed};
