//! Clients whose clocks are wrong. Waiting and time limits use a monotonic clock; what is stored
//! carries the time of day.

use serde_json::{Value, json};

use super::pelicans;
use crate::server::support::{DEADLINE, batch, capability_request, eventually, now};

fn request_at(number: u64, timestamp: u64) -> Value {
    let mut request = capability_request(number, "export as PDF");
    request["timestamp"] = json!(timestamp);
    request
}

/// Events from the far future or past are stored and counted like others: no request is lost or
/// delayed.
#[tokio::test]
async fn events_of_clients_with_wrong_clocks_are_counted() {
    const YEAR: u64 = 365 * 24 * 60 * 60 * 1_000;
    let project = pelicans();
    let server = project.http(&[], &[]);
    let events = [
        request_at(0, now()),
        request_at(1, now() + 30 * YEAR),
        request_at(2, now() + 200 * YEAR),
        request_at(3, now() - YEAR / 12),
    ];
    let answer = server.post("/ingest", &batch("shop", &events)).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["accepted"]), (200, &json!(4)));
    let gap = eventually(DEADLINE, async || {
        let listed = server.get("/api/v1/gaps?projectId=shop").await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        let gap = listed.json()["gaps"][0].clone();
        (gap["asks"] == 4).then_some(gap)
    })
    .await;
    let last = gap["lastAsked"].as_u64().unwrap();
    assert!(last < now() + YEAR, "a time in the future counts as now: {gap}");
}
