//! `gaps`, `proposals`, `usage`: what is missing, what was offered, what is used.

use std::sync::Arc;
use std::time::Duration;

use kenning_gaps::decide::{CloseGapRequest, MergeGapRequest, MuteGapRequest, ReopenGapRequest};
use kenning_gaps::forget::ForgetUserRequest;
use kenning_gaps::list::{GapsRequest, GapsResponse, ListedGap, Standing};
use kenning_gaps::offers::{
    AcceptProposalRequest, Decision, ProposalsRequest, ProposalsResponse, RejectProposalRequest,
    ShowProposalRequest,
};
use kenning_gaps::render::Format;
use kenning_gaps::reporting::ReportRequest;
use kenning_gaps::show::{Replayed, ShowGapRequest, ShowGapResponse};
use kenning_gaps::{Error, Gaps};
use kenning_knowledge::usage::{UsageLog, UsageRequest, UsageResponse};
use kenning_registry::Timestamp;
use kenning_store::Store;

use super::Context;
use super::catalog::embed;
use crate::cli::{self, GapsCommand, ProposalsCommand, ReportFormat};
use crate::failure::{Exit, Failure};

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    u64::try_from(Timestamp::now().0).unwrap_or_default()
}

fn before(age: Duration) -> u64 {
    now().saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
}

/// Gaps as a command sees them: with all that was heard until now.
pub(super) fn heard(store: Arc<Store>) -> Result<Gaps, Failure> {
    let gaps = Gaps::new(store).with_embedder(Arc::new(embed));
    gaps.extract_asks(now())?;
    Ok(gaps)
}

pub(super) fn gaps(context: &Context, words: cli::Gaps) -> Result<Exit, Failure> {
    let store = context.need_store()?;
    let gaps = heard(store.clone())?;
    match words.command {
        None => {
            let request = GapsRequest {
                project_id: words.project,
                status: standing(words.status),
                max_results: Some(words.max_results),
                ..GapsRequest::default()
            };
            context.printer.answer(&gaps.gaps(&request)?, list_text)?;
        }
        Some(command) => run(context, &gaps, &store, command)?,
    }
    Ok(Exit::Success)
}

fn standing(status: cli::Standing) -> Standing {
    match status {
        cli::Standing::Open => Standing::Open,
        cli::Standing::Closed => Standing::Closed,
        cli::Standing::Muted => Standing::Muted,
        cli::Standing::Merged => Standing::Merged,
        cli::Standing::All => Standing::All,
    }
}

fn run(context: &Context, gaps: &Gaps, store: &Store, words: GapsCommand) -> Result<(), Failure> {
    let changed = match words {
        GapsCommand::Report { format, project, since, top } => {
            let from = Some(before(since));
            let request = ReportRequest { project_id: project, from, until: None, top };
            return report(context, gaps, &request, format);
        }
        GapsCommand::Show { id } => {
            let shown = gaps.show(&ShowGapRequest { id, max_sessions: None })?;
            return context.printer.answer(&shown, show_text);
        }
        GapsCommand::Forget(forget) => return self::forget(context, gaps, store, forget),
        GapsCommand::Close { id, note } => {
            gaps.close(&CloseGapRequest { id, by: person(), note }, now())?
        }
        GapsCommand::Mute { id } => gaps.mute(&MuteGapRequest { id }, now())?,
        GapsCommand::Merge { id, into } => gaps.merge(&MergeGapRequest { id, into }, now())?,
        GapsCommand::Reopen { id, because } => {
            gaps.reopen(&ReopenGapRequest { id, because }, now())?
        }
    };
    context.printer.answer(&changed, |changed| changed.message.clone())
}

fn report(
    context: &Context,
    gaps: &Gaps,
    request: &ReportRequest,
    format: ReportFormat,
) -> Result<(), Failure> {
    let made = gaps.report(request)?;
    let format = match format {
        ReportFormat::Md => Format::Markdown,
        ReportFormat::Json => Format::Json,
        ReportFormat::Html => Format::Html,
    };
    context.printer.answer(&made, |made| made.report.render(format))
}

