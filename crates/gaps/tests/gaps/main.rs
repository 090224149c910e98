//! Tests of the gaps crate without a store; `kenning-store` tests the same through one.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

mod contract;
mod events;
mod forget;
mod gap;
mod grouping;
mod ordinary_text;
mod proposals;
mod redact;
mod report;
mod secrets;

use std::sync::LazyLock;

use kenning_embed::Embedder;
use kenning_gaps::session::Recorded;
use kenning_gaps::{Event, Identity};
use serde_json::json;

static MODEL: LazyLock<Embedder> = LazyLock::new(|| Embedder::bundled().unwrap());

fn embed(text: &str) -> Option<Vec<f32>> {
    MODEL.embed(text).ok()
}

fn words_only(_: &str) -> Option<Vec<f32>> {
    None
}

/// A successful call, so many milliseconds after an arbitrary time.
fn call(number: u64, tool: &str) -> Event {
    Event {
        call_id: format!("00000000-0000-4000-8000-{number:012}"),
        tool_name: tool.to_owned(),
        arguments: json!({}),
        is_error: false,
        timestamp: 1_000 + number,
        duration_ms: 1,
        result: Some(json!({})),
        error_message: None,
        intent: None,
        intent_source: None,
        user_id: None,
        user_email: None,
        missed: None,
    }
}

fn request(number: u64, capability: &str) -> Event {
    Event {
        arguments: json!({"capability": capability}),
        ..call(number, "mcpeye_request_capability")
    }
}

fn failed(number: u64, tool: &str, error: &str, intent: Option<&str>) -> Event {
    Event {
        is_error: true,
        result: None,
        error_message: Some(error.to_owned()),
        intent: intent.map(str::to_owned),
        ..call(number, tool)
    }
}

fn missed(number: u64, query: &str) -> Event {
    Event { missed: Some(query.to_owned()), ..call(number, "discover_context") }
}

fn by(user: &str, events: Vec<Event>) -> Vec<Recorded> {
    let identity = Identity { user_id: Some(user.to_owned()), ..Identity::default() };
    let recorded =
        |event| Recorded { project_id: "shop".into(), identity: identity.clone(), event };
    events.into_iter().map(recorded).collect()
}
