//! The real program as its clients see it: MCP on both transports, REST, pages, attacks and faults.

mod attack;
mod auth;
mod compose;
#[cfg(target_os = "linux")]
mod daemon;
mod discovery;
mod faults;
mod gaps;
mod load;
mod monitoring;
mod pages;
mod protocol;
mod rest;
mod self_description;
mod shutdown;
mod subscriptions;
mod support;
mod tracing;
mod vectors;
