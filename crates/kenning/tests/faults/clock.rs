//! A clock that is wrong. Waiting and time limits go by a clock that cannot be set; what is written
//! down carries the time of day.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::support::{Place, Web};

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

/// Calls are named by UUIDs.
pub(crate) fn call_id(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

fn request(number: u64, at: u64) -> Value {
    json!({"callId": call_id(number), "toolName": "mcpeye_request_capability", "isError": false,
        "arguments": {"capability": "export as PDF"}, "timestamp": at, "durationMs": 1})
}

/// Events of clients whose clocks are years ahead, or at the beginning of time, are taken in and
/// heard like others: what they ask for is neither lost nor put off.
#[test]
fn clients_with_wrong_clocks_are_heard() {
    const YEAR: u64 = 365 * 24 * 60 * 60 * 1_000;
    let place = Place::new();
    let server = Web::start(&place);
    let events = [
        request(0, now()),
        request(1, now() + 30 * YEAR),
        request(2, now() + 200 * YEAR),
        request(3, now() - YEAR / 12),
    ];
    let batch = json!({"projectId": "shop", "identity": {}, "events": events});
    let (status, answer) = server.ask("POST", "/ingest", &batch).unwrap();
    assert_eq!((status, &answer["accepted"]), (200, &json!(4)), "{answer}");
    let heard = loop {
        let (status, listed) =
            server.ask("GET", "/api/v1/gaps?projectId=shop", &Value::Null).unwrap();
        assert_eq!(status, 200, "{listed}");
        if listed["gaps"][0]["asks"] == 4 {
            break listed;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    };
    let last = heard["gaps"][0]["lastAsked"].as_u64().unwrap();
    assert!(last < now() + YEAR, "nobody asks in the future: {heard}");
}
