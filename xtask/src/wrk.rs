//! `wrk`: calls a tool over HTTP as fast as it is answered.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::external;
use crate::run::read;

/// A tool call. Each `%d` in the body is replaced by a random number of at most these, in order.
pub(crate) struct Target<'a> {
    pub(crate) url: String,
    pub(crate) token: Option<&'a str>,
    pub(crate) body: String,
    pub(crate) random: [usize; 3],
}

pub(crate) struct Load {
    pub(crate) calls: f64,
    /// Without a response, or with an HTTP status that is not a success.
    pub(crate) failed: f64,
    pub(crate) seconds: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) slowest_ms: f64,
}

impl Load {
    pub(crate) fn calls_per_s(&self) -> f64 {
        self.calls / self.seconds
    }
}

/// `wrk` does not read responses: whether the call succeeds at all has to be checked before.
pub(crate) fn run(
    target: &Target,
    connections: usize,
    seconds: u64,
    folder: &Path,
) -> Result<Load> {
    let script = folder.join("call.lua");
    fs::write(&script, target.script())?;
    let mut wrk = Command::new(external::wrk()?);
    wrk.args(["--threads", "1", "--connections", &connections.to_string()]);
    wrk.args(["--duration", &seconds.to_string(), "--script"]);
    let printed = read(wrk.arg(&script).arg(&target.url))?;
    let printed: Value = serde_json::from_str(printed.lines().last().unwrap_or_default())?;
    let number = |name: &str| printed[name].as_f64().context("the script prints its results");
    let load = Load {
        calls: number("calls")?,
        failed: number("failed")?,
        seconds: number("us")? / 1e6,
        p50_ms: number("p50")? / 1e3,
        p99_ms: number("p99")? / 1e3,
        slowest_ms: number("max")? / 1e3,
    };
    ensure!(load.calls > 0.0, "{} answered nothing", target.url);
    Ok(load)
}

impl Target<'_> {
    fn script(&self) -> String {
        let Self { body, random: [a, b, c], .. } = self;
        let token = self
            .token
            .map(|token| format!("wrk.headers[\"Authorization\"] = \"Bearer {token}\"\n"));
        // Only where requests differ: making each one takes processor time from the server.
        let request = if body.contains("%d") {
            format!(
                "function request()\nreturn wrk.format(nil, nil, nil, string.format(wrk.body, \
                 math.random({a}), math.random({b}), math.random({c})))\nend\n"
            )
        } else {
            String::new()
        };
        format!(
            "wrk.method = \"POST\"\nwrk.body = [==[{body}]==]\n\
             wrk.headers[\"Content-Type\"] = \"application/json\"\n\
             wrk.headers[\"Accept\"] = \"application/json, text/event-stream\"\n\
             wrk.headers[\"MCP-Protocol-Version\"] = \"2025-11-25\"\n{}{request}\
             function done(summary, latency)\nlocal e = summary.errors\n\
             io.write(string.format('{{\"calls\": %d, \"us\": %d, \"failed\": %d, \"p50\": %f, \
             \"p99\": %f, \"max\": %f}}\\n', summary.requests, summary.duration, e.connect + e.read + \
             e.write + e.status + e.timeout, latency:percentile(50), latency:percentile(99), \
             latency.max))\nend\n",
            token.unwrap_or_default(),
        )
    }
}
