//! Verbs of the first minutes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct Init {
    /// Also write a skill that teaches agents to ask before they act, for those that look into
    /// this folder, such as .claude/skills; without one, .agents/skills
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = ".agents/skills")]
    pub skill: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Install {
    /// Which client, such as claude-code; without one, all are listed
    pub client: Option<String>,
    /// All clients that are found on this machine
    #[arg(long, conflicts_with_all = ["client", "print"])]
    pub all_detected: bool,
    #[command(flatten)]
    pub entry: EntryName,
    /// Print what to paste into the client's file, and change nothing
    #[arg(long)]
    pub print: bool,
    /// Say what would be done, and change nothing
    #[arg(long, conflicts_with = "print")]
    pub dry_run: bool,
    /// More words for `kenning serve`
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Uninstall {
    /// Which client, such as claude-code
    pub client: String,
    #[command(flatten)]
    pub entry: EntryName,
    /// Say what would be done, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Which entry of a client.
#[derive(Debug, Args)]
pub struct EntryName {
    /// For all that you do, or for the project in this folder
    #[arg(long, value_enum, default_value_t = InstallScope::User)]
    pub scope: InstallScope,
    /// What the client calls the server
    #[arg(long, default_value = "kenning")]
    pub name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InstallScope {
    User,
    Project,
}
