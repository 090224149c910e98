//! The time from a request to the last byte of every page, over loopback, on a server with 10,000 nodes
//! and 100,000 recorded calls.
//!
//! Prints a line of JSON for each page. `PAGE_ROUNDS` sets how often each is requested.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up must fail")]

#[path = "page/synthetic.rs"]
mod synthetic;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use kenning_testkit::{DEADLINE, HttpProcess};
use reqwest::Client;
use serde_json::json;
use tempfile::TempDir;

const ROUNDS: usize = 200;
const WARM_UP: usize = 3;

fn main() {
    // `cargo test --all-targets` runs this as well, and takes minutes less without it.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let (root, home) = (folder.path().join("handbook"), folder.path().join("home"));
    synthetic::write(&root, &home.join(".local/share/kenning"));
    let server = start(&root, &home);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure(&server));
}

async fn measure(server: &HttpProcess) {
    let rounds = std::env::var("PAGE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    let rounds: usize = rounds.unwrap_or(ROUNDS);
    let client = Client::new();
    wait_until_indexed(server, &client).await;
    for page in pages(server, &client).await {
        let (mut times, mut bytes) = (Vec::new(), 0);
        for round in 0..WARM_UP + rounds {
            let started = Instant::now();
            bytes = get(server, &client, &page).await.len();
            if round >= WARM_UP {
                times.push(started.elapsed());
            }
        }
        times.sort();
        let at = |of: usize| milliseconds(times[(times.len() * of / 100).min(times.len() - 1)]);
        println!("{}", json!({"page": page, "p50_ms": at(50), "p99_ms": at(99), "bytes": bytes}));
    }
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e5).round() / 1e2
}

/// All pages, one of them about a gap from the recorded calls.
async fn pages(server: &HttpProcess, client: &Client) -> Vec<String> {
    let gaps = get(server, client, "/gaps").await;
    let gap = gaps.split("href=\"/gaps/").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let gap = format!("/gaps/{gap}");
    [
        "/",
        "/search?query=rotate+the+secret+key",
        "/search?task=write+a+runbook+for+a+canary+release&task_type=implement",
        "/node?id=doc7",
        "/catalog",
        "/registry",
        "/registry?query=deploy+to+kubernetes",
        "/gaps",
        "/gaps?status=all&project=shop&from=100",
        &gap,
        "/usage",
        "/usage?days=7",
        "/map",
        "/map?folder=handbook%2Fteam-3",
        "/map/version",
        "/compose",
        "/compose/artifact/agents-md?preview=yes",
        "/compose/content/gap-report",
        "/api",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn start(root: &Path, home: &Path) -> HttpProcess {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
    command.arg("--root").arg(root).args(["--log-level", "error", "serve"]);
    command.args(["--http", "127.0.0.1:0"]).env("HOME", home).current_dir(root);
    command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    HttpProcess::start(&mut command)
}

/// Until vectors are loaded: before that, searches do less.
async fn wait_until_indexed(server: &HttpProcess, client: &Client) {
    let indexed = async {
        while get(server, client, "/").await.contains("Vectors are being computed") {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(DEADLINE, indexed).await.expect("vectors are loaded within the deadline");
}

async fn get(server: &HttpProcess, client: &Client, page: &str) -> String {
    let answer = client.get(server.url(page)).send().await.unwrap();
    assert!(answer.status().is_success(), "{page}: {}", answer.status());
    answer.text().await.unwrap()
}
