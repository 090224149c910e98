//! `wrap`: hears what agents could not do with somebody else's server.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use kenning_gaps::Identity;
use kenning_gaps::contract::Offer;
use kenning_wrap::{Ingest, LogSink, Nowhere, Options, Sink, Target, WrapError, guard};

use super::Context;
use crate::cli;
use crate::failure::{Exit, Failure};

const SECRET: &str = "MCPEYE_INGEST_SECRET";

/// What the guard of a wrapped server runs; see [`guard::keep`].
pub(super) fn keep_guard() -> Result<Exit, Failure> {
    guard::keep()?;
    Ok(Exit::Success)
}

pub(super) fn run(context: &Context, words: cli::Wrap) -> Result<Exit, Failure> {
    let project = words.project.unwrap_or_else(|| named(words.url.as_deref(), &words.command));
    let target = match words.url {
        Some(url) => Target::Url { url, headers: headers(&words.headers)? },
        None => Target::Program {
            command: words.command,
            guard: vec![std::env::current_exe()?.into(), "wrap-guard".into()],
        },
    };
    let options = Options {
        identity: Identity { user_id: words.user, ..Identity::default() },
        offer: Offer { tool: !words.no_tool, intent: !words.no_intent },
        ..Options::new(target, &project)
    };
    let sink: Arc<dyn Sink> = match words.ingest {
        Some(url) => Arc::new(Ingest::new(&url, std::env::var(SECRET).ok())),
        None => match context.open_store()? {
            Some(store) => Arc::new(LogSink::new(store)),
            None => Arc::new(Nowhere),
        },
    };
    // One thread: there is little to do, and a line that changes threads is late.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(kenning_wrap::run(options, sink));
    // A thread may still wait for input that never comes.
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

/// The name of a host, or of the program that really serves: not of the one that starts it.
fn named(url: Option<&str>, command: &[OsString]) -> String {
    if let Some(url) = url {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = rest.split(['/', '?']).next().unwrap_or(rest);
        // What stands before the host is a secret.
        return host.rsplit('@').next().unwrap_or(host).to_owned();
    }
    let words = command.iter().map(|word| word.to_string_lossy());
    let mut words = words.filter(|word| !word.starts_with('-'));
    let starters = ["npx", "uvx", "node", "python", "python3", "bunx", "uv", "docker", "run", "sh"];
    let word = words.find(|word| !starters.contains(&file_name(word).as_str()));
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
