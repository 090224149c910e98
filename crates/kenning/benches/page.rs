//! Every page of the real server, with 10,000 nodes and 100,000 calls that were heard: how long it
//! takes from asking to the last byte, over loopback.
//!
//! Prints a line of JSON for each page. `PAGE_ROUNDS` says how often each is asked.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up must fail")]

#[path = "page/made_up.rs"]
mod made_up;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::Client;
use serde_json::json;
use tempfile::TempDir;

const ROUNDS: usize = 200;
const WARM_UP: usize = 3;

fn main() {
    // Whoever runs all targets as tests has no minutes for this one.
    if !std::env::args().any(|word| word == "--bench") {
        return;
    }
    let folder = TempDir::new().unwrap();
    let (root, home) = (folder.path().join("handbook"), folder.path().join("home"));
    made_up::write(&root, &home.join(".local/share/kenning"));
    let server = Server::start(&root, &home);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure(&server));
}

async fn measure(server: &Server) {
    let rounds = std::env::var("PAGE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    let rounds: usize = rounds.unwrap_or(ROUNDS);
    let client = Client::new();
    server.wait_until_ready(&client).await;
    for page in pages(server, &client).await {
        let (mut times, mut bytes) = (Vec::new(), 0);
        for round in 0..WARM_UP + rounds {
            let started = Instant::now();
            bytes = server.get(&client, &page).await.len();
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

/// All views, with a gap that was really heard.
async fn pages(server: &Server, client: &Client) -> Vec<String> {
    let gaps = server.get(client, "/gaps").await;
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

/// The binary, as long as this value lives.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(root: &Path, home: &Path) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
        command.arg("--root").arg(root).args(["--log-level", "error", "serve"]);
        command.args(["--http", "127.0.0.1:0"]).env("HOME", home).current_dir(root);
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let page = lines.find_map(|line| Some(line.strip_prefix("Page  ")?.to_owned())).unwrap();
        std::thread::spawn(move || lines.for_each(|line| eprintln!("{line}")));
        Self { child, address: page.trim_end_matches('/').to_owned() }
    }

    /// Until vectors are read and what was heard is put away.
    async fn wait_until_ready(&self, client: &Client) {
        while self.get(client, "/").await.contains("Vectors are being computed") {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn get(&self, client: &Client, page: &str) -> String {
        let answer = client.get(format!("{}{page}", self.address)).send().await.unwrap();
        assert!(answer.status().is_success(), "{page}: {}", answer.status());
        answer.text().await.unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
