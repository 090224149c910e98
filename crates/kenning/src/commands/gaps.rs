//! `gaps`, `proposals`, `usage`: what agents missed, what they propose, what they use.

use std::sync::Arc;

use kenning_gaps::Gaps;
use kenning_gaps::decide::{CloseGapRequest, MergeGapRequest, MuteGapRequest, ReopenGapRequest};
use kenning_gaps::forget::ForgetUserRequest;
use kenning_gaps::list::{GapsRequest, GapsResponse, ListedGap};
use kenning_gaps::offers::{
    AcceptProposalRequest, Decision, ListedProposal, ProposalsRequest, ProposalsResponse,
    RejectProposalRequest, ShowProposalRequest,
};
use kenning_gaps::render::Format;
use kenning_gaps::reporting::ReportRequest;
use kenning_gaps::show::{Replayed, ShowGapRequest, ShowGapResponse};
use kenning_knowledge::usage::{UsageLog, UsageRequest, UsageResponse};
use kenning_registry::Timestamp;
use kenning_store::Store;

use super::Context;
use super::clock::{before, now};
use super::context::embed;
use crate::cli::{self, GapsCommand, ProposalsCommand, ReportFormat};
use crate::failure::{Exit, Failure};

/// The gaps, with the asks of all calls recorded until now: no server may be running that extracts
/// them in the background.
fn open_gaps(store: Arc<Store>) -> Result<Gaps, Failure> {
    let gaps = with_model(store);
    extract(&gaps)?;
    Ok(gaps)
}

/// The gaps as they are stored. The model is loaded when something has to be compared.
pub(super) fn with_model(store: Arc<Store>) -> Gaps {
    Gaps::new(store).with_embedder(Arc::new(embed))
}

pub(super) fn extract(gaps: &Gaps) -> Result<(), Failure> {
    gaps.extract_asks(now())?;
    Ok(())
}

pub(super) fn gaps(context: &Context, args: cli::Gaps) -> Result<Exit, Failure> {
    let store = context.require_store()?;
    let gaps = open_gaps(store.clone())?;
    if let Some(command) = args.command {
        return run(context, &gaps, &store, command);
    }
    let request = GapsRequest {
        project_id: args.project,
        status: args.status,
        max_results: Some(args.max_results),
        ..GapsRequest::default()
    };
    context.answer(&gaps.gaps(&request)?, list_text)
}

fn run(
    context: &Context,
    gaps: &Gaps,
    store: &Store,
    command: GapsCommand,
) -> Result<Exit, Failure> {
    let changed = match command {
        GapsCommand::Report { format, project, since, top } => {
            let from = Some(before(since));
            let request = ReportRequest { project_id: project, from, until: None, top };
            return report(context, gaps, &request, format);
        }
        GapsCommand::Show { id } => {
            let gap = gaps.show(&ShowGapRequest { id, max_sessions: None })?;
            return context.answer(&gap, show_text);
        }
        GapsCommand::Forget(args) => return forget(context, gaps, store, args),
        GapsCommand::Close { id, note } => {
            gaps.close(&CloseGapRequest { id, by: person(), note }, now())?
        }
        GapsCommand::Mute { id } => gaps.mute(&MuteGapRequest { id }, now())?,
        GapsCommand::Merge { id, into } => gaps.merge(&MergeGapRequest { id, into }, now())?,
        GapsCommand::Reopen { id, because } => {
            gaps.reopen(&ReopenGapRequest { id, because }, now())?
        }
    };
    context.answer(&changed, |changed| changed.message.clone())
}

fn report(
    context: &Context,
    gaps: &Gaps,
    request: &ReportRequest,
    format: ReportFormat,
) -> Result<Exit, Failure> {
    let made = gaps.report(request)?;
    let format = match format {
        ReportFormat::Md => Format::Markdown,
        ReportFormat::Json => Format::Json,
        ReportFormat::Html => Format::Html,
    };
    context.answer(&made, |made| made.report.render(format))
}

fn forget(
    context: &Context,
    gaps: &Gaps,
    store: &Store,
    args: cli::Forget,
) -> Result<Exit, Failure> {
    let removed = match (args.user, args.keep) {
        (Some(user), _) => gaps.forget_user(&ForgetUserRequest { user })?,
        (None, keep) => {
            let since = before(keep.unwrap_or_default());
            store.forget_usage_before(since).map_err(|error| Failure::new(error.to_string()))?;
            gaps.forget_before(since, now())?
        }
    };
    context.answer(&removed, |removed| {
        format!("removed {} calls, {} asks and {} gaps", removed.events, removed.asks, removed.gaps)
    })
}

