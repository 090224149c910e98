//! The servers: two over HTTP and two over standard streams on one database, and one over standard
//! streams with a file of its own. The first over standard streams has the same home as those over
//! HTTP, and shares one of them; the others have homes of their own.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::account::Account;
use super::client::{self, Client, Http};
use super::ingest::Sender;
use super::shelf::SLOTS;
use super::worker::{Store, Worker};

/// How long a server may take to end after it was told to.
const ENDING: Duration = Duration::from_secs(30);
/// Clients of each server over HTTP.
const CLIENTS: usize = 2;

/// A process to watch.
#[derive(Debug, Clone)]
pub(super) struct Process {
    pub(super) id: u32,
    pub(super) name: String,
}

pub(super) struct Fleet {
    program: PathBuf,
    home: PathBuf,
    web: Vec<Web>,
    streams: Vec<Streams>,
}

/// The newest version of each document that a server has shown: it must not go back.
pub(super) type Shown = Arc<Vec<AtomicU32>>;

struct Web {
    child: Child,
    address: String,
    shown: Shown,
}

struct Streams {
    child: Child,
    store: Store,
    session: Option<client::Stdio>,
}

fn nothing_shown() -> Shown {
    Arc::new((0..SLOTS).map(|_| AtomicU32::new(0)).collect())
}

impl Fleet {
    pub(super) fn start(program: &Path, home: &Path, base: &Path, store: &str) -> Result<Self> {
        ensure!(program.exists(), "{} is not built", program.display());
        let mut fleet = Self {
            program: program.to_path_buf(),
            home: home.to_path_buf(),
            web: Vec::new(),
            streams: Vec::new(),
        };
        for number in 0..2 {
            let web = fleet.start_web(base, store, number)?;
            fleet.web.push(web);
        }
        for (number, store) in [Some(store), Some(store), None].into_iter().enumerate() {
            let streams = fleet.start_streams(base, store, number)?;
            fleet.streams.push(streams);
        }
        Ok(fleet)
    }

