//! Real servers, a real database and the balancer of `deploy/`, without containers.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kenning_testkit::Postgres;
use serde_json::{Value, json};

use crate::bench::cpu::{self, Used};
use crate::bench::protocol::{Serving, free_port};
use crate::outside;
use crate::run::{read, resident_kb, root};

/// Agents of the team, each with so many skills.
pub(super) const AGENTS: usize = 100;
pub(super) const SKILLS: usize = 20;

/// How servers are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One process with a file, asked directly and without a token.
    File,
    /// So many processes on one database behind the balancer, asked with a token.
    Shared(usize),
}

impl Form {
    pub(super) fn name(self) -> String {
        match self {
            Self::File => "SQLite, 1 process".to_owned(),
            Self::Shared(1) => "PostgreSQL, 1 replica".to_owned(),
            Self::Shared(replicas) => format!("PostgreSQL, {replicas} replicas"),
        }
    }

    pub(super) fn replicas(self) -> usize {
        match self {
            Self::File => 1,
            Self::Shared(replicas) => replicas,
        }
    }
}

/// All of it runs as long as this value lives.
pub(super) struct Rig {
    // In this order they end.
    balancer: Option<Balancer>,
    replicas: Vec<Serving>,
    database: Option<Postgres>,
    store: Option<String>,
    pub(super) token: Option<String>,
}

impl Rig {
    pub(super) fn start(form: Form, folder: &Path) -> Result<Self> {
        let database = match form {
            Form::File => None,
            // Its own settings, but for a clock that tells how long the disk takes.
            Form::Shared(_) => Some(Postgres::start(&["track_wal_io_timing=on"])),
        };
        let store = database.as_ref().map(Postgres::database);
        let home = folder.join(form.name());
        let token = match &store {
            Some(store) => {
                let mut create = kenning(&home, Some(store));
                create.args(["token", "create", "team", "--scope", "write"]);
                Some(read(&mut create)?.trim().to_owned())
            }
            None => None,
        };
        let mut replicas = Vec::new();
        for _ in 0..form.replicas() {
            let mut serve = kenning(&home, store.as_deref());
            serve.args(["serve", "--http", "127.0.0.1:0"]);
            replicas.push(Serving::start(&mut serve, None)?);
        }
        let mut rig = Self { balancer: None, replicas, database, store, token };
        rig.wait_for_vectors()?;
        if rig.database.is_some() {
            rig.balancer = Some(Balancer::start(&rig.replicas, folder)?);
        }
        rig.fill()?;
        Ok(rig)
    }

    /// One of the replicas, which goes on as long as the caller has it.
    pub(super) fn take_replica(&mut self) -> Option<Serving> {
        self.replicas.pop()
    }

    /// Where clients call.
    pub(super) fn url(&self) -> String {
        match &self.balancer {
            Some(balancer) => format!("http://{}/mcp", balancer.address),
            None => self.replicas[0].url.clone(),
        }
    }

    pub(super) fn used(&self) -> Result<Used> {
        let mut used = Used { client: cpu::of_the_ended()?, ..Used::default() };
        for replica in &self.replicas {
            used.replicas += cpu::of(replica.child.id())?;
        }
        if let Some(database) = &self.database {
            let id = fs::read_to_string(database.folder().join("pid"))?;
            used.database = cpu::of_family(id.trim().parse()?)?;
        }
        if let Some(balancer) = &self.balancer {
            used.balancer = cpu::of(balancer.child.id())?;
        }
        used.machine = cpu::of_machine()?;
        Ok(used)
    }

    /// How often the database has waited for its log to be on the disk, and for how many seconds.
    pub(super) fn flushed(&self) -> Option<(f64, f64)> {
        let (database, store) = (self.database.as_ref()?, self.store.as_ref()?);
        let query = "SELECT sum(fsyncs), sum(fsync_time) FROM pg_stat_io WHERE object = 'wal'";
        let told = database.query(store, query);
        let (times, milliseconds) = told.split_once('|')?;
        Some((times.parse().ok()?, milliseconds.parse::<f64>().ok()? / 1e3))
    }

    /// Of all replicas together, in MB.
    pub(super) fn memory_mb(&self) -> f64 {
        let kb = self.replicas.iter().filter_map(|replica| resident_kb(replica.child.id()));
        kb.sum::<u64>() as f64 / 1024.0
    }

