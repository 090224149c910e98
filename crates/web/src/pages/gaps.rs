//! `/gaps`: what agents asked for and could not get, and what was proposed about it.

use kenning_gaps::Gaps;
use kenning_gaps::list::{GapsRequest, ListedGap, Standing};
use kenning_gaps::offers::{Decision, ListedProposal, ProposalsRequest};
use maud::{Markup, html};

use super::form::{encoded, link};
use super::layout::{Tab, badge, choice, empty, table, time};
use super::overview::no_store;
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

const PAGE: usize = 50;
const STANDINGS: [(&str, &str); 5] = [
    ("open", "open"),
    ("closed", "closed"),
    ("muted", "muted"),
    ("merged", "merged"),
    ("all", "all"),
];

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let body = match &services.gaps {
        None => html! { h1 { "Gaps" } (no_store("gaps")) },
        Some(gaps) => html! {
            h1 { "Gaps" }
            p class="lead" { "What agents asked for and could not get; what was asked for by name comes first." }
            (filter(gaps, visit)?)
            (ranked(gaps, visit)?)
            (proposals(gaps)?)
        },
    };
    Ok(Page { title: "Gaps".to_owned(), tab: Some(Tab::Gaps), body })
}

fn standing(visit: &Visit) -> Standing {
    match visit.fields.text("status") {
        "closed" => Standing::Closed,
        "muted" => Standing::Muted,
        "merged" => Standing::Merged,
        "all" => Standing::All,
        _ => Standing::Open,
    }
}

fn filter(gaps: &Gaps, visit: &Visit) -> Result<Markup, PageError> {
    let projects = gaps.projects()?;
    let options: Vec<(&str, &str)> = std::iter::once(("", "all"))
        .chain(projects.iter().map(|project| (project.as_str(), project.as_str())))
        .collect();
    Ok(html! {
        form class="row" action="/gaps" {
            (choice("status", "State", &STANDINGS, visit.fields.text("status")))
            (choice("project", "Project", &options, visit.fields.text("project")))
            button { "Show" }
        }
    })
}

fn ranked(gaps: &Gaps, visit: &Visit) -> Result<Markup, PageError> {
    let offset = visit.fields.number("from").unwrap_or(0);
    let found = gaps.gaps(&GapsRequest {
        project_id: visit.fields.owned("project"),
        status: standing(visit),
        kind: None,
        max_results: Some(PAGE),
        offset,
    })?;
    if found.gaps.is_empty() {
        let next = html! { "Agents say what is missing through this server, or through any that is \
        started by " code { "kenning wrap -- PROGRAM" } "." };
        return Ok(empty("There is no such gap.", next));
    }
    let pages =
        [("status", visit.fields.text("status")), ("project", visit.fields.text("project"))];
    let at = |from: usize| {
        let from = from.to_string();
        link("/gaps", &[&pages[..], &[("from", from.as_str())]].concat())
    };
    Ok(html! {
        (table("Gaps", gap_table(&found.gaps)))
        p class="hint" {
            (offset + 1) "–" (offset + found.gaps.len()) " of " (found.total_available) " "
            @if offset > 0 { a href=(at(offset.saturating_sub(PAGE))) { "Earlier" } " " }
            @if offset + found.gaps.len() < found.total_available { a href=(at(offset + PAGE)) { "Further" } }
        }
    })
}

pub(super) fn gap_table(gaps: &[ListedGap]) -> Markup {
    html! {
        table {
            thead { tr {
                th { "What is missing" } th { "State" } th { "Heard as" }
                th class="n" { "Asks" } th class="n" { "By name" } th { "Last" } th { "Project" }
            } }
            tbody { @for gap in gaps {
                tr {
                    td class="wide" { a href={ "/gaps/" (encoded(&gap.id)) } { (text(&gap.label)) } }
                    td { (badge(gap.status.name())) }
                    td { (badge(gap.kind.name())) }
                    td class="n" { (gap.asks) }
                    td class="n" { (gap.requests) }
                    td { (time(gap.last_asked)) }
                    td { (text(&gap.project_id)) }
                }
            } }
        }
    }
}

fn proposals(gaps: &Gaps) -> Result<Markup, PageError> {
    let all = gaps.proposals(&ProposalsRequest { status: Decision::All })?.proposals;
    let next = html! { "Agents propose files with " code { "propose_knowledge" }
    " where the server is started with " code { "--toolsets default,gaps-write" } "." };
    Ok(html! {
        h2 id="proposals" { "Proposals" }
        @if all.is_empty() { (empty("Nothing was proposed.", next)) }
        @else { (table("Proposals", proposal_table(&all))) }
    })
}

pub(super) fn proposal_table(proposals: &[ListedProposal]) -> Markup {
    html! {
        table {
            thead { tr { th { "Title" } th { "File" } th { "State" } th { "Proposed" } } }
            tbody { @for one in proposals {
                tr {
                    td { a href={ "/proposals/" (encoded(&one.id)) } { (text(&one.title)) } }
                    td { code { (text(&one.target_path)) } }
                    td { (badge(one.status.name())) }
                    td { (time(one.proposed_at)) }
                }
            } }
        }
    }
}
