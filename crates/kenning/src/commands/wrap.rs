//! `wrap`: a proxy that records the calls of any MCP server, to find what agents could not do.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use kenning_gaps::Identity;
use kenning_gaps::contract::Offer;
use kenning_wrap::{IngestSink, NullSink, Options, Sink, StoreSink, Target, WrapError, watchdog};

use super::Context;
use crate::cli;
use crate::failure::{Exit, Failure};

const SECRET: &str = "MCPEYE_INGEST_SECRET";

/// `wrap-guard`, the process that [`watchdog`] describes.
pub(super) fn run_watchdog() -> Result<Exit, Failure> {
    watchdog::run()?;
    Ok(Exit::Success)
}

pub(super) fn run(context: &Context, words: cli::Wrap) -> Result<Exit, Failure> {
    let project =
        words.project.unwrap_or_else(|| project_name(words.url.as_deref(), &words.command));
    let target = match words.url {
        Some(url) => Target::Url { url, headers: headers(&words.headers)? },
        None => Target::Program {
            command: words.command,
            watchdog: vec![std::env::current_exe()?.into(), "wrap-guard".into()],
        },
    };
    let options = Options {
        identity: Identity { user_id: words.user, ..Identity::default() },
        offer: Offer { tool: !words.no_tool, intent: !words.no_intent },
        ..Options::new(target, &project)
    };
    let sink: Arc<dyn Sink> = match words.ingest {
        Some(url) => Arc::new(IngestSink::new(&url, std::env::var(SECRET).ok())),
        None => match context.open_store()? {
            Some(store) => Arc::new(StoreSink::new(store)),
            None => Arc::new(NullSink),
        },
    };
    // One thread: there is little to do, and moving a line between threads takes time.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(kenning_wrap::run(options, sink));
    // A thread may still block on standard input.
    runtime.shutdown_background();
    Ok(Exit::Code(ended?.code()))
}

fn headers(given: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let pair = |header: &String| {
        let (name, value) = header.split_once(':').ok_or_else(|| {
            Failure::usage(format!("--header `{header}` has no colon"))
                .hint("headers look like `Authorization: Bearer …`")
        })?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    given.iter().map(pair).collect()
}

/// The host of a URL, or the name of the server's program, without what starts it (`npx`, `uv run`).
fn project_name(url: Option<&str>, command: &[OsString]) -> String {
    if let Some(url) = url {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = rest.split(['/', '?']).next().unwrap_or(rest);
        // Credentials stand before the host.
        return host.rsplit('@').next().unwrap_or(host).to_owned();
    }
    let words = command.iter().map(|word| word.to_string_lossy());
    let mut words = words.filter(|word| !word.starts_with('-'));
    let launchers =
        ["npx", "uvx", "node", "python", "python3", "bunx", "uv", "docker", "run", "sh"];
    let word = words.find(|word| !launchers.contains(&file_name(word).as_str()));
    let name = word.map(|word| file_name(&word)).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| "server".to_owned())
}

fn file_name(word: &str) -> String {
    let name = Path::new(word).file_stem();
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

impl From<WrapError> for Failure {
    fn from(error: WrapError) -> Self {
        Self::new(error.to_string())
    }
}
