//! Verbs on what coding agents can do, and measurements.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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
