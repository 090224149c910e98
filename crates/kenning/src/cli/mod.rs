//! The command line: what can be typed. What it does is in [`crate::commands`].

mod catalog;
mod compose;
mod gaps;
mod knowledge;
mod registry;
mod setup;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

pub use catalog::*;
pub use compose::*;
pub use gaps::*;
pub use knowledge::*;
pub use registry::*;
pub use setup::*;

/// What coding agents can do, what is known, and what is missing.
///
/// Exit codes: 0 done, 1 failed or nothing found, 2 wrong usage or settings.
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
    /// Read this folder of Markdown instead of the configured bases; as NAME=PATH, besides them
    #[arg(long, global = true, value_name = "[NAME=]PATH")]
    pub root: Vec<String>,
    /// The project's settings, instead of the nearest kenning.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print answers as JSON, exactly as the tool of the same purpose returns them
    #[arg(long, global = true)]
    pub json: bool,
    /// Say nothing but the answer
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// A folder with model.onnx and tokenizer.json, instead of the built-in model
    #[arg(long, global = true, value_name = "FOLDER")]
    pub model_path: Option<String>,
    /// A `PostgreSQL` database that a team shares, instead of this user's own file
    #[arg(long, global = true, value_name = "URL")]
    pub store: Option<String>,
    /// A folder with a catalog of your own agents, besides the built-in one
    #[arg(long, global = true, value_name = "FOLDER")]
    pub catalog: Option<String>,
    /// How much to log to standard error
    #[arg(long, global = true, value_name = "LEVEL", value_parser = ["error", "warn", "info", "debug", "trace"])]
    pub log_level: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the Markdown of this folder, and write a kenning.toml for it if there is none
    Init(Init),
    /// Give the server to an MCP client, or list the clients
    Install(Install),
    /// Take the server from an MCP client again
    Uninstall(Uninstall),
    /// Look for what is wrong, and change nothing
    Doctor,
    /// Run the MCP server, on standard input and output unless --http is given
    Serve(Serve),
    /// Read all knowledge bases and report what their authors may want to mend
    Index(Index),
    /// Say what should be read before a task
    Discover(Discover),
    /// Find nodes by their words and their meaning
    Search(Search),
    /// Print nodes by id or path
    Get(Get),
    /// List the files of the knowledge bases
    Bases(Bases),
    /// Show what a node waits for and what waits for it
    Deps(Deps),
    /// Show what is indexed, and how much of it by meaning
    Status,
    /// Say whether and how a coding agent can do something
    Lookup(Lookup),
    /// Compare coding agents by one capability
    Compare(Compare),
    /// List what a coding agent can do, or what is in a category
    Capabilities(Capabilities),
    /// Show where it is documented
    Sources(Sources),
    /// Look after the catalog of coding agents
    #[command(subcommand)]
    Catalog(Catalog),
    /// Look after the team's agents
    #[command(subcommand)]
    Agents(Agents),
    /// Look after the skills that the team's agents have
    #[command(subcommand)]
    Skills(Skills),
    /// Hear what agents could not do with an MCP server: `wrap -- PROGRAM`, `wrap --url URL`
    Wrap(Wrap),
    /// Keeps a wrapped server from outliving its wrapper
    #[command(hide = true)]
    WrapGuard,
    /// List what agents asked for and could not get
    Gaps(Gaps),
    /// Decide on knowledge that agents propose
    Proposals(Proposals),
    /// Show which knowledge is used, and which never is
    Usage(Usage),
    /// Make files, such as AGENTS.md, from what is known
    Compose(Compose),
    /// Look after the tokens that other machines need
    #[command(subcommand)]
    Token(Token),
    /// Move the registry between stores, or to a safe place
    #[command(subcommand)]
    Store(StoreCommand),
    /// Move computed vectors between machines
    #[command(subcommand)]
    Cache(Cache),
    /// Bring the index up to date after every commit and merge
    #[command(subcommand)]
    Hook(Hook),
    /// Measure how good search is, and how well models choose tools
    #[command(subcommand)]
    Eval(Eval),
    /// Look at the settings
    #[command(subcommand)]
    Config(Config),
    /// Print a completion script for a shell
    Completions { shell: Shell },
    /// Print the manual page
    Man {
        /// Write a page for every command into this folder instead
        folder: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct Serve {
    /// Serve over HTTP, at this address if one is given [default: 127.0.0.1:8765]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "")]
    pub http: Option<String>,
    /// Groups of tools to offer, with their resources and prompts, separated by commas, or `all`
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub toolsets: Vec<String>,
    /// Offer no tool that changes anything
    #[arg(long)]
    pub read_only: bool,
    /// Do not watch the files for changes
    #[arg(long)]
    pub no_watch: bool,
}

#[derive(Debug, Subcommand)]
pub enum Config {
    /// Print all settings in force
    Show {
        /// Say where each one comes from
        #[arg(long)]
        origin: bool,
    },
}