fn forget(
    context: &Context,
    gaps: &Gaps,
    store: &Store,
    words: cli::Forget,
) -> Result<(), Failure> {
    let gone = match (words.user, words.keep) {
        (Some(user), _) => gaps.forget_user(&ForgetUserRequest { user })?,
        (None, keep) => {
            let since = before(keep.unwrap_or_default());
            store.forget_usage_before(since).map_err(|error| Failure::new(error.to_string()))?;
            gaps.forget_before(since, now())?
        }
    };
    context.printer.answer(&gone, |gone| {
        format!("removed {} calls, {} asks and {} gaps", gone.events, gone.asks, gone.gaps)
    })
}

pub(super) fn proposals(context: &Context, words: cli::Proposals) -> Result<Exit, Failure> {
    let gaps = heard(context.need_store()?)?;
    let changed = match words.command {
        None | Some(ProposalsCommand::List) => {
            let status = if words.all { Decision::All } else { Decision::Pending };
            let listed = gaps.proposals(&ProposalsRequest { status })?;
            context.printer.answer(&listed, proposals_text)?;
            return Ok(Exit::Success);
        }
        Some(ProposalsCommand::Show { id }) => {
            let proposal = gaps.proposal(&ShowProposalRequest { id })?;
            context.printer.answer(&proposal, |proposal| proposal.markdown.clone())?;
            return Ok(Exit::Success);
        }
        Some(ProposalsCommand::Accept { id, base }) => {
            return accept(context, &gaps, id, base.as_deref());
        }
        Some(ProposalsCommand::Reject { id, reason }) => {
            gaps.reject(&RejectProposalRequest { id, by: person(), reason }, now())?
        }
    };
    context.printer.answer(&changed, |changed| changed.message.clone())?;
    Ok(Exit::Success)
}

fn accept(context: &Context, gaps: &Gaps, id: String, base: Option<&str>) -> Result<Exit, Failure> {
    let library = context.open_library()?;
    let accepted = gaps.accept(&AcceptProposalRequest { id, by: person() }, now(), &|file| {
        let added = library.add_file(base, &file.path, &file.markdown);
        added.map_err(|error| error.to_string())
    })?;
    context.printer.answer(&accepted, |accepted| format!("wrote {}", accepted.file.path))?;
    Ok(Exit::Success)
}

pub(super) fn usage(context: &Context, words: cli::Usage) -> Result<Exit, Failure> {
    let store = context.need_store()?;
    let request = UsageRequest {
        from: words.since.map(before),
        until: None,
        base: words.base,
        max_results: words.max_results,
    };
    let used = store.used(&request.period()).map_err(|error| Failure::new(error.to_string()))?;
    let answer = context.open_library()?.snapshot().usage(&request, &used)?;
    context.printer.answer(&answer, usage_text)?;
    Ok(Exit::Success)
}

/// Who is at the keyboard, for the record.
fn person() -> String {
    let name = ["USER", "USERNAME"].iter().find_map(|name| std::env::var(name).ok());
    name.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "somebody".to_owned())
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
        n => format!(" ({n} asked for by name)"),
    };
    let (id, asks, status) = (&gap.id, gap.asks, gap.status.name());
    format!("{id}  {asks:>4}×  {status:<8} {:<14} {}{requests}", gap.project_id, gap.label)
}

fn show_text(shown: &ShowGapResponse) -> String {
    let mut out = format!("{}\n", gap_line(&shown.gap));
    for wording in &shown.gap.wordings {
        out += &format!("  “{wording}”\n");
    }
    for session in &shown.sessions {
        out += &session_text(session);
    }
    for proposal in &shown.proposals {
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
        if let Some(said) = event.intent.as_deref().or(event.error_message.as_deref()) {
            out += &format!("      {said}\n");
        }
    }
    out
}

fn proposals_text(listed: &ProposalsResponse) -> String {
    if listed.proposals.is_empty() {
        return "no proposals".to_owned();
    }
    let line = |proposal: &kenning_gaps::offers::ListedProposal| {
        let status = proposal.status.name();
        format!("{}  {status:<8}  {} → {}", proposal.id, proposal.title, proposal.target_path)
    };
    listed.proposals.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn usage_text(usage: &UsageResponse) -> String {
    let mut out = format!(
        "{} of {} nodes came up; {} never did\n",
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

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Self::new(error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
