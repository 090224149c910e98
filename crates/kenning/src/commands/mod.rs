//! What each command does.

mod bases;
mod cache;
mod catalog;
mod completions;
mod compose;
mod config;
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
mod registry;
mod search;
mod serve;
mod status;
mod store;
mod token;
mod wrap;

use std::path::PathBuf;
use std::sync::Arc;

use kenning_knowledge::Library;
use kenning_knowledge::library::LibraryError;
use kenning_knowledge::semantic::{IndexError, Indexer, NoCache, Pass, VectorCache};
use kenning_settings::{Layers, LogFormat, Settings, Sources};
use kenning_store::{Location, Store};
use toml::Value;

use crate::cli::{Cli, Command, Global};
use crate::failure::{Exit, Failure};
use crate::printer::{Form, Notes, Printer};
use crate::telemetry::{Telemetry, Tracing};

pub fn run(cli: Cli) -> Result<Exit, Failure> {
    if let Command::Completions { shell } = cli.command {
        return Ok(completions::run(shell));
    }
    if let Command::Man { folder } = &cli.command {
        return man::run(folder.as_deref());
    }
    if let Command::WrapGuard = cli.command {
        return wrap::run_watchdog();
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
    let tracing = if serves { Tracing::AsVariablesSay } else { Tracing::Off };
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
    let context = Context { settings, layers, printer };
    match cli.command {
        Command::Init(words) => init::run(&context, &words),
        Command::Install(install) => install::run(&context, &cli.global, &install),
        Command::Uninstall(uninstall) => install::uninstall(&context, &uninstall),
        Command::Serve(serve) => serve::run(&context, &serve),
        Command::Index(index) => index::run(&context, &index),
        Command::Discover(discover) => discover::run(&context, discover),
        Command::Search(search) => search::run(&context, search),
        Command::Status => status::run(&context),
        Command::Lookup(lookup) => catalog::lookup(&context, lookup),
        Command::Compare(compare) => catalog::compare(&context, compare),
        Command::Capabilities(list) => catalog::list(&context, list),
        Command::Sources(sources) => catalog::sources(&context, sources),
        Command::Catalog(crate::cli::Catalog::Check(check)) => catalog::check(&context, &check),
        Command::Agents(agents) => registry::agents(&context, agents),
        Command::Skills(skills) => registry::skills(&context, skills),
        Command::Wrap(words) => wrap::run(&context, words),
        Command::WrapGuard => wrap::run_watchdog(),
        Command::Gaps(words) => gaps::gaps(&context, words),
        Command::Proposals(words) => gaps::proposals(&context, words),
        Command::Usage(words) => gaps::usage(&context, words),
        Command::Compose(words) => compose::run(&context, words),
        Command::Token(token) => token::run(&context, token),
        Command::Store(store) => store::run(&context, &store),
        Command::Cache(cache) => cache::run(&context, &cache),
        Command::Hook(hook) => hook::run(&context, &hook),
        Command::Eval(eval) => eval::run(&context, &eval),
        Command::Get(get) => get::run(&context, get),
        Command::Bases(bases) => bases::run(&context, bases),
        Command::Deps(deps) => deps::run(&context, deps),
        Command::Config(config) => config::run(&context, &config),
        Command::Completions { shell } => Ok(completions::run(shell)),
        Command::Man { folder } => man::run(folder.as_deref()),
        Command::Doctor => doctor::run(self::sources(&cli.global)?, context.printer),
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

impl Context {
    /// The store, or `None`, with a warning, if there is no place to write to.
    fn open_store(&self) -> Result<Option<Arc<Store>>, Failure> {
        if let Some(location) = store_location(&self.settings, &self.layers)? {
            // Asked for, it must be there.
            return Ok(Some(Arc::new(Store::connect(&location)?)));
        }
        let Some(folder) = self.store_folder()? else { return Ok(None) };
        match Store::open(&folder) {
            Ok(store) => Ok(Some(Arc::new(store))),
            Err(error) => {
                tracing::warn!(%error, "nothing is remembered from this run");
                Ok(None)
            }
        }
    }

    /// The store, for what makes no sense without one.
    fn need_store(&self) -> Result<Arc<Store>, Failure> {
        if let Some(location) = store_location(&self.settings, &self.layers)? {
            return Ok(Arc::new(Store::connect(&location)?));
        }
        let folder = self.store_folder()?.ok_or_else(|| {
            Failure::new("there is no place to remember anything")
                .hint("name one with --store, or set HOME")
        })?;
        Ok(Arc::new(Store::open(&folder)?))
    }

    fn store_folder(&self) -> Result<Option<PathBuf>, Failure> {
        Ok(match self.settings.storage_folder(&self.layers)? {
            Some(folder) => Some(folder),
            None => data_folder(),
        })
    }

    fn vector_cache(store: Option<&Arc<Store>>) -> Arc<dyn VectorCache> {
        match store {
            Some(store) => store.clone(),
            None => Arc::new(NoCache),
        }
    }

    /// Reads the knowledge bases and computes what vectors are missing.
    fn open_embedded_library(&self, store: Option<&Arc<Store>>) -> Result<Arc<Library>, Failure> {
        let library = Arc::new(self.open_library()?);
        self.embed(&library, Self::vector_cache(store))?;
        Ok(library)
    }

    fn embed(&self, library: &Arc<Library>, cache: Arc<dyn VectorCache>) -> Result<Pass, Failure> {
        let model = self.settings.model(&self.layers)?.load()?;
        let mut indexer = Indexer::new(library.clone(), cache, model);
        let bar = self.printer.progress("embedding");
        let pass = indexer.catch_up(&|done, total| {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        });
        bar.finish_and_clear();
        Ok(pass?)
    }
}

/// The store that `store.url` names, if it is set.
fn store_location(settings: &Settings, layers: &Layers) -> Result<Option<Location>, Failure> {
    let location = settings.store_url(layers)?.map(str::parse::<Location>).transpose();
    Ok(location.map_err(|error| layers.fault("store.url", &error.to_string()))?)
}

/// `$XDG_DATA_HOME/kenning`, or the place that stands for it.
fn data_folder() -> Option<PathBuf> {
    let folder = absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local").join("share")))
        .or_else(|| absolute("LOCALAPPDATA"))?;
    Some(folder.join("kenning"))
}

fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

impl From<kenning_knowledge::Error> for Failure {
    fn from(error: kenning_knowledge::Error) -> Self {
        Self::new(error.to_string()).hint(error.hint())
    }
}

impl From<kenning_store::StoreError> for Failure {
    fn from(error: kenning_store::StoreError) -> Self {
        let hint = error.hint().map(str::to_owned);
        Self { hint, ..Self::new(error.to_string()) }
    }
}

impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Self {
        Self::new(error.to_string()).hint("`--type keyword` needs no model")
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
    if let Some(folder) = &global.model_path {
        let flag = format!("--model-path {folder}");
        flags.push(("index.model_path".to_owned(), Value::from(folder.as_str()), flag));
    }
    if let Some(folder) = &global.catalog {
        let flag = format!("--catalog {folder}");
        flags.push(("catalog.path".to_owned(), Value::from(folder.as_str()), flag));
    }
    if let Some(url) = &global.store {
        // Not the address, which may hold a password.
        flags.push(("store.url".to_owned(), Value::from(url.as_str()), "--store".to_owned()));
    }
    if let Some(level) = &global.log_level {
        let flag = format!("--log-level {level}");
        flags.push(("server.log_level".to_owned(), Value::from(level.as_str()), flag));
    }
    // Those of the tests are told to the tests, which run this program among others.
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

/// `$XDG_CONFIG_HOME/kenning/kenning.toml`, or the place that stands for it.
fn user_file() -> Option<PathBuf> {
    let folder = absolute("XDG_CONFIG_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".config")))
        .or_else(|| absolute("APPDATA"))?;
    Some(folder.join("kenning").join("kenning.toml"))
}

/// TLS for outgoing requests. A second call keeps the first choice.
pub(crate) fn use_ring() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
