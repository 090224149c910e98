//! `/gaps`: what agents asked for and could not get, and the proposals to answer it.

use kenning_gaps::Gaps;
use kenning_gaps::list::{GapsRequest, ListedGap, Standing};
use kenning_gaps::offers::{Decision, ListedProposal, ProposalsRequest};
use maud::{Markup, html};

use super::form::{encoded, link};
use super::layout::Column::{Number, Text};
use super::layout::{Tab, badge, empty, how_gaps_appear, no_store, select, table, time};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

const PAGE_SIZE: usize = 50;
const STANDINGS: [Standing; 5] =
    [Standing::Open, Standing::Closed, Standing::Muted, Standing::Merged, Standing::All];

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let body = match &services.gaps {
        None => html! { h1 { "Gaps" } (no_store("gaps")) },
        Some(gaps) => html! {
            h1 { "Gaps" }
            p class="lead" { "What agents asked for and could not get. Explicit requests come first." }
            (filter_form(gaps, visit)?)
            (gap_list(gaps, visit)?)
            (proposals(gaps)?)
        },
    };
    Ok(Page::new("Gaps", Tab::Gaps, body))
}

fn filter_form(gaps: &Gaps, visit: &Visit) -> Result<Markup, PageError> {
    let projects = gaps.projects()?;
    let projects = projects.iter().map(|project| (project.as_str(), project.as_str()));
    let standings = STANDINGS.map(|standing| (standing.name(), standing.name()));
    let all_projects = std::iter::once(("", "all"));
    Ok(html! {
        form class="row" action="/gaps" {
            (select("status", "Status", standings, visit.fields.text("status")))
            (select("project", "Project", all_projects.chain(projects), visit.fields.text("project")))
            button { "Filter" }
        }
    })
}

fn gap_list(gaps: &Gaps, visit: &Visit) -> Result<Markup, PageError> {
    let (status, offset) = (visit.fields.text("status"), visit.fields.number("from").unwrap_or(0));
    let standing = STANDINGS.into_iter().find(|standing| standing.name() == status);
    let found = gaps.gaps(&GapsRequest {
        project_id: visit.fields.owned("project"),
        status: standing.unwrap_or_default(),
        kind: None,
        max_results: Some(PAGE_SIZE),
        offset,
    })?;
    if found.gaps.is_empty() {
        return Ok(empty("No gaps found.", how_gaps_appear()));
    }
    let end = offset + found.gaps.len();
    let page_at = |from: usize| {
        let project = visit.fields.text("project");
        link("/gaps", &[("status", status), ("project", project), ("from", &from.to_string())])
    };
    Ok(html! {
        (gap_table("Gaps", &found.gaps))
        p class="hint" {
            (offset + 1) "–" (end) " of " (found.total_available) " "
            @if offset > 0 { a href=(page_at(offset.saturating_sub(PAGE_SIZE))) { "Previous" } " " }
            @if end < found.total_available { a href=(page_at(offset + PAGE_SIZE)) { "Next" } }
        }
    })
}

pub(super) fn gap_table(name: &str, gaps: &[ListedGap]) -> Markup {
    html! {
        (table(name, &[
            Text("Gap"), Text("Status"), Text("Kind"), Number("Asks"), Number("Explicit"), Text("Last asked"), Text("Project"),
        ], html! {
            @for gap in gaps {
                tr {
                    td class="wide" { a href={ "/gaps/" (encoded(&gap.id)) } { (text(&gap.label)) } }
                    td { (badge(gap.status.name())) }
                    td { (badge(gap.kind.name())) }
                    td class="n" { (gap.asks) }
                    td class="n" { (gap.requests) }
                    td { (time(gap.last_asked)) }
                    td { (text(&gap.project_id)) }
                }
            }
        }))
    }
}

fn proposals(gaps: &Gaps) -> Result<Markup, PageError> {
    let all = gaps.proposals(&ProposalsRequest { status: Decision::All })?.proposals;
    let next = html! { "Agents propose files with " code { "propose_knowledge" }
    " if the server is started with " code { "--toolsets default,gaps-write" } "." };
    Ok(html! {
        h2 id="proposals" { "Proposals" }
        @if all.is_empty() { (empty("No proposals yet.", next)) } @else { (proposal_table(&all)) }
    })
}

pub(super) fn proposal_table(proposals: &[ListedProposal]) -> Markup {
    html! {
        (table("Proposals", &[Text("Title"), Text("File"), Text("Status"), Text("Proposed")], html! {
            @for proposal in proposals {
                tr {
                    td { a href={ "/proposals/" (encoded(&proposal.id)) } { (text(&proposal.title)) } }
                    td { code { (text(&proposal.target_path)) } }
                    td { (badge(proposal.status.name())) }
                    td { (time(proposal.proposed_at)) }
                }
            }
        }))
    }
}
