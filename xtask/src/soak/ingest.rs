//! Somebody else's calls, sent as mcpeye's clients do: a batch that was not taken in is sent again.

use std::time::Duration;

use serde_json::{Value, json};

use super::Field;
use super::account::Kind;
use super::client::Http;
use super::shelf::Span;

const EVENTS: u64 = 20;
/// Every so many events are explicit requests for something that is missing.
const ASK_EVERY: u64 = 5;
const PAUSE: Duration = Duration::from_millis(150);

const WANTED: [&str; 4] = [
    "export a report as PDF",
    "undo the last change",
    "search in images",
    "translate to Icelandic",
];

pub(super) struct Sender {
    number: usize,
    servers: [Http; 2],
}

/// What was acknowledged of a project.
#[derive(Debug)]
pub(super) struct TakenIn {
    pub(super) project: String,
    pub(super) events: u64,
    /// Explicit requests among them.
    pub(super) asks: u64,
}

/// What became of a batch.
enum Sent {
    TakenIn,
    /// It is to be sent again.
    Later,
    /// It is noted as wrong, and the sender gives up.
    Wrong,
}

impl Sender {
    pub(super) fn new(number: usize, servers: [Http; 2]) -> Self {
        Self { number, servers }
    }

    fn project(&self) -> String {
        format!("soak-{}", self.number)
    }

    pub(super) fn send_all(mut self, field: &Field) -> TakenIn {
        let mut taken_in = TakenIn { project: self.project(), events: 0, asks: 0 };
        let mut attempt = 0;
        for number in 0.. {
            let batch = batch(self.number, number);
            // The last batch is seen through: a client does not throw away what it heard.
            loop {
                attempt += 1;
                match self.send(field, attempt, &batch) {
                    Sent::TakenIn => break,
                    Sent::Later => std::thread::sleep(PAUSE),
                    Sent::Wrong => return taken_in,
                }
            }
            taken_in.events += EVENTS;
            taken_in.asks += EVENTS / ASK_EVERY;
            self.list(field, attempt);
            if field.is_over() {
                break;
            }
            field.pause(PAUSE);
        }
        taken_in
    }

    fn send(&mut self, field: &Field, attempt: usize, batch: &Value) -> Sent {
        let from = field.now();
        let sent = self.servers[attempt % 2].request("POST", "/ingest", Some(batch));
        let span = Span { from, until: field.now() };
        match sent {
            Ok((200, answer)) if answer["accepted"] == EVENTS => {
                field.account.answered(Kind::Ingest, span, field.outages.cover(span));
                return Sent::TakenIn;
            }
            Ok((503, _)) if field.outages.touch(span) => {
                field.account.refused(Kind::Ingest, span);
                return Sent::Later;
            }
            Ok((status, answer)) => field.account.wrong(format!("ingest: {status} {answer}")),
            Err(error) => field.account.wrong(format!("ingest was not answered: {error:#}")),
        }
        Sent::Wrong
    }

    fn list(&mut self, field: &Field, attempt: usize) {
        let from = field.now();
        let path = format!("/api/v1/gaps?projectId={}", self.project());
        let listed = self.servers[attempt % 2].request("GET", &path, None);
        let span = Span { from, until: field.now() };
        match listed {
            Ok((200, answer)) if answer["gaps"].is_array() => {
                field.account.answered(Kind::Gaps, span, field.outages.cover(span));
            }
            Ok((500, answer))
                if answer["error"] == "DATABASE_ERROR" && field.outages.touch(span) =>
            {
                field.account.refused(Kind::Gaps, span);
            }
            Ok((status, answer)) => field.account.wrong(format!("gaps: {status} {answer}")),
            Err(error) => field.account.wrong(format!("gaps were not listed: {error:#}")),
        }
    }
}

fn batch(sender: usize, number: u64) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |now| u64::try_from(now.as_millis()).unwrap_or_default());
    let events = (0..EVENTS).map(|n| {
        let call_id = format!("{sender:08x}-0000-4000-8000-{number:08x}{n:04x}");
        let place = usize::try_from((number + n / ASK_EVERY) % WANTED.len() as u64);
        let (tool, arguments) = match n % ASK_EVERY {
            0 => {
                let wanted = WANTED[place.unwrap_or_default()];
                ("mcpeye_request_capability", json!({"capability": wanted}))
            }
            _ => ("list_orders", json!({"page": n})),
        };
        json!({"callId": call_id, "toolName": tool, "arguments": arguments, "isError": false,
            "timestamp": now, "durationMs": 3, "result": {"ok": true}})
    });
    let events: Vec<Value> = events.collect();
    json!({"projectId": format!("soak-{sender}"), "identity": {"userId": "ann"}, "events": events})
}
