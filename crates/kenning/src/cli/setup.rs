//! Verbs of the setup: `init`, `install`, `uninstall`.

use std::path::PathBuf;

use clap::Args;
use kenning_catalog::clients::Scope;

use super::one_of;

#[derive(Debug, Args)]
pub struct Init {
    /// Also write a skill that tells agents to ask Kenning before they act, into this folder of
    /// skills, such as .claude/skills [default: .agents/skills]
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = ".agents/skills")]
    pub skill: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Install {
    /// Client, such as claude-code; without one, the supported clients are listed
    pub client: Option<String>,
    /// Install into all clients found on this machine
    #[arg(long, conflicts_with_all = ["client", "print"])]
    pub all_detected: bool,
    #[command(flatten)]
    pub entry: EntryName,
    /// Print the entry to paste into the client's file, and change nothing
    #[arg(long)]
    pub print: bool,
    /// Print what would be done, and change nothing
    #[arg(long, conflicts_with = "print")]
    pub dry_run: bool,
    /// Further arguments for `kenning serve`
    #[arg(last = true, value_name = "ARGS")]
    pub args: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Uninstall {
    /// Client, such as claude-code
    pub client: String,
    #[command(flatten)]
    pub entry: EntryName,
    /// Print what would be done, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Identifies one entry in a client's configuration.
#[derive(Debug, Args)]
pub struct EntryName {
    /// Configuration to change: the user's, or that of the project in this folder
    #[arg(long, default_value = "user", value_parser = one_of::<Scope>(&["user", "project"]))]
    pub scope: Scope,
    /// Name of the server in the client's configuration
    #[arg(long, default_value = "kenning")]
    pub name: String,
}
