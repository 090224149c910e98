//! Verbs on the team's agents, access tokens and the store.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Agents {
    /// Add an agent
    Add {
        /// Name of the agent
        name: String,
        /// Id of the agent [default: the next free one]
        #[arg(long, value_name = "N")]
        id: Option<i64>,
    },
    /// List the agents
    List,
    /// Rename an agent
    Rename {
        /// Agent, by id or name
        agent: String,
        /// New name of the agent
        name: String,
    },
    /// Remove an agent and all of its skills
    Remove {
        /// Agent, by id or name
        agent: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum Skills {
    /// Register a skill, or a new version of it
    Register {
        /// Agent, by id or name
        #[arg(long)]
        agent: String,
        /// Name of the skill
        skill: String,
        /// Semantic version, such as 1.2.0
        #[arg(id = "skill_version", value_name = "VERSION")]
        version: String,
        /// Description and other properties, as a JSON object
        #[arg(long, value_name = "JSON")]
        metadata: Option<String>,
    },
    /// List the skills of one agent, or of all
    List {
        /// Agent, by id or name
        #[arg(long)]
        agent: Option<String>,
        /// Only skills that match this question, best first
        #[arg(long)]
        query: Option<String>,
        /// Include inactive skills
        #[arg(long)]
        all: bool,
    },
    /// Mark a skill as inactive
    Deactivate {
        /// Agent, by id or name
        #[arg(long)]
        agent: String,
        /// Name of the skill
        skill: String,
    },
    /// Register the skills found in SKILL.md folders, and deactivate those that are gone
    Sync {
        /// Agent, by id or name
        #[arg(long)]
        agent: String,
        /// Folders to search [default: the skill folders of coding agents in project and home]
        folders: Vec<PathBuf>,
        /// Only print what would change
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Token {
    /// Create a token and print it; it is shown only once
    Create {
        /// Name of the token, such as the machine it is for
        name: String,
        /// What the token permits: `read`, `write` (includes `read`) or `ingest` (only sends recorded
        /// calls)
        #[arg(long, default_value = "read")]
        scope: kenning_web::token::Scope,
        /// Restrict an `ingest` token to this project
        #[arg(long, value_name = "ID")]
        project: Option<String>,
    },
    /// List the tokens, without their secrets
    List,
    /// Revoke a token by name or id, effective immediately
    Revoke {
        /// Name or id of the token
        token: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Write all agents and their skills to a new file
    Export {
        /// File to create
        file: PathBuf,
    },
    /// Add the agents and skills of an exported file; the store may be another kind of database
    Import {
        /// File that `store export` wrote
        file: PathBuf,
    },
}
