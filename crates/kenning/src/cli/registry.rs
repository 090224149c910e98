//! Verbs on the team's own agents, and on who and what else the store holds.

use std::path::PathBuf;

use clap::Subcommand;

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
pub enum Token {
    /// Make a token and print it; it is shown only once
    Create {
        /// What to call it, such as the machine it is for
        name: String,
        /// `read`, `write` (reads, too), or `ingest` (sends what was heard of tools)
        #[arg(long, default_value = "read")]
        scope: kenning_web::token::Scope,
        /// With `ingest`: only for this project
        #[arg(long, value_name = "ID")]
        project: Option<String>,
    },
    /// List the tokens, without their secrets
    List,
    /// Make a token, by its name or id, worthless at once
    Revoke { token: String },
}

#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Write all agents and their skills to a new file
    Export { file: PathBuf },
    /// Take in an exported file; the store may be another kind of database
    Import { file: PathBuf },
}
