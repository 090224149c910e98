//! The command line: what can be typed. What it does is in [`crate::commands`].

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

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
}

#[derive(Debug, Args)]
pub struct Serve {
    /// Serve over HTTP, at this address if one is given [default: 127.0.0.1:8765]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "")]
    pub http: Option<String>,
    /// Groups of tools to offer, separated by commas, or `all`
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub toolsets: Vec<String>,
    /// Offer no tool that changes anything
    #[arg(long)]
    pub read_only: bool,
    /// Do not watch the files for changes
    #[arg(long)]
    pub no_watch: bool,
}

#[derive(Debug, Args)]
pub struct Index {
    /// Fail if there is anything to mend
    #[arg(long)]
    pub check: bool,
    /// Compute the vectors that are missing, too
    #[arg(long)]
    pub embed: bool,
}

#[derive(Debug, Args)]
pub struct Discover {
    /// The task, in your own words
    pub task: String,
    /// What kind of task it is
    #[arg(long = "type", value_name = "TYPE")]
    pub task_type: Option<TaskType>,
    /// The file being worked on
    #[arg(long, value_name = "PATH")]
    pub current_file: Option<String>,
    /// How many recommendations at the most [default: 5]
    #[arg(long, short = 'n', value_name = "N")]
    pub max_results: Option<usize>,
    /// The best set that fits in this many tokens
    #[arg(long, value_name = "N")]
    pub token_budget: Option<usize>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum TaskType {
    Implement,
    Debug,
    Refactor,
    Document,
    Review,
    Design,
    Test,
}

#[derive(Debug, Subcommand)]
pub enum Cache {
    /// Write all vectors to a new file
    Export { file: PathBuf },
    /// Take in the vectors of an exported file
    Import { file: PathBuf },
}

#[derive(Debug, Subcommand)]
pub enum Hook {
    /// Install the git hooks; hooks of others are left alone
    Install,
    /// Remove the git hooks that `install` made
    Uninstall,
}

#[derive(Debug, Subcommand)]
pub enum Eval {
    /// Search a set of documents with known answers: corpus.jsonl, queries.jsonl, qrels.jsonl
    Retrieval { folder: PathBuf },
    /// Give a model plain requests and see which tools it calls, with which arguments
    Tools(EvalTools),
}

#[derive(Debug, Args)]
pub struct EvalTools {
    /// The model, such as claude-sonnet-4-5, gpt-5, gemini-2.5-pro; its provider's key is read
    /// from the environment (`ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, `GEMINI_API_KEY` …)
    #[arg(long, required_unless_present = "offline")]
    pub model: Option<String>,
    /// An OpenAI-compatible endpoint, such as `http://127.0.0.1:8080/v1/`
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// Without a model: whether names resolve, and what answers cost in tokens
    #[arg(long, conflicts_with_all = ["model", "endpoint"])]
    pub offline: bool,
    /// Only the first so many requests
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
}

#[derive(Debug, Args)]
pub struct Lookup {
    /// The agent, by its id or what people call it
    pub agent: String,
    /// The capability, in any words
    pub capability: String,
}

#[derive(Debug, Args)]
pub struct Compare {
    /// The capability, in any words
    pub capability: String,
    /// Only these agents
    pub agents: Vec<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct Capabilities {
    /// Of this agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// In this category
    #[arg(long, value_name = "NAME")]
    pub category: Option<String>,
}

#[derive(Debug, Args)]
pub struct Sources {
    /// Of this agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// For this capability
    #[arg(long, value_name = "NAME")]
    pub capability: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Agents {
    /// Add an agent
    Add {
        name: String,
        /// The next free one unless given
        #[arg(long, value_name = "N")]
        id: Option<i64>,
    },
    /// List the agents
    List,
    /// Give an agent another name
    Rename { agent: String, name: String },
    /// Remove an agent and all of its skills
    Remove { agent: String },
}

#[derive(Debug, Subcommand)]
pub enum Skills {
    /// Register a skill, or a new version of it
    Register {
        /// The agent, by its id or name
        #[arg(long)]
        agent: String,
        skill: String,
        /// A semantic version, such as 1.2.0
        #[arg(id = "skill_version", value_name = "VERSION")]
        version: String,
        /// More about it, as a JSON object
        #[arg(long, value_name = "JSON")]
        metadata: Option<String>,
    },
    /// List skills: those of one agent, or of all
    List {
        #[arg(long)]
        agent: Option<String>,
        /// Those that answer a question, best first
        #[arg(long)]
        query: Option<String>,
        /// With those that are inactive
        #[arg(long)]
        all: bool,
    },
    /// Mark a skill as inactive
    Deactivate {
        #[arg(long)]
        agent: String,
        skill: String,
    },
    /// Register what is found in SKILL.md folders, and deactivate what is gone
    Sync {
        #[arg(long)]
        agent: String,
        /// Where to look [default: the usual places of coding agents]
        folders: Vec<PathBuf>,
        /// Only say what would be done
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Catalog {
    /// Find what is wrong with the data: schema, names, sources that are too old
    Check(CatalogCheck),
}

#[derive(Debug, Args)]
pub struct CatalogCheck {
    /// Ask for every linked page, too; needs a network
    #[arg(long)]
    pub links: bool,
}

#[derive(Debug, Args)]
pub struct Search {
    /// What to look for
    pub query: String,
    /// How to look
    #[arg(long = "type", value_name = "TYPE", default_value = "hybrid")]
    pub search_type: SearchType,
    /// Only in this base, file or section; may be given several times
    #[arg(long, value_name = "ID")]
    pub scope: Vec<String>,
    /// How many results at the most
    #[arg(long, short = 'n', value_name = "N", default_value_t = kenning_knowledge::search::DEFAULT_RESULTS)]
    pub max_results: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SearchType {
    Semantic,
    Keyword,
    Hybrid,
}

#[derive(Debug, Args)]
pub struct Get {
    /// Ids, or paths such as guides/SETUP.md#linux
    #[arg(required = true)]
    pub ids: Vec<String>,
    /// With all sections below
    #[arg(long)]
    pub children: bool,
    /// How to print the content
    #[arg(long, default_value = "markdown")]
    pub format: Format,
    /// Leave out content beyond this many tokens
    #[arg(long, value_name = "N", default_value_t = kenning_knowledge::retrieve::DEFAULT_MAX_TOKENS)]
    pub max_tokens: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Format {
    Markdown,
    Json,
    Plain,
}

#[derive(Debug, Args)]
pub struct Bases {
    /// Only files with a section of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub filter_type: Option<String>,
    /// Only files with a section of this status
    #[arg(long = "status", value_name = "STATUS")]
    pub filter_status: Option<String>,
    /// Only files of this base
    #[arg(long, value_name = "NAME")]
    pub base: Option<String>,
    /// How many files at the most
    #[arg(long, short = 'n', value_name = "N", default_value_t = kenning_knowledge::list::DEFAULT_LIST)]
    pub max_results: usize,
    /// How many files to pass over
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub offset: usize,
}

#[derive(Debug, Args)]
pub struct Deps {
    /// The node's id or path
    pub id: String,
    /// Which way to look
    #[arg(long, default_value = "both")]
    pub direction: Direction,
    /// How many steps to go
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub depth: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Direction {
    Upstream,
    Downstream,
    Both,
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