    /// The program with a home of its own.
    fn kenning(&self, home: &Path, base: &Path, store: Option<&str>) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--root").arg(base).args(["--log-level", "warn"]).current_dir(base);
        command.env("HOME", home);
        command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
        command.env_remove("KENNING_STORE_URL");
        if let Some(store) = store {
            command.env("KENNING_STORE_URL", store);
        }
        command
    }

    fn start_web(&self, base: &Path, store: &str, number: usize) -> Result<Web> {
        let mut command = self.kenning(&self.home, base, Some(store));
        command.args(["serve", "--http", "127.0.0.1:0"]).stdin(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().context("a server")?;
        let stderr = child.stderr.take().context("its messages are piped")?;
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let mut said = Vec::new();
        let page = lines.find_map(|line| {
            let page = line.strip_prefix("Page  http://").map(str::to_owned);
            said.push(line);
            page
        });
        let mut log = File::create(self.home.join(format!("http{number}.log")))?;
        // Whoever logs must not wait for somebody to read it.
        std::thread::spawn(move || {
            for line in lines {
                let _ = writeln!(log, "{line}");
            }
        });
        let page = page.with_context(|| format!("no server: {}", said.join("\n")))?;
        let address = page.trim_end_matches('/').to_owned();
        Ok(Web { child, address, shown: nothing_shown() })
    }

    fn start_streams(&self, base: &Path, store: Option<&str>, number: usize) -> Result<Streams> {
        let home = match number {
            0 => self.home.clone(),
            _ => self.home.join(format!("home{number}")),
        };
        std::fs::create_dir_all(&home)?;
        if store.is_none() {
            let mut add = self.kenning(&home, base, None);
            add.args(["agents", "add", "alone", "--id", &agent(9).to_string()]);
            ensure!(add.stdout(Stdio::null()).status()?.success(), "no agent could be added");
        }
        let log = File::create(self.home.join(format!("stdio{number}.log")))?;
        let mut command = self.kenning(&home, base, store);
        command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().context("a server")?;
        let input = child.stdin.take().context("its input is piped")?;
        let output = child.stdout.take().context("its output is piped")?;
        let session = Some(client::Stdio::open(input, output)?);
        let store = if store.is_some() { Store::Shared } else { Store::Own };
        Ok(Streams { child, store, session })
    }

    /// One for every client, each with an agent of its own to write to.
    pub(super) fn workers(&mut self) -> Result<Vec<Worker>> {
        let mut workers = Vec::new();
        let reference = self.reference()?;
        for (number, web) in self.web.iter().enumerate() {
            let other = &self.web[1 - number].address;
            for client in 0..CLIENTS {
                let agent_id = agent(number * CLIENTS + client);
                self.add(agent_id)?;
                let own = Client::Http(Http::open(&web.address)?);
                let peer = Some(Client::Http(Http::open(other)?));
                let (shown, reference) = (web.shown.clone(), reference.clone());
                workers.push(Worker {
                    own,
                    peer,
                    store: Store::Shared,
                    agent_id,
                    shown,
                    reference,
                });
            }
        }
        for (number, streams) in self.streams.iter_mut().enumerate() {
            let own = Client::Stdio(streams.session.take().context("it has one client")?);
            let (agent_id, peer) = match streams.store {
                Store::Own => (agent(9), None),
                Store::Shared => {
                    let peer = Http::open(&self.web[number % 2].address)?;
                    (agent(5 + number), Some(Client::Http(peer)))
                }
            };
            let (store, reference) = (streams.store, reference.clone());
            workers.push(Worker { own, peer, store, agent_id, shown: nothing_shown(), reference });
        }
        for number in 0..2 {
            self.add(agent(5 + number))?;
        }
        Ok(workers)
    }

    pub(super) fn senders(&self) -> Result<Vec<Sender>> {
        let sender = |number: usize| {
            let open = |number: usize| Http::open(&self.web[number % 2].address);
            Ok(Sender::new(number, [open(number)?, open(number + 1)?]))
        };
        (0..2).map(sender).collect()
    }

    fn add(&self, agent_id: usize) -> Result<()> {
        let mut http = self.any()?;
        let agent = json!({"name": format!("agent-{agent_id}"), "id": agent_id});
        let (status, body) = http.request("POST", "/api/v1/agents", Some(&agent))?;
        ensure!(status == 201, "no agent could be added: {status} {body}");
        Ok(())
    }

    /// What every server must say about the catalog at any time.
    fn reference(&self) -> Result<Value> {
        let mut client = Client::Http(self.any()?);
        match client.call("lookup_capability", &super::worker::lookup())? {
            client::Answer::Given(value) => Ok(value),
            client::Answer::Refused(code, text) => anyhow::bail!("{code}: {text}"),
        }
    }

    /// A connection to the first server.
    pub(super) fn any(&self) -> Result<Http> {
        Http::open(&self.web[0].address)
    }

    /// A connection to every server over HTTP.
    pub(super) fn each(&self) -> Result<Vec<Http>> {
        self.web.iter().map(|web| Http::open(&web.address)).collect()
    }

    pub(super) fn processes(&self) -> Vec<Process> {
        let web = self.web.iter().enumerate();
        let web =
            web.map(|(i, web)| Process { id: web.child.id(), name: format!("http server {i}") });
        let streams = self.streams.iter().enumerate().map(|(i, streams)| {
            let name = match (i, streams.store) {
                (_, Store::Own) => format!("stdio server {i} with a file"),
                (0, Store::Shared) => "stdio client of a shared server".to_owned(),
                (_, Store::Shared) => format!("stdio server {i}"),
            };
            Process { id: streams.child.id(), name }
        });
        web.chain(streams).collect()
    }

    /// Tells every server to end, and sees that it does: those over standard streams by the end of
    /// their input, which has come with the end of their client.
    pub(super) fn end(&mut self, account: &Account) {
        for web in &self.web {
            let _ = Command::new("kill").args(["-TERM", &web.child.id().to_string()]).status();
        }
        let web = self.web.iter_mut().map(|web| &mut web.child);
        let streams = self.streams.iter_mut().map(|streams| &mut streams.child);
        for child in web.chain(streams) {
            if let Err(error) = ended(child) {
                account.wrong(format!("a server did not end: {error}"));
            }
        }
    }
}

fn ended(child: &mut Child) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < ENDING {
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "{status}");
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill()?;
    child.wait()?;
    anyhow::bail!("it was still there after {ENDING:?}")
}

/// Whatever happens to us, no server stays behind.
impl Drop for Fleet {
    fn drop(&mut self) {
        let web = self.web.iter_mut().map(|web| &mut web.child);
        for child in web.chain(self.streams.iter_mut().map(|streams| &mut streams.child)) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn agent(number: usize) -> usize {
    100 + number
}
