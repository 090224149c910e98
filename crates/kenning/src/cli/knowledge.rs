//! Verbs on knowledge bases.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use kenning_knowledge::dependencies::Direction;
use kenning_knowledge::discover::TaskType;
use kenning_knowledge::retrieve::Format;
use kenning_knowledge::search::SearchType;

use super::one_of;

const TASK_TYPES: &[&str] =
    &["implement", "debug", "refactor", "document", "review", "design", "test"];
const SEARCH_TYPES: &[&str] = &["semantic", "keyword", "hybrid"];
const FORMATS: &[&str] = &["markdown", "json", "plain"];
const DIRECTIONS: &[&str] = &["upstream", "downstream", "both"];

#[derive(Debug, Args)]
pub struct Index {
    /// Exit with 1 if there are problems
    #[arg(long)]
    pub check: bool,
    /// Also compute missing vectors
    #[arg(long)]
    pub embed: bool,
    /// Compute missing vectors unless another process does, and print nothing
    #[arg(long, hide = true)]
    pub background: bool,
}

#[derive(Debug, Clone, Copy, Args)]
pub struct Wait {
    /// Wait until all vectors are computed, instead of searching by keywords where they are missing
    #[arg(long)]
    pub wait: bool,
}

#[derive(Debug, Args)]
pub struct Discover {
    /// Task, in your own words
    pub task: String,
    /// Type of the task
    #[arg(long = "type", value_name = "TYPE", value_parser = one_of::<TaskType>(TASK_TYPES))]
    pub task_type: Option<TaskType>,
    /// File that is being worked on
    #[arg(long, value_name = "PATH")]
    pub current_file: Option<String>,
    /// Maximum number of recommendations [default: 5]
    #[arg(long, short = 'n', value_name = "N")]
    pub max_results: Option<usize>,
    /// Recommend the best set of nodes that fits in this many tokens
    #[arg(long, value_name = "N")]
    pub token_budget: Option<usize>,
    #[command(flatten)]
    pub wait: Wait,
}

#[derive(Debug, Subcommand)]
pub enum Cache {
    /// Write all vectors to a new file
    Export {
        /// File to create
        file: PathBuf,
    },
    /// Add the vectors of an exported file to the store
    Import {
        /// File that `cache export` wrote
        file: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub enum Hook {
    /// Install the git hooks; existing hooks of other tools are kept
    Install,
    /// Remove the git hooks that `hook install` wrote
    Uninstall,
}

#[derive(Debug, Args)]
pub struct Search {
    /// Words or question to search for
    pub query: String,
    /// Kind of search
    #[arg(long = "type", value_name = "TYPE", default_value = "hybrid", value_parser = one_of::<SearchType>(SEARCH_TYPES))]
    pub search_type: SearchType,
    /// Search only in this base, file or section; can be given several times
    #[arg(long, value_name = "ID")]
    pub scope: Vec<String>,
    /// Maximum number of results
    #[arg(long, short = 'n', value_name = "N", default_value_t = kenning_knowledge::search::DEFAULT_RESULTS)]
    pub max_results: usize,
    #[command(flatten)]
    pub wait: Wait,
}

#[derive(Debug, Args)]
pub struct Get {
    /// Ids or paths of nodes, such as guides/SETUP.md#linux
    #[arg(required = true)]
    pub ids: Vec<String>,
    /// Include all subsections
    #[arg(long)]
    pub children: bool,
    /// Format of the content
    #[arg(long, default_value = "markdown", value_parser = one_of::<Format>(FORMATS))]
    pub format: Format,
    /// Omit content beyond this many tokens
    #[arg(long, value_name = "N", default_value_t = kenning_knowledge::retrieve::DEFAULT_MAX_TOKENS)]
    pub max_tokens: usize,
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
    /// Maximum number of files
    #[arg(long, short = 'n', value_name = "N", default_value_t = kenning_knowledge::list::DEFAULT_LIST)]
    pub max_results: usize,
    /// Number of files to skip
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub offset: usize,
}

#[derive(Debug, Args)]
pub struct Deps {
    /// Id or path of the node
    pub id: String,
    /// Follow what the node depends on (upstream), what depends on it (downstream), or both
    #[arg(long, default_value = "both", value_parser = one_of::<Direction>(DIRECTIONS))]
    pub direction: Direction,
    /// Number of steps to follow
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub depth: usize,
}
