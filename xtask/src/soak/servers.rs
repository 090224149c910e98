//! The servers: two over HTTP and two on standard streams with one database, and one on standard
//! streams with a file of its own. The first on standard streams has the home of those over HTTP, and so
//! attaches to one of them.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::events::Sender;
use super::worker::{self, ExpectedSkills, NewestShown, Worker};
use super::{Options, SETTLE_LIMIT, Scenario, documents};
use crate::client::{Client, HttpClient, StdioClient};
use crate::process;
use crate::server::HttpServer;

const EXIT_LIMIT: Duration = Duration::from_secs(30);
const FIRST_AGENT: usize = 100;

pub(super) struct Servers {
    http: Vec<HttpServer>,
    /// Id and name of all processes, whose memory is watched.
    pub(super) processes: Vec<(u32, &'static str)>,
}

impl Servers {
    /// The servers with their clients: two for each over HTTP, one for each on standard streams. Every
    /// client writes to an agent of its own.
    pub(super) fn start(
        options: Options,
        folder: &Path,
        base: &Path,
        store: &str,
    ) -> Result<(Self, Vec<Worker>)> {
        let kenning = |home: &Path, store: Option<&str>| {
            let mut command = options.build.kenning(home);
            command.arg("--root").arg(base).args(["--log-level", "warn"]).current_dir(base);
            command.envs(store.map(|store| ("KENNING_STORE_URL", store)));
            command
        };
        let log = |name: &str| folder.join(format!("{name}.log"));
        let mut servers = Self { http: Vec::new(), processes: Vec::new() };
        for name in ["http server 0", "http server 1"] {
            let mut serve = kenning(folder, Some(store));
            serve.args(["serve", "--http", "127.0.0.1:0"]);
            let server = HttpServer::start(&mut serve, Some(&log(name)))?;
            servers.processes.push((server.pid(), name));
            servers.http.push(server);
        }
        let catalog = servers.connect(0)?.call("lookup_capability", &worker::lookup())?.ok()?;
        let worker = |client, peer, newest_shown, agent_id| {
            let (catalog, skills) = (catalog.clone(), ExpectedSkills::new(agent_id));
            Worker { client, peer, newest_shown, catalog, skills }
        };
        let mut workers = Vec::new();
        for number in 0..2 {
            let newest_shown = nothing_shown();
            for client in 0..2 {
                let agent_id = servers.add_agent(2 * number + client)?;
                let (own, peer) = (servers.connect(number)?, servers.connect(number + 1)?);
                workers.push(worker(Client::Http(own), Some(peer), newest_shown.clone(), agent_id));
            }
        }
        let stdio = [
            ("stdio client of a shared server", folder.to_path_buf(), Some(store)),
            ("stdio server 1", folder.join("home1"), Some(store)),
            ("stdio server 2 with a file", folder.join("home2"), None),
        ];
        for (number, (name, home, store)) in stdio.into_iter().enumerate() {
            fs::create_dir_all(&home)?;
            let agent_id = servers.add_agent(4 + number)?;
            let peer = store.map(|_| servers.connect(number)).transpose()?;
            if peer.is_none() {
                let mut add = kenning(&home, None);
                add.args(["agents", "add", "alone", "--id", &agent_id.to_string()]);
                ensure!(add.stdout(Stdio::null()).status()?.success(), "no agent could be added");
            }
            let mut serve = kenning(&home, store);
            serve.arg("serve").stderr(File::create(log(name))?);
            let client = StdioClient::start(&mut serve, options.length + 3 * SETTLE_LIMIT)?;
            servers.processes.push((client.pid(), name));
            workers.push(worker(Client::Stdio(client), peer, nothing_shown(), agent_id));
        }
        Ok((servers, workers))
    }

    pub(super) fn senders(&self) -> Result<Vec<Sender>> {
        let sender =
            |number| Ok(Sender::new(number, [self.connect(number)?, self.connect(number + 1)?]));
        (0..2).map(sender).collect()
    }

    /// A connection to one of the servers over HTTP, which are counted in turns.
    pub(super) fn connect(&self, number: usize) -> Result<HttpClient> {
        HttpClient::open(&self.http[number % self.http.len()].address, None)
    }

    fn add_agent(&self, number: usize) -> Result<usize> {
        let agent_id = FIRST_AGENT + number;
        let agent = json!({"name": format!("agent-{agent_id}"), "id": agent_id});
        let (status, body) = self.connect(0)?.request("POST", "/api/v1/agents", Some(&agent))?;
        ensure!(status == 201, "agent {agent_id} could not be added: {status} {body}");
        Ok(agent_id)
    }

    /// Every server must end with exit code 0: over HTTP when it is told to, on standard streams at the
    /// end of its input.
    pub(super) fn stop(self, scenario: &Scenario, workers: Vec<Worker>) {
        for mut server in self.http {
            let status = process::terminate(server.pid()).and_then(|()| server.wait(EXIT_LIMIT));
            let ended = status.and_then(|status| {
                ensure!(status.success(), "it ended with {status}");
                Ok(())
            });
            scenario.check(ended.context("a server over HTTP did not end"));
        }
        for worker in workers {
            if let Client::Stdio(client) = worker.client {
                scenario.check(client.close().context("a server on standard streams did not end"));
            }
        }
    }
}

fn nothing_shown() -> NewestShown {
    Arc::new((0..documents::COUNT).map(|_| AtomicU32::new(0)).collect())
}
