//! The batches of mcpeye's published Python SDK can be read.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use axum::http::StatusCode;
use kenning_gaps::event::IntentSource;
use kenning_gaps::{Batch, Event, Redactor, contract};
use serde_json::{Value, json};

use crate::sink::serve_ingest;
use crate::support;

const PACKAGES: [&str; 2] = ["mcp==1.30.0", "mcpeye==0.1.5"];

/// A Python with the SDK, installed once below `target/outside/mcpeye`.
fn python() -> PathBuf {
    let folder = support::root().join("target/outside/mcpeye");
    fs::create_dir_all(&folder).unwrap();
    // Of several processes, one installs and the others wait.
    let lock = File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let (python, stamp) = (folder.join("bin/python"), folder.join("installed"));
    let wanted = PACKAGES.join("\n");
    if !fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).status().unwrap();
        assert!(made.success(), "python3 could not make an environment");
        let mut pip = Command::new(&python);
        let installed = pip.args(["-m", "pip", "install", "--quiet"]).args(PACKAGES).status();
        assert!(installed.unwrap().success(), "pip could not install the SDK");
        fs::write(stamp, wanted).unwrap();
    }
    python
}

/// Runs the SDK against an ingest, and returns its own report and what arrived.
fn ship(calls: usize) -> (Value, Vec<Batch>) {
    let (url, bodies) = serve_ingest(StatusCode::OK, r#"{"accepted": 1}"#);
    let mut client = Command::new(python());
    client.arg(support::root().join("xtask/peers/mcpeye_client.py"));
    let output = kenning_testkit::output(client.args([&url, "hush", &calls.to_string()]));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}{}", String::from_utf8_lossy(&output.stdout));
    let report = serde_json::from_slice(&output.stdout).unwrap();
    let bodies = bodies.lock().unwrap();
    let batches = bodies.iter().map(|body| {
        let received = Batch::read(body).unwrap();
        assert_eq!(received.refused, []);
        received.batch
    });
    (report, batches.collect())
}

#[test]
fn every_kind_of_call_is_read_as_it_was_sent() {
    let (report, batches) = ship(8);
    let [batch] = &batches[..] else { panic!("one batch: {batches:?}") };
    assert_eq!(batch.project_id, report["project"].as_str().unwrap());
    let identity = json!({"userId": "static", "client": "pytest", "serverVersion": "7.1"});
    assert_eq!(json!(batch.identity), identity);
    let called: Vec<&str> = batch.events.iter().map(|event| event.tool_name.as_str()).collect();
    assert_eq!(json!(called), report["called"]);
    check_events(&batch.events);
    // The SDK has redacted it as we would.
    let again = batch.clone().redacted(&Redactor::default());
    assert_eq!(again.events[0], batch.events[0]);
}

fn check_events(events: &[Event]) {
    let intents: Vec<Option<&str>> = events.iter().map(|event| event.intent.as_deref()).collect();
    let chart = "looks for a size chart, but there is none";
    let (prices, till) = ("to compare prices across shops", "wanted to open the till");
    assert_eq!(intents, [Some(chart), None, Some(prices), Some(till), None, None, None, None]);
    let sources: Vec<_> = events.iter().filter_map(|event| event.intent_source).collect();
    assert_eq!(sources, [IntentSource::Mcpeye, IntentSource::Native, IntentSource::Mcpeye]);
    assert_eq!(events[0].arguments, json!({"text": "größe 🙂"}));
    assert_eq!(events[1].arguments, json!({"amount": 12.5, "password": "[REDACTED_FIELD]"}));
    assert!(events[3].is_error && events[3].result.is_none());
    let broken = events[3].error_message.as_deref().unwrap();
    assert_eq!(broken, "the till of [REDACTED_EMAIL] is broken");
    assert!(events[4].is_request());
    assert_eq!(events[4].arguments["capability"], "export as PDF");
    let acknowledged = events[4].result.as_ref().unwrap()["content"][0]["text"].clone();
    assert_eq!(acknowledged, contract::ACKNOWLEDGEMENT);
    assert_eq!(events[6].arguments["[truncated]"], true);
    assert!(events.iter().all(|event| event.user_id.as_deref() == Some("u-1")));
    assert!(events.iter().all(|event| event.user_email.as_deref() == Some("u@example.com")));
}

/// The SDK queues so many calls while it cannot ship them, and then ships them in one batch. It
/// would retry a refused batch for ever.
#[test]
fn a_full_queue_of_the_sdk_is_accepted_as_one_batch() {
    let (_, batches) = ship(10_000);
    let sizes: Vec<usize> = batches.iter().map(|batch| batch.events.len()).collect();
    assert_eq!(sizes, [10_000]);
}
