//! Events as other servers report them to `/ingest`.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

/// A call that was made now. The number identifies it: the same number is the same call.
pub(crate) fn event(number: u64, tool: &str, arguments: &Value) -> Value {
    json!({
        "callId": format!("00000000-0000-4000-8000-{number:012x}"),
        "toolName": tool, "arguments": arguments, "isError": false,
        "timestamp": now(), "durationMs": 1.5,
    })
}

/// An agent's request for a capability that it misses.
pub(crate) fn capability_request(number: u64, capability: &str) -> Value {
    event(number, "mcpeye_request_capability", &json!({ "capability": capability }))
}

pub(crate) fn batch(project: &str, events: &[Value]) -> Value {
    json!({"projectId": project, "identity": {}, "events": events})
}