pub(super) fn proposals(context: &Context, args: cli::Proposals) -> Result<Exit, Failure> {
    let gaps = with_model(context.require_store()?);
    match args.command {
        None | Some(ProposalsCommand::List) => {
            let status = if args.all { Decision::All } else { Decision::Pending };
            let listed = gaps.proposals(&ProposalsRequest { status })?;
            context.answer(&listed, proposals_text)
        }
        Some(ProposalsCommand::Show { id }) => {
            let proposal = gaps.proposal(&ShowProposalRequest { id })?;
            context.answer(&proposal, |proposal| proposal.markdown.clone())
        }
        Some(ProposalsCommand::Accept { id, base }) => {
            extract(&gaps)?;
            accept(context, &gaps, id, base.as_deref())
        }
        Some(ProposalsCommand::Reject { id, reason }) => {
            let request = RejectProposalRequest { id, by: person(), reason };
            let rejected = gaps.reject(&request, now())?;
            context.answer(&rejected, |rejected| rejected.message.clone())
        }
    }
}

fn accept(context: &Context, gaps: &Gaps, id: String, base: Option<&str>) -> Result<Exit, Failure> {
    let library = context.open_library()?;
    let accepted = gaps.accept(&AcceptProposalRequest { id, by: person() }, now(), &|file| {
        let added = library.add_file(base, &file.path, &file.markdown);
        added.map_err(|error| error.to_string())
    })?;
    context.answer(&accepted, |accepted| format!("wrote {}", accepted.file.path))
}

pub(super) fn usage(context: &Context, args: cli::Usage) -> Result<Exit, Failure> {
    let store = context.require_store()?;
    let request = UsageRequest {
        from: args.since.map(before),
        until: None,
        base: args.base,
        max_results: args.max_results,
    };
    let used = store.used(&request.period()).map_err(|error| Failure::new(error.to_string()))?;
    let answer = context.open_library()?.snapshot().usage(&request, &used)?;
    context.answer(&answer, usage_text)
}

/// The user's name, recorded with decisions.
fn person() -> String {
    let name = ["USER", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    name.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

fn list_text(listed: &GapsResponse) -> String {
    if listed.gaps.is_empty() {
        return "no gaps".to_owned();
    }
    listed.gaps.iter().map(gap_line).collect::<Vec<_>>().join("\n")
}

fn gap_line(gap: &ListedGap) -> String {
    let requests = match gap.requests {
        0 => String::new(),
        number => format!(" (explicit requests: {number})"),
    };
    let (id, asks, status) = (&gap.id, gap.asks, gap.status.name());
    format!("{id}  {asks:>4}×  {status:<8} {:<14} {}{requests}", gap.project_id, gap.label)
}

fn show_text(found: &ShowGapResponse) -> String {
    let mut out = format!("{}\n", gap_line(&found.gap));
    for wording in &found.gap.wordings {
        out += &format!("  “{wording}”\n");
    }
    for session in &found.sessions {
        out += &session_text(session);
    }
    for proposal in &found.proposals {
        out +=
            &format!("\nproposed: {} {} → {}\n", proposal.id, proposal.title, proposal.target_path);
    }
    out
}

fn session_text(replayed: &Replayed) -> String {
    let session = &replayed.session;
    let mut out = format!("\nsession {} ({:?})\n", session.id, session.outcome).to_lowercase();
    for event in &session.events {
        let at = i64::try_from(event.timestamp)
            .map_or_else(|_| String::new(), |at| Timestamp(at).to_string());
        let mark = if event.is_error { '✗' } else { '✓' };
        out += &format!("  {at}  {mark} {}  {} ms\n", event.tool_name, event.duration_ms);
        if let Some(detail) = event.intent.as_deref().or(event.error_message.as_deref()) {
            out += &format!("      {detail}\n");
        }
    }
    out
}

fn proposals_text(listed: &ProposalsResponse) -> String {
    if listed.proposals.is_empty() {
        return "no proposals".to_owned();
    }
    let line = |proposal: &ListedProposal| {
        let status = proposal.status.name();
        format!("{}  {status:<8}  {} → {}", proposal.id, proposal.title, proposal.target_path)
    };
    listed.proposals.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn usage_text(usage: &UsageResponse) -> String {
    let mut out = format!(
        "{} of {} nodes were used; {} never\n",
        usage.found_nodes, usage.total_nodes, usage.never_found_nodes
    );
    for node in &usage.most_used {
        out += &format!(
            "{:>5} read {:>5} recommended {:>5} found  {}  {}\n",
            node.retrieved, node.discovered, node.searched, node.last_used, node.id
        );
    }
    for node in &usage.never_found {
        out += &format!("never  {}\n", node.id);
    }
    out
}
