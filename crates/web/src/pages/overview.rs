//! `/`: how things stand, and what to do next.

use std::collections::BTreeMap;

use kenning_gaps::list::ListedGap;
use kenning_gaps::offers::ProposalsRequest;
use kenning_gaps::show::RecentCall;
use kenning_knowledge::Snapshot;
use kenning_registry::agents::ListAgentsRequest;
use maud::{Markup, html};

use super::form::encoded;
use super::layout::{Tab, badge, empty, gauge, table, time};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

const RECENT: usize = 5;
const RECENT_CALLS: usize = 8;
const TO_MEND: usize = 10;

/// What is counted elsewhere than in the files.
struct Counts {
    agents: Option<usize>,
    gaps: Option<usize>,
    proposals: usize,
    recent: Vec<ListedGap>,
    calls: Vec<RecentCall>,
}

pub(super) fn view(services: &Services, _: &Visit) -> Result<Page, PageError> {
    let snapshot = services.library.snapshot();
    let counts = counts(services)?;
    let body = html! {
        h1 { "Overview" }
        p class="lead" { "What is known here, what is missing, and what to do next." }
        (numbers(&snapshot, &counts))
        div class="columns" {
            section {
                h2 { "What to do next" }
                (next(&snapshot, &counts))
            }
            section {
                h2 { "Recent gaps" }
                (recent(&counts))
            }
        }
        @if counts.gaps.is_some() { (activity(&counts.calls)) }
        (bases(&snapshot))
        (to_mend(&snapshot))
    };
    Ok(Page { title: "Overview".to_owned(), tab: Some(Tab::Overview), body })
}

fn counts(services: &Services) -> Result<Counts, PageError> {
    let one = ListAgentsRequest { max_results: Some(1), cursor: None };
    let agents = services.registry.as_ref().map(|registry| registry.agents(&one)).transpose()?;
    let gaps = services.gaps.as_ref().map(|gaps| gaps.newest(RECENT)).transpose()?;
    let calls = services.gaps.as_ref().map(|gaps| gaps.recent_calls(RECENT_CALLS)).transpose()?;
    let pending = ProposalsRequest::default();
    let proposals = services.gaps.as_ref().map(|gaps| gaps.proposals(&pending)).transpose()?;
    let open = gaps.as_ref().map(|gaps| gaps.total_available);
    let recent = gaps.map(|gaps| gaps.gaps).unwrap_or_default();
    Ok(Counts {
        agents: agents.map(|agents| agents.total_count),
        gaps: open,
        proposals: proposals.map_or(0, |all| all.proposals.len()),
        recent,
        calls: calls.unwrap_or_default(),
    })
}

fn numbers(snapshot: &Snapshot, counts: &Counts) -> Markup {
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
            div { dt { "With vectors" } dd { (coverage.embedded) span class="of" { " of " (coverage.total) } }
                dd class="small" { (gauge(share)) } }
            div { dt { "To mend" } dd { a href="#mend" { (snapshot.diagnostics().len()) } } }
            div { dt { "Agents" } dd { a href="/registry" { (number(counts.agents)) } } }
            div { dt { "Open gaps" } dd { a href="/gaps" { (number(counts.gaps)) } } }
        }
    }
}

fn next(snapshot: &Snapshot, counts: &Counts) -> Markup {
    let coverage = snapshot.coverage();
    html! {
        ul class="next" {
            @if snapshot.file_count() == 0 {
                li { "There are no Markdown files yet. Write one in the folder this server was \
                      started in, or start it with " code { "kenning --root FOLDER serve --http" } "." }
            }
            @if !coverage.is_complete() {
                li { "Vectors are being computed; until then the rest is found by keywords." }
            }
            @if !snapshot.diagnostics().is_empty() {
                li { a href="#mend" { "Mend " (snapshot.diagnostics().len()) " things" }
                    " in the files, so that they are found as they were meant." }
            }
            @if counts.proposals > 0 {
                li { a href="/gaps#proposals" { "Decide about " (counts.proposals) " proposals" }
                    " that agents made." }
            }
            @if counts.gaps.is_some_and(|gaps| gaps > 0) {
                li { a href="/gaps" { "Look at what agents asked for" } " and could not get." }
            }
            @if counts.agents == Some(0) {
                li { a href="/registry" { "Add the first agent" } " of your team to the registry." }
            }
            li { "Give this server to a client: " code { "kenning install CLIENT" }
                ", or the address " code { "/mcp" } " of this server." }
            li { a href="/search" { "Try a question" } ", and see why nodes are found." }
        }
    }
}

