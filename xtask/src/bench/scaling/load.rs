//! The calls that are made, and `wrk`, which makes them as fast as it is answered.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::rig::{AGENTS, Rig, SKILLS};
use crate::bench::last_line;
use crate::run::read;

/// A kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Lookup,
    Read,
    Write,
    Discover,
}

/// Writes last: replicas go on looking at what was written when it is long over.
pub(super) const KINDS: [Kind; 4] = [Kind::Lookup, Kind::Read, Kind::Discover, Kind::Write];

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lookup => "lookup",
            Self::Read => "read",
            Self::Write => "write",
            Self::Discover => "discover",
        }
    }

    pub(super) fn tool(self) -> &'static str {
        match self {
            Self::Lookup => "lookup_capability",
            Self::Read => "get_agent_capabilities",
            Self::Write => "register_agent_capabilities",
            Self::Discover => "discover_context",
        }
    }

    /// How many of these one process works on at once: the gate's places, and those of them for calls
    /// that need the store.
    pub(super) fn at_once(self) -> usize {
        match self {
            Self::Lookup | Self::Discover => 10,
            Self::Read | Self::Write => 7,
        }
    }

    /// Each `%d` is a number by chance: first an agent's, then a skill's, then any.
    fn arguments(self) -> &'static str {
        match self {
            Self::Lookup => r#"{"agent":"claude-code","capability":"hooks"}"#,
            Self::Read => r#"{"agent_id":%d}"#,
            Self::Write => {
                r#"{"agent_id":%d,"capabilities":[{"skill_name":"skill-%d","version":"1.0.%d"}]}"#
            }
            Self::Discover => {
                r#"{"task_description":"review the security of a pull request in module %d"}"#
            }
        }
    }

    fn body(self) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{}","arguments":{}}}}}"#,
            self.tool(),
            self.arguments()
        )
    }
}

/// What `wrk` saw.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) calls: f64,
    /// Answered with a status that is no success, or not at all.
    pub(super) failed: f64,
    pub(super) seconds: f64,
    pub(super) mean_s: f64,
    pub(super) p50_s: f64,
    pub(super) p99_s: f64,
    pub(super) slowest_s: f64,
}

/// That the call works at all: `wrk` does not read answers.
pub(super) fn check(rig: &Rig, kind: Kind) -> Result<()> {
    rig.call(&kind.body().replace("%d", "1")).map(drop)
}

pub(super) fn run(
    rig: &Rig,
    kind: Kind,
    connections: usize,
    seconds: u64,
    folder: &Path,
) -> Result<Load> {
    let script = folder.join("call.lua");
    let token = rig
        .token
        .as_ref()
        .map(|token| format!("wrk.headers[\"Authorization\"] = \"Bearer {token}\"\n"));
    fs::write(
        &script,
        format!(
            "wrk.method = \"POST\"\n\
             wrk.headers[\"Content-Type\"] = \"application/json\"\n\
             wrk.headers[\"Accept\"] = \"application/json, text/event-stream\"\n\
             wrk.headers[\"MCP-Protocol-Version\"] = \"2025-11-25\"\n{}\
             local body, by_chance = [==[{}]==], math.random\n\
             function request()\n\
             return wrk.format(nil, nil, nil, string.format(body, by_chance({AGENTS}), \
             by_chance({SKILLS}), by_chance(999)))\nend\n\
             function done(summary, latency)\n\
             local e = summary.errors\n\
             io.write(string.format('{{\"calls\": %d, \"us\": %d, \"failed\": %d, \"mean\": %f, \
             \"p50\": %f, \"p99\": %f, \"max\": %f}}\\n', summary.requests, summary.duration, \
             e.connect + e.read + e.write + e.status + e.timeout, latency.mean, \
             latency:percentile(50), latency:percentile(99), latency.max))\nend\n",
            token.unwrap_or_default(),
            kind.body(),
        ),
    )?;
    let mut wrk = Command::new("wrk");
    wrk.args(["--threads", "1", "--connections", &connections.to_string()]);
    wrk.args(["--duration", &seconds.to_string(), "--script"]);
    let said = read(wrk.arg(&script).arg(rig.url()))?;
    let said: Value = serde_json::from_str(last_line(&said))?;
    let number = |name: &str| said[name].as_f64().context("wrk says how it went");
    let calls = number("calls")?;
    ensure!(calls > 0.0, "{} was not answered", kind.tool());
    let seconds_of = |name: &str| number(name).map(|us| us / 1e6);
    Ok(Load {
        calls,
        failed: number("failed")?,
        seconds: seconds_of("us")?,
        mean_s: seconds_of("mean")?,
        p50_s: seconds_of("p50")?,
        p99_s: seconds_of("p99")?,
        slowest_s: seconds_of("max")?,
    })
}
