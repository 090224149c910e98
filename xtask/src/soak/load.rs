//! `cargo xtask soak --load`: one server with many clients at once, and as many that only connect.
//!
//! 200 connections over REST and 50 over MCP call without pause while files change, and 300 further ones
//! send half a head and wait. MCP clients must get every answer, and probes, on connections of their own,
//! too.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::documents::{COUNT, id, marker, parse_title};
use super::{Interval, Options, Random, Scenario, worker};
use crate::client::{HttpClient, ToolResult};
use crate::process;
use crate::server::HttpServer;

const REST_CONNECTIONS: usize = 200;
const MCP_CONNECTIONS: usize = 50;
const HALF_OPEN: usize = 300;
/// Between two looks at the connections that are half open.
const REOPEN_EVERY: Duration = Duration::from_millis(500);
const PROBE_EVERY: Duration = Duration::from_secs(1);
/// After the server refused a call over REST, as a client of good will does.
const RETRY_AFTER: Duration = Duration::from_secs(1);
const EXIT_LIMIT: Duration = Duration::from_secs(30);
pub(super) const SERVER: &str = "http server";
pub(super) const MCP_LOOKUP: &str = "MCP lookup_capability";

/// Everything that must have been answered at the end.
pub(super) const CALLS: [&str; 8] = [
    MCP_LOOKUP,
    "MCP retrieve_knowledge",
    "MCP search_knowledge",
    "REST lookup_capability",
    "REST retrieve_knowledge",
    "REST search_knowledge",
    "GET /healthz",
    "GET /readyz",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surface {
    Mcp,
    Rest,
}

#[derive(Debug, Clone, Copy)]
enum Call {
    Lookup,
    Retrieve(usize),
    Search(usize),
}

pub(super) fn start(options: Options, folder: &Path, base: &Path) -> Result<HttpServer> {
    let mut serve = options.build.kenning(folder);
    serve.arg("--root").arg(base).args(["--log-level", "warn", "serve", "--http", "127.0.0.1:0"]);
    HttpServer::start(serve.current_dir(base), Some(&folder.join("http server.log")))
}

/// Calls and connects until the scenario is finished.
pub(super) fn run(scenario: &Scenario, server: &HttpServer, length: Duration) -> Result<()> {
    let mut first = HttpClient::open(&server.address, None)?;
    let catalog = first.call("lookup_capability", &worker::lookup())?.ok()?;
    let surfaces = [(Surface::Rest, REST_CONNECTIONS), (Surface::Mcp, MCP_CONNECTIONS)];
    thread::scope(|scope| {
        for (surface, connections) in surfaces {
            for number in 0..connections {
                let client = Caller { surface, address: &server.address, catalog: &catalog };
                scope.spawn(move || client.call_until_finished(scenario, number));
            }
        }
        scope.spawn(|| scenario.check(hold_half_open(scenario, &server.address)));
        scope.spawn(|| scenario.check(probe(scenario, &server.address)));
        scope.spawn(|| scenario.documents.keep_changing(scenario));
        scenario.watch_memory(&[(server.pid(), SERVER)], length);
    });
    Ok(())
}

pub(super) fn stop(scenario: &Scenario, mut server: HttpServer) {
    let status = process::terminate(server.pid()).and_then(|()| server.wait(EXIT_LIMIT));
    let ended = status.and_then(|status| {
        ensure!(status.success(), "it ended with {status}");
        Ok(())
    });
    scenario.check(ended.context("the server did not end"));
}

struct Caller<'a> {
    surface: Surface,
    address: &'a str,
    /// The answer that every lookup must give.
    catalog: &'a Value,
}

