//! From the start of `kenning serve` to its first answers, with an index at hand.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};

use super::{folder, percentile, table_head};
use crate::client::{StdioClient, tool_call};
use crate::run::{root, run};
use crate::server::Build;

const ROUNDS: usize = 15;
const SESSION_LIMIT: Duration = Duration::from_mins(1);

pub(super) fn measure() -> Result<String> {
    let home = folder()?;
    Build::Release.compile()?;
    run(kenning(home.path(), &["index"]).stdout(Stdio::null()).stderr(Stdio::null()))?;
    let mut table = table_head(&["median", "90th percentile"]);
    for (name, request) in requests() {
        let mut times: Vec<Duration> = (0..ROUNDS)
            .map(|_| first_answer(home.path(), request.as_ref()))
            .collect::<Result<_>>()?;
        times.sort_unstable();
        let [median, p90] = [50, 90].map(|percent| percentile(&times, percent) * 1e3);
        table += &format!("| {name} | {median:.0} ms | {p90:.0} ms |\n");
    }
    Ok(table)
}

/// What is asked after `initialize`, each of a new process.
fn requests() -> Vec<(&'static str, Option<(&'static str, Value)>)> {
    let call = |tool, arguments: Value| Some(("tools/call", tool_call(tool, &arguments)));
    vec![
        ("`initialize`", None),
        ("`tools/list`", Some(("tools/list", json!({})))),
        (
            "`lookup_capability`",
            call("lookup_capability", json!({"agent": "zed", "capability": "Hooks"})),
        ),
        (
            "`search_knowledge`, by keyword",
            call("search_knowledge", json!({"query": "token", "search_type": "keyword"})),
        ),
        (
            "`discover_context`",
            call("discover_context", json!({"task_description": "rotate the signing keys"})),
        ),
    ]
}

fn first_answer(home: &Path, request: Option<&(&str, Value)>) -> Result<Duration> {
    let began = Instant::now();
    let mut server = kenning(home, &["serve"]);
    let mut client = StdioClient::start(server.stderr(Stdio::null()), SESSION_LIMIT)?;
    if let Some((method, params)) = request {
        client.request(method, params)?;
    }
    let took = began.elapsed();
    client.close()?;
    Ok(took)
}

fn kenning(home: &Path, words: &[&str]) -> std::process::Command {
    let mut command = Build::Release.kenning(home);
    command.args(words).current_dir(root().join("examples/knowledge"));
    command.env("KENNING_SERVER_ATTACH", "false");
    command
}
