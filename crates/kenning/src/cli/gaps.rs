//! Verbs on what is missing.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use kenning_settings::parse_age;

#[derive(Debug, Args)]
pub struct Wrap {
    /// Wrap a server at this address instead of a program
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub url: Option<String>,
    /// Send this with every request to the server, as `Name: value`; may be given several times
    #[arg(long = "header", value_name = "HEADER", requires = "url")]
    pub headers: Vec<String>,
    /// Whose calls these are, in reports [default: the name of the program or host]
    #[arg(long, value_name = "ID")]
    pub project: Option<String>,
    /// Who uses the server, in reports
    #[arg(long, value_name = "ID")]
    pub user: Option<String>,
    /// Send what is heard to another Kenning (or mcpeye) instead of this user's store; the secret
    /// is read from `MCPEYE_INGEST_SECRET`
    #[arg(long, value_name = "URL")]
    pub ingest: Option<String>,
    /// Do not offer the tool by which agents ask for what is missing
    #[arg(long)]
    pub no_tool: bool,
    /// Do not ask agents why they call a tool
    #[arg(long)]
    pub no_intent: bool,
    /// The program and its arguments, after `--`
    #[arg(last = true, required_unless_present = "url")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Gaps {
    #[command(subcommand)]
    pub command: Option<GapsCommand>,
    /// Only those of this project
    #[arg(long, value_name = "ID")]
    pub project: Option<String>,
    /// Only those in this state
    #[arg(long, default_value = "open")]
    pub status: Standing,
    /// How many at the most
    #[arg(long, short = 'n', value_name = "N", default_value_t = kenning_gaps::list::DEFAULT_GAPS)]
    pub max_results: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Standing {
    Open,
    Closed,
    Muted,
    Merged,
    All,
}

#[derive(Debug, Subcommand)]
pub enum GapsCommand {
    /// Report what agents could not do: what they asked for, what failed, what they meant
    Report {
        #[arg(long, default_value = "md")]
        format: ReportFormat,
        /// Only this project
        #[arg(long, value_name = "ID")]
        project: Option<String>,
        /// How far to look back, such as 7d or 12h
        #[arg(long, value_name = "AGE", default_value = "7d", value_parser = parse_age)]
        since: Duration,
        /// How many entries in each list
        #[arg(long, value_name = "N")]
        top: Option<usize>,
    },
    /// Show one gap, and the sessions in which it was asked for, call by call
    Show { id: String },
    /// Close a gap
    Close {
        id: String,
        /// How it was answered
        #[arg(long, default_value = "")]
        note: String,
    },
    /// Hear no more of a gap; asks are still counted
    Mute { id: String },
    /// Say that two gaps are one
    Merge { id: String, into: String },
    /// Open a gap again
    Reopen {
        id: String,
        #[arg(long, default_value = "")]
        because: String,
    },
    /// Remove what a user did, or what is old
    Forget(Forget),
}

#[derive(Debug, Args)]
#[group(required = true)]
pub struct Forget {
    /// The user's id or e-mail address
    #[arg(long, value_name = "ID")]
    pub user: Option<String>,
    /// Keep only what is younger than this, such as 90d
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub keep: Option<Duration>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ReportFormat {
    Md,
    Json,
    Html,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Proposals {
    #[command(subcommand)]
    pub command: Option<ProposalsCommand>,
    /// With those that were decided
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Subcommand)]
pub enum ProposalsCommand {
    /// List the proposals that wait for a decision
    List,
    /// Print a proposed file
    Show { id: String },
    /// Write a proposed file into the knowledge base
    Accept {
        id: String,
        /// The knowledge base, if there are several [default: the first]
        #[arg(long, value_name = "NAME")]
        base: Option<String>,
    },
    /// Turn a proposal down
    Reject {
        id: String,
        #[arg(long, default_value = "")]
        reason: String,
    },
}

#[derive(Debug, Args)]
pub struct Usage {
    /// How far to look back, such as 30d
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub since: Option<Duration>,
    /// Only nodes of this base
    #[arg(long, value_name = "NAME")]
    pub base: Option<String>,
    /// How many nodes in each list
    #[arg(long, short = 'n', value_name = "N")]
    pub max_results: Option<usize>,
}
