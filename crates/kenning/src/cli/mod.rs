//! The command line's grammar: verbs, flags and their help. [`crate::commands`] runs them.

mod catalog;
mod compose;
mod gaps;
mod knowledge;
mod registry;
mod setup;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use serde::de::value::{self, StringDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

pub use catalog::*;
pub use compose::*;
pub use gaps::*;
pub use knowledge::*;
pub use registry::*;
pub use setup::*;

/// MCP server and command line for project knowledge, the capabilities of coding agents, and the
/// gaps that agents run into.
///
/// Exit codes: 0 success, 1 failure or nothing found, 2 invalid usage or settings.
#[derive(Debug, Parser)]
#[command(name = "kenning", version, propagate_version = true, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Args)]
pub struct Global {
    /// Folder of Markdown to read instead of the configured bases; NAME=PATH adds a base to them.
    /// Can be given several times
    #[arg(long, global = true, value_name = "[NAME=]PATH")]
    pub root: Vec<String>,
    /// Settings file of the project [default: the nearest kenning.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print the answer as JSON, in the form that the corresponding tool returns
    #[arg(long, global = true)]
    pub json: bool,
    /// Print only the answer, without notes and progress
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Folder of a sentence-transformer with model.onnx [default: the built-in model]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub model_path: Option<String>,
    /// URL of a shared `PostgreSQL` database [default: a file in the user's data folder]
    #[arg(long, global = true, value_name = "URL")]
    pub store: Option<String>,
    /// Folder with a catalog of your own agents, added to the built-in catalog
    #[arg(long, global = true, value_name = "FOLDER")]
    pub catalog: Option<String>,
    /// Minimum level of log lines on standard error [default: info]
    #[arg(long, global = true, value_name = "LEVEL", value_parser = ["error", "warn", "info", "debug", "trace"])]
    pub log_level: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the Markdown in this folder and write a kenning.toml if there is none
    Init(Init),
    /// Add the server to the configuration of an MCP client, or list the supported clients
    Install(Install),
    /// Remove the server from the configuration of an MCP client
    Uninstall(Uninstall),
    /// Check settings, knowledge bases, store and clients without changing anything
    Doctor,
    /// Run the MCP server on standard input and output, or over HTTP with --http
    Serve(Serve),
    /// Read all knowledge bases and report problems in their files
    Index(Index),
    /// Recommend what to read before a task
    Discover(Discover),
    /// Search nodes by keywords and by meaning
    Search(Search),
    /// Print nodes by id or path
    Get(Get),
    /// List the files of the knowledge bases
    Bases(Bases),
    /// Show what a node depends on and what depends on it
    Deps(Deps),
    /// Show how many files, nodes and vectors are indexed, and where they are stored
    Status,
    /// Show whether and how a coding agent supports a capability
    Lookup(Lookup),
    /// Compare coding agents by one capability
    Compare(Compare),
    /// List the capabilities of a coding agent or of a category
    Capabilities(Capabilities),
    /// List the documents that the catalog cites for its claims
    Sources(Sources),
    /// Maintain the catalog of coding agents
    #[command(subcommand)]
    Catalog(Catalog),
    /// Manage the team's agents
    #[command(subcommand)]
    Agents(Agents),
    /// Manage the skills of the team's agents
    #[command(subcommand)]
    Skills(Skills),
    /// Proxy an MCP server and record what agents could not do with it: `wrap -- PROGRAM` or
    /// `wrap --url URL`
    Wrap(Wrap),
    /// Terminate a wrapped server when its wrapper is killed
    #[command(hide = true)]
    WrapGuard,
    /// List what agents asked for and could not get
    Gaps(Gaps),
    /// Review the knowledge that agents propose
    Proposals(Proposals),
    /// Show which nodes are used and which never are
    Usage(Usage),
    /// Generate files such as AGENTS.md from the knowledge
    Compose(Compose),
    /// Manage the access tokens that other machines need
    #[command(subcommand)]
    Token(Token),
    /// Export or import the registry of agents and skills
    #[command(subcommand)]
    Store(StoreCommand),
    /// Export or import computed vectors
    #[command(subcommand)]
    Cache(Cache),
    /// Manage git hooks that update the index after every commit and merge
    #[command(subcommand)]
    Hook(Hook),
    /// Measure the quality of search, and how well models choose tools
    #[command(subcommand)]
    Eval(Eval),
    /// Inspect the settings
    #[command(subcommand)]
    Config(Config),
    /// Print a completion script for a shell
    Completions {
        /// Shell to generate the script for
        shell: Shell,
    },
    /// Print the manual page
    Man {
        /// Write one page per command into this folder instead
        folder: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct Serve {
    /// Serve over HTTP, at this address if given [default: 127.0.0.1:8765]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "")]
    pub http: Option<String>,
    /// Toolsets to offer, with their resources and prompts, separated by commas, or `all`
    /// [default: default]
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub toolsets: Vec<String>,
    /// Offer only tools that change nothing
    #[arg(long)]
    pub read_only: bool,
    /// Do not watch the files for changes
    #[arg(long)]
    pub no_watch: bool,
}

#[derive(Debug, Subcommand)]
pub enum Config {
    /// Print all effective settings
    Show {
        /// Also print where each value comes from
        #[arg(long)]
        origin: bool,
    },
}

/// Parses an enum of a domain crate by its serialized names, so that a flag takes the same words
/// as the tool's parameter and the domain crates need no `clap`.
fn one_of<T>(names: &[&'static str]) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names.iter().copied()).try_map(|name| {
        T::deserialize::<StringDeserializer<value::Error>>(name.into_deserializer())
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::*;

    /// The lists given to [`one_of`] name no variant that the enums lack.
    #[test]
    fn every_listed_value_parses() {
        check(&Cli::command(), &["kenning".to_owned()]);
    }

    fn check(command: &clap::Command, path: &[String]) {
        for arg in command.get_arguments() {
            let Some(flag) = arg.get_long() else { continue };
            for value in arg.get_possible_values() {
                let word = format!("--{flag}={}", value.get_name());
                let parsed = Cli::try_parse_from(path.iter().chain([&word]));
                let invalid = parsed.is_err_and(|error| error.kind() == ErrorKind::ValueValidation);
                assert!(!invalid, "{path:?} {word}");
            }
        }
        for command in command.get_subcommands() {
            check(command, &[path, &[command.get_name().to_owned()]].concat());
        }
    }
}
