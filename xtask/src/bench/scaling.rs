//! What one process holds on `SQLite`, and what one, two and four replicas hold on one `PostgreSQL` behind
//! the load balancer of `deploy/`, without containers; what a call costs each part; and what clients
//! notice when a replica is killed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kenning_testkit::Postgres;
use serde_json::{Value, json};

use super::{folder, table_head};
use crate::client::HttpClient;
use crate::external;
use crate::process;
use crate::run::{read, root};
use crate::server::{Build, HttpServer, start_balancer};
use crate::wrk::{self, Load, Target};

const BUILD: Build = Build::Release;
/// Replicas on `PostgreSQL`; 0 is one process on `SQLite`, which is called directly and without a token.
const DEPLOYMENTS: [usize; 4] = [0, 1, 2, 4];
const CONNECTIONS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Over which the costs of a call are measured.
const BUSY: usize = 8;
/// Over which a replica is killed.
const DURING_KILL: usize = 16;
const SECONDS: u64 = 3;
const READY_LIMIT: Duration = Duration::from_mins(2);

const WRITE: &str = "register_agent_capabilities";
const AGENTS: usize = 100;
const SKILLS: usize = 20;

/// Tools and their arguments, where `%d` is a random agent, skill or number. Writes come last: replicas
/// process what was written for a while after it.
const CALLS: [(&str, &str); 4] = [
    ("lookup_capability", r#"{"agent":"claude-code","capability":"hooks"}"#),
    ("get_agent_capabilities", r#"{"agent_id":%d}"#),
    (
        "discover_context",
        r#"{"task_description":"review the security of a pull request in module %d"}"#,
    ),
    (WRITE, r#"{"agent_id":%d,"capabilities":[{"skill_name":"skill-%d","version":"1.0.%d"}]}"#),
];

fn name(replicas: usize) -> String {
    match replicas {
        0 => "SQLite, 1 process".to_owned(),
        1 => "PostgreSQL, 1 replica".to_owned(),
        _ => format!("PostgreSQL, {replicas} replicas"),
    }
}

/// All measurements of one tool on one deployment.
struct Measured {
    /// The load with the most calls per second, and its connections.
    best: (usize, Load),
    /// CPU time per call of replicas, `PostgreSQL`, balancer and `wrk`, in microseconds.
    cpu_us: [f64; 4],
    /// How long `PostgreSQL` waited for the disk at each commit of a write, in microseconds.
    commit_us: Option<f64>,
    /// Cores that everything else on the machine kept busy.
    other_cores: f64,
}

pub(super) fn measure() -> Result<String> {
    let folder = folder()?;
    BUILD.compile()?;
    let mut measured: BTreeMap<(&str, usize), Measured> = BTreeMap::new();
    let (mut memory, mut recorded, mut killed) = (Vec::new(), Vec::new(), String::new());
    for replicas in DEPLOYMENTS {
        let mut deployment = Deployment::start(replicas, folder.path())?;
        for (tool, arguments) in CALLS {
            measured.insert((tool, replicas), deployment.measure(tool, arguments, folder.path())?);
        }
        let errors = deployment.metric("kenning_tool_errors_total")?;
        ensure!(errors == 0.0, "{errors} calls were answered with an error");
        let pids = deployment.replicas.iter().map(HttpServer::pid);
        let mb: f64 = pids.map(process::memory_mb).sum();
        memory.push(format!("{:.0} MB", mb / deployment.replicas.len() as f64));
        let calls = deployment.metric("kenning_recorded_calls_total")?;
        let dropped = deployment.metric("kenning_recorded_calls_dropped_total")?;
        recorded.push(format!("{calls:.0}, {dropped:.0}"));
        if replicas == 2 {
            killed = deployment.kill_one(folder.path())?;
        }
    }
    let mut text = format!("### Throughput\n\n{}", table_head(&DEPLOYMENTS.map(name)));
    for (tool, _) in CALLS {
        text += &format!("| `{tool}` |");
        for replicas in DEPLOYMENTS {
            let (connections, load) = &measured[&(tool, replicas)].best;
            let (calls_per_s, Load { p50_ms, p99_ms, .. }) = (load.calls_per_s(), load);
            text += &format!(" {calls_per_s:.0}/s ({connections}), {p50_ms:.1} / {p99_ms:.1} ms |");
        }
        text += "\n";
    }
    text += &format!("| memory of a process afterwards | {} |\n", memory.join(" | "));
    text += &format!("| calls recorded, of them dropped | {} |\n\n", recorded.join(" | "));
    let columns = ["", "replicas", "PostgreSQL", "balancer", "`wrk`", "commit", "other"];
    text += &format!("### Cost of a call\n\n{}", table_head(&columns));
    for (tool, _) in CALLS {
        for replicas in DEPLOYMENTS {
            let Measured { cpu_us, commit_us, other_cores, .. } = &measured[&(tool, replicas)];
            let cpu = cpu_us.map(|us| format!("{us:.0}")).join(" | ");
            let commit = commit_us.map(|us| format!("{us:.0}")).unwrap_or_default();
            let name = name(replicas);
            text += &format!("| `{tool}` | {name} | {cpu} | {commit} | {other_cores:.2} |\n");
        }
    }
    Ok(format!("{text}\n### A killed replica\n\n{killed}"))
}

/// Real servers, a real database and the balancer. They end in this order.
struct Deployment {
    balancer: Option<HttpServer>,
    replicas: Vec<HttpServer>,
    postgres: Option<(Postgres, String)>,
    token: Option<String>,
}

impl Deployment {
    fn start(replicas: usize, folder: &Path) -> Result<Self> {
        let postgres = (replicas > 0).then(|| {
            // Default settings, except that it measures how long the disk takes.
            let postgres = Postgres::start(&["track_wal_io_timing=on"]);
            let url = postgres.database();
            (postgres, url)
        });
        let home = folder.join(name(replicas));
        let kenning = |words: &[&str]| {
            let mut command = BUILD.kenning(&home);
            command.args(words).current_dir(root().join("examples/knowledge"));
            command.env("KENNING_SERVER_LOG_LEVEL", "error");
            if let Some((_, url)) = &postgres {
                command.env("KENNING_STORE_URL", url).env("KENNING_SERVER_REQUIRE_TOKEN", "true");
            }
            command
        };
        let token = match &postgres {
            Some(_) => Some(read(&mut kenning(&["token", "create", "team", "--scope", "write"]))?),
            None => None,
        };
        let token = token.map(|token| token.trim().to_owned());
        let start = |_| HttpServer::start(&mut kenning(&["serve", "--http", "127.0.0.1:0"]), None);
        let servers = (0..replicas.max(1)).map(start).collect::<Result<Vec<_>>>()?;
        let mut deployment = Self { balancer: None, replicas: servers, postgres, token };
        deployment.wait_until_ready()?;
        if deployment.postgres.is_some() {
            deployment.start_balancer(folder)?;
        }
        deployment.fill_registry()?;
        Ok(deployment)
    }

    /// With the configuration of `deploy/`, except for the number of servers.
    fn start_balancer(&mut self, folder: &Path) -> Result<()> {
        let deployed = fs::read_to_string(root().join("deploy/haproxy.cfg"))?;
        let other_lines = deployed.lines().filter(|line| !line.trim_start().starts_with("server "));
        let mut configuration = other_lines.collect::<Vec<_>>().join("\n") + "\n";
        for (number, HttpServer { address, .. }) in self.replicas.iter().enumerate() {
            configuration += &format!("    server r{number} {address} cookie r{number}\n");
        }
        let path = folder.join("haproxy.cfg");
        fs::write(&path, configuration)?;
        self.balancer = Some(start_balancer(external::haproxy()?, &path, &BTreeMap::new())?);
        Ok(())
    }

    fn wait_until_ready(&self) -> Result<()> {
        let began = Instant::now();
        while self.metric("kenning_ready")? < self.replicas.len() as f64
            || self.metric("kenning_index_vectors")? < self.metric("kenning_index_nodes")?
        {
            ensure!(began.elapsed() < READY_LIMIT, "the servers do not become ready");
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn fill_registry(&self) -> Result<()> {
        let mut client = self.connect(self.entry())?;
        for agent in 1..=AGENTS {
            let body = json!({"name": format!("agent {agent}"), "id": agent});
            let (status, answer) = client.request("POST", "/api/v1/agents", Some(&body))?;
            ensure!(status == 201, "agent {agent} could not be added: {status} {answer}");
            let skills: Vec<Value> = (1..=SKILLS)
                .map(|skill| json!({"skill_name": format!("skill-{skill}"), "version": "1.0.0"}))
                .collect();
            let arguments = json!({"agent_id": agent, "capabilities": skills});
            client.call(WRITE, &arguments)?.ok()?;
        }
        Ok(())
    }

    /// Where clients call.
    fn entry(&self) -> &HttpServer {
        self.balancer.as_ref().unwrap_or(&self.replicas[0])
    }

    fn connect(&self, server: &HttpServer) -> Result<HttpClient> {
        HttpClient::open(&server.address, self.token.as_deref())
    }

    /// The sum of a metric over all replicas.
    fn metric(&self, name: &str) -> Result<f64> {
        let mut sum = 0.0;
        for replica in &self.replicas {
            let (_, page) = self.connect(replica)?.request("GET", "/metrics", None)?;
            let page = page.as_str().context("metrics are text")?.to_owned();
            let lines = page.lines().filter_map(|line| line.strip_prefix(name));
            let lines = lines.filter(|rest| rest.starts_with([' ', '{']));
            let values =
                lines.filter_map(|rest| rest.split_whitespace().last()?.parse::<f64>().ok());
            sum += values.sum::<f64>();
        }
        Ok(sum)
    }

    fn target(&self, tool: &str, arguments: &str) -> Target<'_> {
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let (url, token) = (self.entry().mcp_url(), self.token.as_deref());
        Target { url, token, body, random: [AGENTS, SKILLS, 999] }
    }

    fn measure(&self, tool: &str, arguments: &str, folder: &Path) -> Result<Measured> {
        let example = serde_json::from_str(&arguments.replace("%d", "1"))?;
        self.connect(self.entry())?.call(tool, &example)?.ok()?;
        let target = self.target(tool, arguments);
        wrk::run(&target, 4, 1, folder)?;
        let (mut loads, mut cpu_us, mut other_cores, mut commit_us) =
            (Vec::new(), [0.0; 4], 0.0, None);
        for connections in CONNECTIONS {
            let (before, commits, machine) =
                (self.cpu_s()?, self.commits(), process::machine_cpu_s());
            let load = wrk::run(&target, connections, SECONDS, folder)?;
            let failed = load.failed;
            ensure!(failed == 0.0, "{failed} of {tool} failed over {connections} connections");
            // Other tools commit nothing themselves, only the background batches of recorded calls.
            if connections == 1 && tool == WRITE {
                commit_us =
                    commits.zip(self.commits()).and_then(|((n, us), (later_n, later_us))| {
                        (later_n > n).then(|| (later_us - us) / (later_n - n))
                    });
            }
            if connections == BUSY {
                let after = self.cpu_s()?;
                let used: [f64; 4] = std::array::from_fn(|part| after[part] - before[part]);
                cpu_us = used.map(|seconds| seconds / load.calls * 1e6);
                let other = process::machine_cpu_s() - machine - used.iter().sum::<f64>();
                other_cores = (other / load.seconds).max(0.0);
            }
            loads.push((connections, load));
        }
        let best =
            loads.into_iter().max_by(|(_, a), (_, b)| a.calls_per_s().total_cmp(&b.calls_per_s()));
        Ok(Measured { best: best.context("there are loads")?, cpu_us, commit_us, other_cores })
    }

    /// CPU time so far of replicas, `PostgreSQL`, balancer and `wrk`.
    fn cpu_s(&self) -> Result<[f64; 4]> {
        let replicas = self.replicas.iter().map(|replica| process::cpu_s(replica.pid())).sum();
        let postgres = match &self.postgres {
            Some((postgres, _)) => {
                let pid = fs::read_to_string(postgres.folder().join("pid"))?;
                process::cpu_s(pid.trim().parse()?)
            }
            None => 0.0,
        };
        let balancer =
            self.balancer.as_ref().map_or(0.0, |balancer| process::cpu_s(balancer.pid()));
        Ok([replicas, postgres, balancer, process::ended_children_cpu_s()])
    }

    /// How often `PostgreSQL` has flushed its log to the disk, and for how many microseconds in all.
    fn commits(&self) -> Option<(f64, f64)> {
        let (postgres, url) = self.postgres.as_ref()?;
        let query = "SELECT sum(fsyncs), sum(fsync_time) FROM pg_stat_io WHERE object = 'wal'";
        let printed = postgres.query(url, query);
        let (count, ms) = printed.split_once('|')?;
        Some((count.parse().ok()?, ms.parse::<f64>().ok()? * 1e3))
    }

    /// Kills a replica in the middle of a load.
    fn kill_one(&mut self, folder: &Path) -> Result<String> {
        let victim = self.replicas.pop().context("there is a replica to kill")?;
        let (tool, arguments) = CALLS[0];
        let load = std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_secs(SECONDS) / 2);
                drop(victim);
            });
            wrk::run(&self.target(tool, arguments), DURING_KILL, SECONDS, folder)
        })?;
        let Load { calls, failed, slowest_ms, .. } = load;
        Ok(format!(
            "One of two replicas is killed (`kill -9`) while {DURING_KILL} connections look \
             capabilities up through the balancer. Of {calls:.0} calls in {SECONDS} s, {failed:.0} \
             failed, and the slowest took {slowest_ms:.0} ms.\n"
        ))
    }
}
