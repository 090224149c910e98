//! The commands, one file each, and their dispatch.

mod bases;
mod cache;
mod catalog;
mod clock;
mod completions;
mod compose;
mod config;
mod context;
mod deps;
mod discover;
mod doctor;
mod eval;
mod gaps;
mod get;
mod hook;
mod index;
mod init;
mod install;
mod links;
mod man;
mod model;
mod paths;
mod registry;
mod search;
mod serve;
mod status;
mod store;
mod token;
mod vectors;
mod wrap;

use kenning_settings::{Layers, LogFormat, Settings, Sources};
use toml::Value;

use self::context::Context;
use self::paths::{data_folder, user_file};
use crate::cli::{self, Cli, Command, Global};
use crate::failure::{Exit, Failure};
use crate::printer::{Form, Notes, Printer};
use crate::telemetry::{Telemetry, Tracing};

pub fn run(cli: Cli) -> Result<Exit, Failure> {
    // These must work whatever the settings say.
    match &cli.command {
        Command::Completions { shell } => return Ok(completions::run(*shell)),
        Command::Man { folder } => return man::run(folder.as_deref()),
        Command::WrapGuard => return wrap::run_watchdog(),
        _ => {}
    }
    let mut sources = sources(&cli.global)?;
    if let Command::Serve(serve) = &cli.command {
        sources.flags.extend(serve::flags(serve)?);
    }
    let form = if cli.global.json { Form::Json } else { Form::Text };
    let mut printer = Printer { form, quiet: cli.global.quiet, notes: Notes::Printed };
    if let Command::Doctor = cli.command {
        return doctor::run(sources, printer);
    }
    let (settings, layers) = Settings::load(sources)?;
    let serves = matches!(cli.command, Command::Serve(_));
    let tracing = if serves { Tracing::FromEnvironment } else { Tracing::Off };
    let telemetry = Telemetry::start(&settings.server, tracing);
    if settings.server.log_format == LogFormat::Json {
        printer.notes = Notes::Logged;
    }
    let done = run_command(cli, settings, layers, printer);
    let done = done.or_else(|failure| printer.log(failure));
    telemetry.finish();
    done
}

fn run_command(
    cli: Cli,
    settings: Settings,
    layers: Layers,
    printer: Printer,
) -> Result<Exit, Failure> {
    let context = Context { settings, layers, printer, global: cli.global };
    match cli.command {
        Command::Init(args) => init::run(&context, &args),
        Command::Install(args) => install::run(&context, &context.global, &args),
        Command::Uninstall(args) => install::uninstall(&context, &args),
        Command::Serve(args) => serve::run(&context, &args),
        Command::Index(args) => index::run(&context, &args),
        Command::Discover(args) => discover::run(&context, args),
        Command::Search(args) => search::run(&context, args),
        Command::Get(args) => get::run(&context, args),
        Command::Bases(args) => bases::run(&context, args),
        Command::Deps(args) => deps::run(&context, args),
        Command::Status => status::run(&context),
        Command::Lookup(args) => catalog::lookup(&context, args),
        Command::Compare(args) => catalog::compare(&context, args),
        Command::Capabilities(args) => catalog::list(&context, args),
        Command::Sources(args) => catalog::sources(&context, args),
        Command::Catalog(cli::Catalog::Check(args)) => catalog::check(&context, &args),
        Command::Agents(command) => registry::agents(&context, command),
        Command::Skills(command) => registry::skills(&context, command),
        Command::Wrap(args) => wrap::run(&context, args),
        Command::Gaps(args) => gaps::gaps(&context, args),
        Command::Proposals(args) => gaps::proposals(&context, args),
        Command::Usage(args) => gaps::usage(&context, args),
        Command::Compose(args) => compose::run(&context, args),
        Command::Token(command) => token::run(&context, command),
        Command::Store(command) => store::run(&context, &command),
        Command::Cache(command) => cache::run(&context, &command),
        Command::Hook(command) => hook::run(&context, &command),
        Command::Eval(command) => eval::run(&context, &command),
        Command::Config(command) => config::run(&context, &command),
        Command::Completions { .. }
        | Command::Man { .. }
        | Command::WrapGuard
        | Command::Doctor => {
            unreachable!("`run` handles the commands that need no context")
        }
    }
}

/// The settings' sources: flags and environment of this process, and where its files are.
fn sources(global: &Global) -> Result<Sources, Failure> {
    let mut flags = Vec::new();
    let mut set = |key: &str, value: &str, flag: String| {
        flags.push((key.to_owned(), Value::from(value), flag));
    };
    for root in &global.root {
        let flag = format!("--root {root}");
        match root.split_once('=') {
            Some((name, path)) => set(&format!("bases.{name}.root_path"), path, flag),
            None => set("knowledge_base.root_path", root, flag),
        }
    }
    if let Some(folder) = &global.model_path {
        set("index.model_path", folder, format!("--model-path {folder}"));
    }
    if let Some(folder) = &global.catalog {
        set("catalog.path", folder, format!("--catalog {folder}"));
    }
    if let Some(url) = &global.store {
        // The origin leaves out the URL, which may hold a password.
        set("store.url", url, "--store".to_owned());
    }
    if let Some(level) = &global.log_level {
        set("server.log_level", level, format!("--log-level {level}"));
    }
    // `KENNING_TEST_*` configures the tests, which pass their environment on to this program.
    let is_setting =
        |name: &str| name.starts_with("KENNING_") && !name.starts_with("KENNING_TEST_");
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| is_setting(name));
    Ok(Sources {
        working_directory: std::env::current_dir()?,
        user_file: user_file(),
        project_file: global.config.clone(),
        variables: variables.collect(),
        flags,
    })
}

/// The flags that name what a command works on, for another process that works on the same. Without
/// the store's address, which may hold a password.
fn flags_of(global: &Global) -> Vec<String> {
    let mut flags = Vec::new();
    let mut add = |flag: &str, value: &str| flags.extend([flag.to_owned(), value.to_owned()]);
    for root in &global.root {
        add("--root", root);
    }
    if let Some(folder) = &global.model_path {
        add("--model-path", folder);
    }
    if let Some(file) = global.config.as_deref().and_then(std::path::Path::to_str) {
        add("--config", file);
    }
    flags
}

/// Chooses the TLS implementation for outgoing requests. A second call keeps the first choice.
pub(crate) fn install_tls_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
