//! The program under test and its clients. Everything here waits with a deadline.

mod client;
mod events;
mod project;
mod server;

use std::panic::Location;
use std::time::Duration;

pub(crate) use client::{
    Client, ResourceUpdates, call, call_when_indexed, connect, connect_as, connect_with,
    described_tools, modern, read_json, read_text,
};
pub(crate) use events::{batch, capability_request, event, now};
pub(crate) use kenning_testkit::DEADLINE;
pub(crate) use project::{Finished, Project, finished, handbook};
pub(crate) use server::{Answer, Server, http_client};

/// Awaits a future, and panics at the deadline with the place that waited.
#[track_caller]
pub(crate) fn within<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let place = Location::caller();
    async move {
        let Ok(output) = tokio::time::timeout(DEADLINE, future).await else {
            panic!("{place}: nothing came within {DEADLINE:?}");
        };
        output
    }
}

/// Asks until there is an answer, and panics after `deadline` with the place that waited.
#[track_caller]
pub(crate) fn eventually<T>(
    deadline: Duration,
    mut probe: impl AsyncFnMut() -> Option<T>,
) -> impl Future<Output = T> {
    let place = Location::caller();
    async move {
        let started = tokio::time::Instant::now();
        loop {
            if let Some(found) = probe().await {
                return found;
            }
            assert!(started.elapsed() < deadline, "{place}: not so within {deadline:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
