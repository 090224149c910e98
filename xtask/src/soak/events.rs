//! Reports calls to `/ingest` as mcpeye's clients do: a batch that was refused is sent again.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use kenning_testkit::Postgres;
use serde_json::{Value, json};

use super::{SETTLE_LIMIT, Scenario};
use crate::client::HttpClient;

const BATCH: u64 = 20;
/// One of so many events is an explicit request for a missing capability.
const REQUEST_EVERY: u64 = 5;
const PAUSE: Duration = Duration::from_millis(150);
const MISSING: [&str; 4] = [
    "export a report as PDF",
    "undo the last change",
    "search in images",
    "translate to Icelandic",
];

/// A client with a project of its own.
pub(super) struct Sender {
    number: usize,
    project: String,
    /// Connections to both servers, used in turns.
    servers: [HttpClient; 2],
    requests: usize,
    acknowledged_batches: u64,
}

impl Sender {
    pub(super) fn new(number: usize, servers: [HttpClient; 2]) -> Self {
        let project = format!("soak-{number}");
        Self { number, project, servers, requests: 0, acknowledged_batches: 0 }
    }

    /// The last batch is repeated until it is acknowledged, even after the end of the run.
    pub(super) fn send_until_finished(&mut self, scenario: &Scenario) -> Result<()> {
        let gaps = format!("/api/v1/gaps?projectId={}", self.project);
        while !scenario.is_finished() {
            let batch = self.batch();
            while !self.request(scenario, "ingest", "/ingest", Some(&batch))? {
                thread::sleep(PAUSE);
            }
            self.acknowledged_batches += 1;
            self.request(scenario, "gaps", &gaps, None)?;
            scenario.pause(PAUSE);
        }
        Ok(())
    }

    /// Whether it was answered; the alternative is a refusal because the database is away.
    fn request(
        &mut self,
        scenario: &Scenario,
        name: &'static str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<bool> {
        self.requests += 1;
        // Two requests for each batch: the servers alternate by batch.
        let server = &mut self.servers[self.requests / 2 % 2];
        let method = if body.is_some() { "POST" } else { "GET" };
        let (response, interval) = scenario.timed(|| server.request(method, path, body));
        let (status, answer) = response.with_context(|| format!("{name} was not answered"))?;
        if status == 200 && (answer["accepted"] == BATCH || answer["gaps"].is_array()) {
            scenario.answered(name, interval);
            return Ok(true);
        }
        let is_refusal = match name {
            "ingest" => status == 503,
            _ => status == 500 && answer["error"] == "DATABASE_ERROR",
        };
        ensure!(is_refusal && scenario.outages.touch(interval), "{name}: {status} {answer}");
        scenario.record(|measurements| measurements.refused(name, interval));
        Ok(false)
    }

    fn batch(&self) -> Value {
        let batch = self.acknowledged_batches;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis());
        let now = u64::try_from(now).unwrap_or_default();
        let events = (0..BATCH).map(|n| {
            let call_id = format!("{:08x}-0000-4000-8000-{batch:08x}{n:04x}", self.number);
            let (tool, arguments) = if n % REQUEST_EVERY == 0 {
                let place = usize::try_from(batch + n / REQUEST_EVERY).unwrap_or_default();
                let missing = MISSING[place % MISSING.len()];
                ("mcpeye_request_capability", json!({"capability": missing}))
            } else {
                ("list_orders", json!({"page": n}))
            };
            json!({"callId": call_id, "toolName": tool, "arguments": arguments, "isError": false,
                "timestamp": now, "durationMs": 3, "result": {"ok": true}})
        });
        let events: Vec<Value> = events.collect();
        json!({"projectId": self.project, "identity": {"userId": "ann"}, "events": events})
    }

    /// Every acknowledged event is stored once, and every explicit request among them counted once.
    pub(super) fn verify(
        &mut self,
        scenario: &Scenario,
        postgres: &Postgres,
        store: &str,
    ) -> Result<()> {
        let project = &self.project;
        let count = |table: &str| {
            let query = format!("SELECT count(*) FROM {table} WHERE project_id = '{project}'");
            postgres.query(store, &query)
        };
        let (events, stored) = (self.acknowledged_batches * BATCH, count("events"));
        ensure!(stored == events.to_string(), "{project}: {events} events sent, {stored} stored");
        let began = Instant::now();
        while count("waiting") != "0" && began.elapsed() < SETTLE_LIMIT {
            thread::sleep(Duration::from_millis(100));
        }
        let path = format!("/api/v1/gaps?projectId={project}&status=all");
        let (status, answer) = self.servers[0].request("GET", &path, None)?;
        let gaps =
            answer["gaps"].as_array().with_context(|| format!("{path}: {status} {answer}"))?;
        let counted: u64 = gaps.iter().filter_map(|gap| gap["requests"].as_u64()).sum();
        let requests = events / REQUEST_EVERY;
        ensure!(counted == requests, "{project}: {requests} requests sent, {counted} counted");
        scenario.record(|measurements| {
            measurements.verified("events stored, each once", events);
            measurements.verified("explicit requests counted, each once", requests);
        });
        Ok(())
    }
}
