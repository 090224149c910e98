//! Verbs on the team's own agents.

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