    /// A figure of all replicas together.
    pub(super) fn metric(&self, name: &str) -> Result<f64> {
        let mut sum = 0.0;
        for replica in &self.replicas {
            let page = ask(address(&replica.url), "GET", "/metrics", self.token.as_deref(), None)?;
            let lines = page.lines().filter(|line| {
                let rest = line.strip_prefix(name);
                rest.is_some_and(|rest| rest.starts_with([' ', '{']))
            });
            let values =
                lines.filter_map(|line| line.split_whitespace().last()?.parse::<f64>().ok());
            sum += values.sum::<f64>();
        }
        Ok(sum)
    }

    /// What a tool answers, through the front door.
    pub(super) fn call(&self, body: &str) -> Result<Value> {
        let url = self.url();
        let answer = ask(address(&url), "POST", "/mcp", self.token.as_deref(), Some(body))?;
        let answer: Value = serde_json::from_str(&answer).context(answer)?;
        let result = &answer["result"];
        ensure!(result.is_object() && result["isError"] != true, "{body}: {answer}");
        Ok(result["structuredContent"].clone())
    }

    fn wait_for_vectors(&self) -> Result<()> {
        let began = Instant::now();
        while self.metric("kenning_ready")? < self.replicas.len() as f64
            || self.metric("kenning_index_vectors")? < self.metric("kenning_index_nodes")?
        {
            ensure!(began.elapsed() < Duration::from_mins(2), "the servers do not become ready");
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn fill(&self) -> Result<()> {
        let url = self.url();
        for agent in 1..=AGENTS {
            let added = json!({"name": format!("agent {agent}"), "id": agent}).to_string();
            let token = self.token.as_deref();
            ask(address(&url), "POST", "/api/v1/agents", token, Some(&added))?;
            let skills: Vec<Value> = (1..=SKILLS)
                .map(|skill| json!({"skill_name": format!("skill-{skill}"), "version": "1.0.0"}))
                .collect();
            let arguments = json!({"agent_id": agent, "capabilities": skills});
            let call = json!({"name": "register_agent_capabilities", "arguments": arguments});
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call});
            self.call(&call.to_string())?;
        }
        Ok(())
    }
}

fn kenning(home: &Path, store: Option<&str>) -> Command {
    let mut command = Command::new(root().join("target/release/kenning"));
    command.current_dir(root().join("examples/knowledge"));
    command.env("HOME", home).env("XDG_DATA_HOME", home.join("data"));
    command.env_remove("XDG_CONFIG_HOME").env("KENNING_SERVER_LOG_LEVEL", "error");
    if let Some(store) = store {
        command.env("KENNING_STORE_URL", store).env("KENNING_SERVER_REQUIRE_TOKEN", "true");
    }
    command
}

/// Ends with this value.
struct Balancer {
    child: Child,
    address: String,
}

impl Balancer {
    /// With the settings of `deploy/`, but for the number of servers.
    fn start(replicas: &[Serving], folder: &Path) -> Result<Self> {
        let program = outside::haproxy()?;
        let deployed = fs::read_to_string(root().join("deploy/haproxy.cfg"))?;
        let others = deployed.lines().filter(|line| !line.trim_start().starts_with("server "));
        let mut settings = others.collect::<Vec<_>>().join("\n") + "\n";
        for (number, replica) in replicas.iter().enumerate() {
            let address = address(&replica.url);
            settings += &format!("    server r{number} {address} cookie r{number}\n");
        }
        let file = folder.join("haproxy.cfg");
        fs::write(&file, settings)?;
        let address = format!("127.0.0.1:{}", free_port()?);
        let mut command = Command::new(program);
        command.arg("-db").arg("-f").arg(&file).env("KENNING_BIND", &address);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let balancer = Self { child: quiet.spawn().context("the balancer")?, address };
        let began = Instant::now();
        while ask(&balancer.address, "GET", "/readyz", None, None).is_err() {
            ensure!(began.elapsed() < Duration::from_secs(30), "the balancer does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(balancer)
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `127.0.0.1:8765` of `http://127.0.0.1:8765/mcp`.
fn address(url: &str) -> &str {
    let bare = url.trim_start_matches("http://");
    bare.split('/').next().unwrap_or(bare)
}

/// One question on a connection of its own; the body of the answer.
fn ask(
    address: &str,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: Option<&str>,
) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let body = body.unwrap_or_default();
    write!(
        stream,
        "{method} {path} HTTP/1.0\r\nHost: {address}\r\n{token}Content-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { bail!("no answer: {answer}") };
    let status = head.split_whitespace().nth(1).unwrap_or_default();
    ensure!(status.starts_with('2'), "{method} {path}: {answer}");
    Ok(body.to_owned())
}
