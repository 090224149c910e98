//! `/`: the state of the knowledge bases and of the store, and next steps.

use std::collections::BTreeMap;

use kenning_gaps::list::ListedGap;
use kenning_gaps::offers::ProposalsRequest;
use kenning_gaps::show::RecentCall;
use kenning_knowledge::Snapshot;
use kenning_registry::agents::ListAgentsRequest;
use maud::{Markup, html};

use super::form::encoded;
use super::layout::Column::{Number, Text};
use super::layout::{Tab, badge, empty, gauge, how_gaps_appear, no_store, table, time};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

const RECENT_GAPS: usize = 5;
const RECENT_CALLS: usize = 8;
const MAX_PROBLEMS: usize = 10;

/// What the store holds.
#[derive(Default)]
struct Stored {
    /// How many agents the registry has; `None` without a store.
    agents: Option<usize>,
    /// How many gaps are open; `None` without a store.
    open_gaps: Option<usize>,
    pending_proposals: usize,
    recent_gaps: Vec<ListedGap>,
    recent_calls: Vec<RecentCall>,
}

pub(super) fn view(services: &Services, _: &Visit) -> Result<Page, PageError> {
    let snapshot = services.library.snapshot();
    let stored = read_store(services)?;
    let body = html! {
        h1 { "Overview" }
        p class="lead" { "What your agents can find here, what they are missing, and what to do next." }
        (numbers(&snapshot, &stored))
        div class="columns" {
            section {
                h2 { "Next steps" }
                (next_steps(&snapshot, &stored))
            }
            section {
                h2 { "Recent gaps" }
                (recent_gaps(&stored))
            }
        }
        @if stored.open_gaps.is_some() { (recent_calls(&stored.recent_calls)) }
        (bases(&snapshot))
        (problems(&snapshot))
    };
    Ok(Page::new("Overview", Tab::Overview, body))
}

fn read_store(services: &Services) -> Result<Stored, PageError> {
    let mut stored = Stored::default();
    if let Some(registry) = &services.registry {
        let count_only = ListAgentsRequest { max_results: Some(1), cursor: None };
        stored.agents = Some(registry.agents(&count_only)?.total_count);
    }
    if let Some(gaps) = &services.gaps {
        let newest = gaps.newest(RECENT_GAPS)?;
        stored.open_gaps = Some(newest.total_available);
        stored.recent_gaps = newest.gaps;
        stored.recent_calls = gaps.recent_calls(RECENT_CALLS)?;
        stored.pending_proposals = gaps.proposals(&ProposalsRequest::default())?.proposals.len();
    }
    Ok(stored)
}

fn numbers(snapshot: &Snapshot, stored: &Stored) -> Markup {
    let coverage = snapshot.coverage();
    let share = match coverage.total {
        0 => 1.0,
        total => coverage.embedded as f64 / total as f64,
    };
    let number = |count: Option<usize>| count.map_or("–".to_owned(), |count| count.to_string());
    html! {
        dl class="numbers" {
            div { dt { "Files" } dd { a href="/map" { (snapshot.file_count()) } } }
            div { dt { "Nodes" } dd { a href="/usage" { (snapshot.node_count()) } } }
            div { dt { "Nodes with vectors" } dd { (coverage.embedded) span class="of" { " of " (coverage.total) } }
                dd class="small" { (gauge(share)) } }
            div { dt { "Problems" } dd { a href="#mend" { (snapshot.diagnostics().len()) } } }
            div { dt { "Agents" } dd { a href="/registry" { (number(stored.agents)) } } }
            div { dt { "Open gaps" } dd { a href="/gaps" { (number(stored.open_gaps)) } } }
        }
    }
}

