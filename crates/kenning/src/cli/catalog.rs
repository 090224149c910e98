//! Verbs on the catalog of coding agents, and evaluations.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum Eval {
    /// Measure search on questions with known answers: ranking, calibration and refusal
    Retrieval(EvalRetrieval),
    /// Ask your own questions, and fail if a section that should answer one is not recommended
    Mine(EvalMine),
    /// Give a model plain requests and score which tools it calls, with which arguments
    Tools(EvalTools),
}

#[derive(Debug, Args)]
pub struct EvalMine {
    /// Questions, a line of JSON each: {"text": "…", "answers": [{"path": "guide.md", "heading":
    /// "Setup"}]}. Without answers, nothing should be recommended with confidence
    pub file: PathBuf,
    /// How many recommendations may come before an answer is found, including it
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub first: usize,
}

#[derive(Debug, Args)]
pub struct EvalRetrieval {
    /// Folder with questions.jsonl and corpus.jsonl or Markdown files, or in the form of BEIR sets
    /// (corpus.jsonl, queries.jsonl, qrels.jsonl)
    pub folder: PathBuf,
    /// Folder of the Markdown files, if they are not beside questions.jsonl
    #[arg(long, value_name = "FOLDER")]
    pub documents: Option<PathBuf>,
    /// Write what the model of relevance sees of every candidate, for `cargo xtask fit`
    #[arg(long, value_name = "FILE", hide = true)]
    pub features: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct EvalTools {
    /// Model to evaluate, such as claude-sonnet-4-5, gpt-5 or gemini-2.5-pro; the key of its
    /// provider is read from the environment (`ANTHROPIC_API_KEY`, `OPENAI_API_KEY`,
    /// `GEMINI_API_KEY` …)
    #[arg(long, required_unless_present = "offline")]
    pub model: Option<String>,
    /// OpenAI-compatible endpoint, such as `http://127.0.0.1:8080/v1/` [default: the model's
    /// provider]
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// Use no model: measure only whether names resolve and what answers cost in tokens
    #[arg(long, conflicts_with_all = ["model", "endpoint"])]
    pub offline: bool,
    /// Use only the first N requests [default: all]
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
}

#[derive(Debug, Args)]
pub struct Lookup {
    /// Agent, by id or common name
    pub agent: String,
    /// Capability, in your own words
    pub capability: String,
}

#[derive(Debug, Args)]
pub struct Compare {
    /// Capability, in your own words
    pub capability: String,
    /// Agents to compare [default: all]
    pub agents: Vec<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct Capabilities {
    /// Only capabilities of this agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Only capabilities in this category
    #[arg(long, value_name = "NAME")]
    pub category: Option<String>,
}

#[derive(Debug, Args)]
pub struct Sources {
    /// Only claims about this agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Only claims about this capability
    #[arg(long, value_name = "NAME")]
    pub capability: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Catalog {
    /// Report errors in the data: schema violations, unknown names, outdated sources
    Check(CatalogCheck),
}

#[derive(Debug, Args)]
pub struct CatalogCheck {
    /// Also request every cited page; needs a network
    #[arg(long)]
    pub links: bool,
}