impl Caller<'_> {
    /// On one connection, or on a new one after a problem.
    fn call_until_finished(&self, scenario: &Scenario, number: usize) {
        let mut random = Random::new(number + 1_000 * self.surface as usize);
        let mut connection = None;
        while !scenario.is_finished() {
            let document = random.below(COUNT);
            let call = match random.below(4) {
                0 | 1 => Call::Lookup,
                2 => Call::Retrieve(document),
                _ => Call::Search(document),
            };
            let outcome = self.call(scenario, &mut connection, call);
            if outcome.is_err() {
                connection = None;
                scenario.pause(RETRY_AFTER);
            }
            scenario.check(outcome);
        }
    }

    fn call(
        &self,
        scenario: &Scenario,
        connection: &mut Option<HttpClient>,
        call: Call,
    ) -> Result<()> {
        let name = call.name(self.surface);
        let mut client = match connection.take() {
            Some(client) => client,
            None => HttpClient::open(self.address, None)?,
        };
        let (answer, interval) = scenario.timed(|| match self.surface {
            Surface::Mcp => call.over_mcp(&mut client),
            Surface::Rest => call.over_rest(&mut client),
        });
        let answer = answer.with_context(|| format!("{name} was not answered"))?;
        *connection = Some(client);
        let Some(answer) = answer else {
            scenario.record(|measurements| measurements.refused(name, interval));
            scenario.pause(RETRY_AFTER);
            return Ok(());
        };
        self.check(scenario, call, &answer, interval)?;
        scenario.answered(name, interval);
        Ok(())
    }

    fn check(
        &self,
        scenario: &Scenario,
        call: Call,
        answer: &Value,
        interval: Interval,
    ) -> Result<()> {
        let (document, list) = match call {
            Call::Lookup => {
                ensure!(answer == self.catalog, "the catalog answers {answer}");
                return Ok(());
            }
            Call::Retrieve(document) => (document, "nodes"),
            Call::Search(document) => (document, "results"),
        };
        let shown = answer[list].as_array().with_context(|| format!("no `{list}` in {answer}"))?;
        let titles = shown.iter().filter_map(|one| parse_title(one["title"].as_str()?));
        let version = titles.into_iter().find(|(number, _)| *number == document);
        let version = version.map(|(_, version)| version);
        let lag = scenario.documents.history(document).lag(version, interval);
        let lag = lag.with_context(|| format!("document {document} never was {version:?}"))?;
        scenario.record(|measurements| measurements.lag(lag));
        Ok(())
    }
}

impl Call {
    fn name(self, surface: Surface) -> &'static str {
        match (surface, self) {
            (Surface::Mcp, Self::Lookup) => MCP_LOOKUP,
            (Surface::Mcp, Self::Retrieve(_)) => "MCP retrieve_knowledge",
            (Surface::Mcp, Self::Search(_)) => "MCP search_knowledge",
            (Surface::Rest, Self::Lookup) => "REST lookup_capability",
            (Surface::Rest, Self::Retrieve(_)) => "REST retrieve_knowledge",
            (Surface::Rest, Self::Search(_)) => "REST search_knowledge",
        }
    }

    /// Never refused: a server that has time for REST has time for MCP.
    fn over_mcp(self, client: &mut HttpClient) -> Result<Option<Value>> {
        let result = match self {
            Self::Lookup => client.call("lookup_capability", &worker::lookup()),
            Self::Retrieve(number) => {
                client.call("retrieve_knowledge", &json!({"ids": [id(number)]}))
            }
            Self::Search(number) => {
                let asked = json!({"query": marker(number), "search_type": "keyword"});
                client.call("search_knowledge", &asked)
            }
        };
        match result? {
            ToolResult::Ok(answer) => Ok(Some(answer)),
            ToolResult::Error { code, text } => bail!("{code}: {text}"),
        }
    }

    /// `None` if the server is at capacity.
    fn over_rest(self, client: &mut HttpClient) -> Result<Option<Value>> {
        let path = match self {
            Self::Lookup => "lookup_capability?agent=claude-code&capability=hooks".to_owned(),
            Self::Retrieve(number) => format!("retrieve_knowledge?ids={}", id(number)),
            Self::Search(number) => {
                format!("search_knowledge?search_type=keyword&query={}", marker(number))
            }
        };
        match client.request("GET", &format!("/api/v1/{path}"), None)? {
            (200, answer) => Ok(Some(answer)),
            (503, _) => Ok(None),
            (status, answer) => bail!("{path}: {status} {answer}"),
        }
    }
}

/// Keeps so many connections on which half a head was sent. The server closes them after a while.
fn hold_half_open(scenario: &Scenario, address: &str) -> Result<()> {
    let mut held: Vec<TcpStream> = Vec::new();
    while !scenario.is_finished() {
        held.retain(is_open);
        while held.len() < HALF_OPEN {
            let mut stream = TcpStream::connect(address)?;
            stream.write_all(b"GET /api/v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half:")?;
            stream.set_nonblocking(true)?;
            held.push(stream);
            scenario.record(|measurements| measurements.half_opened += 1);
        }
        scenario.pause(REOPEN_EVERY);
    }
    Ok(())
}

fn is_open(mut stream: &TcpStream) -> bool {
    let read = stream.read(&mut [0; 256]);
    matches!(read, Err(error) if error.kind() == ErrorKind::WouldBlock)
}

/// Asks for health as an orchestrator does, on a new connection each time.
fn probe(scenario: &Scenario, address: &str) -> Result<()> {
    while !scenario.is_finished() {
        for (name, path) in [("GET /healthz", "/healthz"), ("GET /readyz", "/readyz")] {
            let (answer, interval) =
                scenario.timed(|| HttpClient::open(address, None)?.request("GET", path, None));
            let (status, answer) = answer.with_context(|| format!("{name} was not answered"))?;
            ensure!(status == 200, "{name}: {status} {answer}");
            scenario.answered(name, interval);
        }
        scenario.pause(PROBE_EVERY);
    }
    Ok(())
}
