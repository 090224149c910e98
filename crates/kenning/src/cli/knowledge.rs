//! Verbs on knowledge bases.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

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