fn recent(counts: &Counts) -> Markup {
    if counts.gaps.is_none() {
        return no_store("gaps");
    }
    if counts.recent.is_empty() {
        let next = html! { "Agents say what is missing through this server's tools, or through \
        any server that is started by " code { "kenning wrap -- PROGRAM" } "." };
        return empty("Nothing is missing, as far as was heard.", next);
    }
    html! {
        ul class="recent" {
            @for gap in &counts.recent {
                li {
                    a href={ "/gaps/" (encoded(&gap.id)) } { (text(&gap.label)) }
                    span class="small" { (gap.asks) "×, " (time(gap.last_asked)) }
                }
            }
        }
    }
}

fn activity(calls: &[RecentCall]) -> Markup {
    html! {
        h2 { "Recent calls" }
        @if calls.is_empty() {
            (empty("No agent has called a tool yet.", html! { "Calls of this server's tools, and of \
                servers that are started by " code { "kenning wrap -- PROGRAM" } ", appear here." }))
        } @else {
            (table("Recent calls", html! {
                table {
                    thead { tr { th { "Tool" } th { "Project" } th { "Client" } th { "Outcome" } th { "When" } } }
                    tbody {
                        @for call in calls {
                            tr {
                                td { code { (text(&call.tool_name)) } }
                                td { (text(&call.project_id)) }
                                td { (text(call.client.as_deref().unwrap_or("–"))) }
                                td { (badge(if call.is_error { "failed" } else { "success" })) }
                                td { (time(call.at)) }
                            }
                        }
                    }
                }
            }))
        }
    }
}

/// Where there is no place to remember something.
pub(super) fn no_store(what: &str) -> Markup {
    let next = html! { "Start the server with " code { "--store PATH" } ", or without "
    code { "store" } " switched off in the settings." };
    empty(&format!("There is no store to keep {what} in."), next)
}

fn bases(snapshot: &Snapshot) -> Markup {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for root in snapshot.roots() {
        let (files, nodes) = counts.entry(root.base().name()).or_default();
        (*files, *nodes) = (*files + 1, *nodes + root.document().sections.len());
    }
    html! {
        h2 { "Knowledge bases" }
        (table("Knowledge bases", html! {
            table {
                thead { tr { th { "Base" } th class="n" { "Files" } th class="n" { "Nodes" } } }
                tbody {
                    @for base in snapshot.bases() {
                        @let (files, nodes) = counts.get(base.name()).copied().unwrap_or_default();
                        tr { td { (text(base.name())) } td class="n" { (files) } td class="n" { (nodes) } }
                    }
                }
            }
        }))
    }
}

fn to_mend(snapshot: &Snapshot) -> Markup {
    let notes = snapshot.diagnostics();
    html! {
        h2 id="mend" { "To mend" }
        @if notes.is_empty() {
            p { "Nothing: every file was understood." }
        } @else {
            (table("To mend", html! {
                table {
                    thead { tr { th { "File" } th class="n" { "Line" } th { "What" } } }
                    tbody {
                        @for note in notes.iter().take(TO_MEND) {
                            tr {
                                td { code { (text(&note.path)) } }
                                td class="n" { (note.line) }
                                td { (text(&note.message)) }
                            }
                        }
                    }
                }
            }))
            @if notes.len() > TO_MEND {
                p { (notes.len() - TO_MEND) " more: " code { "kenning index" } " lists them all." }
            }
        }
    }
}
