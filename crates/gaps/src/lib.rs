//! What agents asked for and could not get, on any MCP server.
//!
//! The [`contract`] is what an agent sees: one reserved tool and one parameter (or a server's own,
//! [`native`]). What comes back is
//! [`redact`]ed and travels as an [`event`]. Events of one user within a while are a [`session`];
//! what was wanted in it are [`ask`]s; asks that mean the same are a [`group`]; a [`report`] ranks
//! them. A [`gap`] is a group with a life: it closes when the answer appears, often through a
//! [`proposal`]. What has to be remembered is said in [`ports`].
//!
//! Vectors are handed in. Nothing here knows a model, a protocol, a server or a database, and
//! nothing reads a clock.

pub mod ask;
pub mod contract;
pub mod event;
pub mod gap;
pub mod group;
pub mod native;
pub mod ports;
pub mod proposal;
pub mod redact;
pub mod render;
pub mod report;
pub mod session;
mod words;

pub use event::{Batch, Event, Identity};
pub use gap::Gap;
pub use proposal::Proposal;
pub use redact::Redactor;
pub use report::Report;
pub use session::Session;
