//! Verbs on gaps: what agents asked for and could not get.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use kenning_gaps::list::Standing;
use kenning_settings::parse_age;

use super::one_of;

#[derive(Debug, Args)]
pub struct Wrap {
    /// Address of a remote server to wrap instead of a program
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub url: Option<String>,
    /// Header to send with every request to the server, as `Name: value`; can be given several times
    #[arg(long = "header", value_name = "HEADER", requires = "url")]
    pub headers: Vec<String>,
    /// Project that the calls are reported under [default: the name of the program or host]
    #[arg(long, value_name = "ID")]
    pub project: Option<String>,
    /// User that the calls are reported under
    #[arg(long, value_name = "ID")]
    pub user: Option<String>,
    /// Kenning or mcpeye server to send the recorded calls to, with the secret in
    /// `MCPEYE_INGEST_SECRET` [default: this user's store]
    #[arg(long, value_name = "URL")]
    pub ingest: Option<String>,
    /// Do not add the tool with which agents request a missing capability
    #[arg(long)]
    pub no_tool: bool,
    /// Do not add the parameter that asks agents why they call a tool
    #[arg(long)]
    pub no_intent: bool,
    /// Program to run as the server, with its arguments, after `--`
    #[arg(last = true, required_unless_present = "url")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Gaps {
    #[command(subcommand)]
    pub command: Option<GapsCommand>,
    /// Only gaps of this project
    #[arg(long, value_name = "ID")]
    pub project: Option<String>,
    /// Only gaps with this status
    #[arg(long, default_value = "open", value_parser = one_of::<Standing>(&["open", "closed", "muted", "merged", "all"]))]
    pub status: Standing,
    /// Maximum number of gaps
    #[arg(long, short = 'n', value_name = "N", default_value_t = kenning_gaps::list::DEFAULT_GAPS)]
    pub max_results: usize,
}

#[derive(Debug, Subcommand)]
pub enum GapsCommand {
    /// Report what agents could not do: requests, failed calls and stated intents
    Report {
        /// Format of the report
        #[arg(long, default_value = "md")]
        format: ReportFormat,
        /// Only calls of this project
        #[arg(long, value_name = "ID")]
        project: Option<String>,
        /// Age of the oldest calls to include, such as 7d or 12h
        #[arg(long, value_name = "AGE", default_value = "7d", value_parser = parse_age)]
        since: Duration,
        /// Maximum number of entries in each list [default: 10]
        #[arg(long, value_name = "N")]
        top: Option<usize>,
    },
    /// Show a gap with the sessions in which it was asked for, call by call
    Show {
        /// Id of the gap
        id: String,
    },
    /// Close a gap
    Close {
        /// Id of the gap
        id: String,
        /// How the gap was resolved
        #[arg(long, default_value = "")]
        note: String,
    },
    /// Take a gap off the list of open gaps; asks are still counted
    Mute {
        /// Id of the gap
        id: String,
    },
    /// Merge a gap into another one that means the same
    Merge {
        /// Id of the gap to merge
        id: String,
        /// Id of the gap that remains
        into: String,
    },
    /// Reopen a gap
    Reopen {
        /// Id of the gap
        id: String,
        /// Why the gap is open again
        #[arg(long, default_value = "")]
        because: String,
    },
    /// Delete the recorded calls of a user, or old ones
    Forget(Forget),
}

#[derive(Debug, Args)]
#[group(required = true)]
pub struct Forget {
    /// User whose calls are deleted, by id or e-mail address
    #[arg(long, value_name = "ID")]
    pub user: Option<String>,
    /// Age beyond which calls are deleted, such as 90d
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
    /// Include accepted and rejected proposals
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, Subcommand)]
pub enum ProposalsCommand {
    /// List the pending proposals
    List,
    /// Print a proposed file
    Show {
        /// Id of the proposal
        id: String,
    },
    /// Write a proposed file into the knowledge base
    Accept {
        /// Id of the proposal
        id: String,
        /// Knowledge base to write to [default: the first]
        #[arg(long, value_name = "NAME")]
        base: Option<String>,
    },
    /// Reject a proposal
    Reject {
        /// Id of the proposal
        id: String,
        /// Why the proposal was rejected
        #[arg(long, default_value = "")]
        reason: String,
    },
}

#[derive(Debug, Args)]
pub struct Usage {
    /// Age of the oldest uses to count, such as 30d [default: all]
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub since: Option<Duration>,
    /// Only nodes of this base
    #[arg(long, value_name = "NAME")]
    pub base: Option<String>,
    /// Maximum number of nodes in each list [default: 20]
    #[arg(long, short = 'n', value_name = "N")]
    pub max_results: Option<usize>,
}
