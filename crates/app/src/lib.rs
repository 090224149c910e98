//! Kenning's application layer: what can be asked of it, registered once.
//!
//! An [`Operation`] is one thing that can be asked: its name, request and response types, effect,
//! examples, errors and HTTP route, and the function behind it. [`knowledge`], [`catalog`],
//! [`registry`], [`gaps`] and [`compose`] register those of their domain crates, together with
//! resources, prompts and limits; the [`Inventory`] holds all of them.
//!
//! [`AppState`] is an inventory with the [`Services`] behind it. [`AppState::call`] runs an
//! operation: it parses the arguments, takes a permit from the [`Limiter`], runs the function off
//! the async threads, sanitises what leaves, measures it and hands the call to the
//! [`CallRecorder`]. [`capabilities`] describes a state to its clients.
//!
//! The adapters (`kenning-mcp`, `kenning-web`) render what is here and decide nothing.

mod call;
pub mod capabilities;
pub mod catalog;
pub mod compose;
mod fault;
pub mod gaps;
pub mod generator;
mod inventory;
pub mod knowledge;
mod limit;
mod limiter;
mod metrics;
mod operation;
mod prompt;
mod recording;
pub mod registry;
pub mod resource;
mod route;
mod schema;
mod services;
mod state;
mod toolset;

pub use call::{Answer, Call, CallError, Context, Progress, ProgressSender, Surface};
pub use fault::{CommonError, Fault, INVALID_ARGUMENT, OperationError, UNAVAILABLE};
pub use inventory::{Access, Inventory};
pub use limit::Limit;
pub use limiter::{Capacity, Limiter, Refused, Workload};
pub use metrics::OperationFigures;
pub use operation::{Effect, Example, JsonObject, Operation, Reach, Repeats, ToolText};
pub use prompt::{Argument, Prompt, PromptError};
pub use recording::{CallRecorder, RecordedCall, Tally};
pub use route::Route;
pub use services::Services;
pub use state::{AppState, Protocol, VERSION};
pub use toolset::{Toolset, UnknownToolset};
