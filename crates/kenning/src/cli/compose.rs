//! Verbs on files that are made from what is known.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct Compose {
    #[command(subcommand)]
    pub command: ComposeCommand,
}

#[derive(Debug, Subcommand)]
pub enum ComposeCommand {
    /// List what can be made, built in or from .kenning/compose
    List,
    /// Print what a content would say
    Preview {
        id: String,
        /// A value for it, as NAME=VALUE; may be given several times
        #[arg(long, value_name = "NAME=VALUE")]
        set: Vec<String>,
    },
    /// Make the files of an artifact, such as agents-md
    Build {
        id: String,
        /// A value for its contents, as NAME=VALUE; may be given several times
        #[arg(long, value_name = "NAME=VALUE")]
        set: Vec<String>,
        /// Write here instead, in the project
        #[arg(long, short, value_name = "PATH")]
        output: Option<PathBuf>,
        /// Make everything anew, and replace files that somebody else has changed
        #[arg(long)]
        force: bool,
        /// Go on, and make it anew whenever the knowledge changes
        #[arg(long)]
        watch: bool,
    },
}