fn next_steps(snapshot: &Snapshot, stored: &Stored) -> Markup {
    html! {
        ul class="next" {
            @if snapshot.file_count() == 0 {
                li { "There are no Markdown files yet. Add one to the folder in which this server was \
                      started, or start it with " code { "kenning --root FOLDER serve --http" } "." }
            }
            @if !snapshot.coverage().is_complete() {
                li { "Vectors are being computed. Until they are complete, the other nodes are found by \
                      keywords only." }
            }
            @if !snapshot.diagnostics().is_empty() {
                li { a href="#mend" { "Fix " (counted(snapshot.diagnostics().len(), "problem")) }
                    " in the files, so that agents find everything in them." }
            }
            @if stored.pending_proposals > 0 {
                li { a href="/gaps#proposals" { "Review " (counted(stored.pending_proposals, "proposal")) }
                    " that agents made." }
            }
            @if stored.open_gaps.is_some_and(|gaps| gaps > 0) {
                li { a href="/gaps" { "Look at the gaps" } ": what agents asked for and could not get." }
            }
            @if stored.agents == Some(0) {
                li { a href="/registry" { "Add the first agent" } " of your team to the registry." }
            }
            li { "Connect a client: run " code { "kenning install CLIENT" }
                ", or give it this server's address with the path " code { "/mcp" } "." }
            li { a href="/search" { "Try a search" } " and see why nodes are found." }
        }
    }
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn recent_gaps(stored: &Stored) -> Markup {
    if stored.open_gaps.is_none() {
        return no_store("gaps");
    }
    if stored.recent_gaps.is_empty() {
        return empty("No open gaps.", how_gaps_appear());
    }
    html! {
        ul class="recent" {
            @for gap in &stored.recent_gaps {
                li {
                    a href={ "/gaps/" (encoded(&gap.id)) } { (text(&gap.label)) }
                    span class="small" { (gap.asks) "×, " (time(gap.last_asked)) }
                }
            }
        }
    }
}

fn recent_calls(calls: &[RecentCall]) -> Markup {
    let next = html! { "Calls to this server's tools appear here, and so do those to servers that \
    are started with " code { "kenning wrap -- PROGRAM" } "." };
    html! {
        h2 { "Recent calls" }
        @if calls.is_empty() { (empty("No tool calls yet.", next)) } @else {
            (table("Recent calls", &[
                Text("Tool"), Text("Project"), Text("Client"), Text("Outcome"), Text("Time"),
            ], html! {
                @for call in calls {
                    tr {
                        td { code { (text(&call.tool_name)) } }
                        td { (text(&call.project_id)) }
                        td { (text(call.client.as_deref().unwrap_or("–"))) }
                        td { (badge(if call.is_error { "failed" } else { "success" })) }
                        td { (time(call.at)) }
                    }
                }
            }))
        }
    }
}

fn bases(snapshot: &Snapshot) -> Markup {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for root in snapshot.roots() {
        let (files, nodes) = counts.entry(root.base().name()).or_default();
        (*files, *nodes) = (*files + 1, *nodes + root.document().sections.len());
    }
    html! {
        h2 { "Knowledge bases" }
        (table("Knowledge bases", &[Text("Base"), Number("Files"), Number("Nodes")], html! {
            @for base in snapshot.bases() {
                @let (files, nodes) = counts.get(base.name()).copied().unwrap_or_default();
                tr { td { (text(base.name())) } td class="n" { (files) } td class="n" { (nodes) } }
            }
        }))
    }
}

fn problems(snapshot: &Snapshot) -> Markup {
    let problems = snapshot.diagnostics();
    html! {
        h2 id="mend" { "Problems" }
        @if problems.is_empty() {
            p { "No problems found: every file was parsed." }
        } @else {
            (table("Problems", &[Text("File"), Number("Line"), Text("Problem")], html! {
                @for problem in problems.iter().take(MAX_PROBLEMS) {
                    tr {
                        td { code { (text(&problem.path)) } }
                        td class="n" { (problem.line) }
                        td { (text(&problem.message)) }
                    }
                }
            }))
            @if problems.len() > MAX_PROBLEMS {
                p { (problems.len() - MAX_PROBLEMS) " more: run " code { "kenning index" } " to list them all." }
            }
        }
    }
}
