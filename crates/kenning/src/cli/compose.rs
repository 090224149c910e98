//! Verbs on generated files.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Wait;

#[derive(Debug, Args)]
pub struct Compose {
    #[command(subcommand)]
    pub command: ComposeCommand,
}

#[derive(Debug, Subcommand)]
pub enum ComposeCommand {
    /// List the artifacts that can be built: the built-in ones and those in .kenning/compose
    List,
    /// Print the text of a content or the files of an artifact without writing anything
    Preview {
        /// Id of the content or artifact
        id: String,
        /// Value for a parameter; can be given several times
        #[arg(long, value_name = "NAME=VALUE")]
        set: Vec<String>,
        #[command(flatten)]
        wait: Wait,
    },
    /// Write the files of an artifact, such as agents-md
    Build {
        /// Id of the artifact
        id: String,
        /// Value for a parameter of its contents; can be given several times
        #[arg(long, value_name = "NAME=VALUE")]
        set: Vec<String>,
        /// Path to write to, inside the project [default: the path in the artifact's config]
        #[arg(long, short, value_name = "PATH")]
        output: Option<PathBuf>,
        /// Regenerate everything, and replace files that were edited since
        #[arg(long)]
        force: bool,
        /// Keep running, and rebuild whenever the knowledge changes
        #[arg(long)]
        watch: bool,
        #[command(flatten)]
        wait: Wait,
    },
}
