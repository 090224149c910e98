//! What each command does.

mod bases;
mod completions;
mod config;
mod deps;
mod get;
mod index;
mod search;
mod serve;

use std::io::IsTerminal;
use std::path::PathBuf;

use kenning_knowledge::Library;
use kenning_knowledge::library::LibraryError;
use toml::Value;
use tracing_subscriber::prelude::*;

use crate::cli::{Cli, Command, Global};
use crate::failure::{Exit, Failure};
use crate::printer::{Form, Printer};
use crate::settings::{Layers, LogLevel, Settings, Sources};

pub fn run(cli: Cli) -> Result<Exit, Failure> {
    if let Command::Completions { shell } = cli.command {
        return Ok(completions::run(shell));
    }
    let mut sources = sources(&cli.global)?;
    if let Command::Serve(serve) = &cli.command {
        sources.flags.extend(serve::flags(serve)?);
    }
    let (settings, layers) = Settings::load(sources)?;
    let form = if cli.global.json { Form::Json } else { Form::Text };
    let context = Context { settings, layers, printer: Printer { form, quiet: cli.global.quiet } };
    log_to_stderr(context.settings.server.log_level);
    match cli.command {
        Command::Serve(serve) => serve::run(&context, &serve),
        Command::Index(index) => index::run(&context, &index),
        Command::Search(search) => search::run(&context, search),
        Command::Get(get) => get::run(&context, get),
        Command::Bases(bases) => bases::run(&context, bases),
        Command::Deps(deps) => deps::run(&context, deps),
        Command::Config(config) => config::run(&context, &config),
        Command::Completions { shell } => Ok(completions::run(shell)),
    }
}

/// What every command starts from.
struct Context {
    settings: Settings,
    layers: Layers,
    printer: Printer,
}

impl Context {
    /// Reads the knowledge bases, with a progress bar on a terminal.
    fn open_library(&self) -> Result<Library, Failure> {
        let bases = self.settings.open_bases(&self.layers)?;
        let bar = self.printer.progress("reading");
        let library = Library::open(bases, &|done, total| {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        });
        bar.finish_and_clear();
        Ok(library?)
    }
}

impl From<LibraryError> for Failure {
    fn from(error: LibraryError) -> Self {
        Self::new(error.to_string())
    }
}

fn sources(global: &Global) -> Result<Sources, Failure> {
    let mut flags = Vec::new();
    for root in &global.root {
        let (key, path) = match root.split_once('=') {
            Some((name, path)) => (format!("bases.{name}.root_path"), path),
            None => ("knowledge_base.root_path".to_owned(), root.as_str()),
        };
        flags.push((key, Value::from(path), format!("--root {root}")));
    }
    if let Some(level) = &global.log_level {
        let flag = format!("--log-level {level}");
        flags.push(("server.log_level".to_owned(), Value::from(level.as_str()), flag));
    }
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| name.starts_with("KENNING_"));
    Ok(Sources {
        working_directory: std::env::current_dir()?,
        user_file: user_file(),
        project_file: global.config.clone(),
        variables: variables.collect(),
        flags,
    })
}

/// `$XDG_CONFIG_HOME/kenning/kenning.toml`, or the place that stands for it.
fn user_file() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".config")))
        .or_else(|| absolute("APPDATA"))?;
    Some(folder.join("kenning").join("kenning.toml"))
}

fn log_to_stderr(level: LogLevel) {
    let level = match level {
        LogLevel::Error => tracing::Level::ERROR,
        LogLevel::Warn => tracing::Level::WARN,
        LogLevel::Info => tracing::Level::INFO,
        LogLevel::Debug => tracing::Level::DEBUG,
        LogLevel::Trace => tracing::Level::TRACE,
    };
    // Libraries speak only when somebody is looking for a fault.
    let others = if level >= tracing::Level::DEBUG { level } else { tracing::Level::ERROR };
    let filter = tracing_subscriber::filter::Targets::new()
        .with_default(others)
        .with_target("kenning", level);
    let stderr = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    // A second call, as in tests, keeps the first subscriber.
    let _ = tracing_subscriber::registry().with(stderr.with_filter(filter)).try_init();
}
