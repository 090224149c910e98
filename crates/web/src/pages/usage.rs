//! `/usage`: which knowledge is read, and which never comes up.

use axum::http::StatusCode;
use kenning_knowledge::usage::{DAY, Period, UsageRequest, UsageResponse, UsedNode};
use maud::{Markup, html};

use super::layout::{Tab, choice, empty, node, table};
use super::overview::no_store;
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

const DAYS: [(&str, &str); 4] =
    [("7", "7 days"), ("30", "30 days"), ("90", "90 days"), ("", "all that is counted")];

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let body = match &services.usage {
        None => html! { h1 { "Usage" } (no_store("counts")) },
        Some(log) => {
            let days: Option<u64> = visit.fields.number("days");
            let from = days.map(|days| Services::now().saturating_sub(days.saturating_mul(DAY)));
            let used = log.used(&Period { from, until: None }).map_err(|error| {
                tracing::error!(%error, "the counts of what is used failed");
                PageError::new(StatusCode::INTERNAL_SERVER_ERROR, "what was used is not known")
            })?;
            let request = UsageRequest { from, ..UsageRequest::default() };
            page(visit, &services.library.snapshot().usage(&request, &used)?)
        }
    };
    Ok(Page { title: "Usage".to_owned(), tab: Some(Tab::Usage), body })
}

fn page(visit: &Visit, found: &UsageResponse) -> Markup {
    let next = html! { "Ask something through a client, or with " code { "kenning search" }
    "; what is tried on this page does not count." };
    html! {
        h1 { "Usage" }
        p class="lead" { "Which knowledge is read and found, and which never comes up." }
        form class="row" action="/usage" {
            (choice("days", "In the last", &DAYS, visit.fields.text("days")))
            button { "Show" }
        }
        (coverage(found))
        h2 { "Most used" }
        @if found.most_used.is_empty() { (empty("Nothing came up yet.", next)) } @else {
            (chart(&found.most_used))
            (table("Most used", most_used(&found.most_used)))
        }
        h2 { "Never found" }
        @if found.never_found.is_empty() { p { "Every node came up at least once." } } @else {
            p class="hint" { (found.never_found.len()) " of " (found.never_found_nodes)
                ". Perhaps their words are not those that are asked for, or nobody needs them." }
            ul class="plain columns-list" {
                @for one in &found.never_found {
                    li { (node(&one.id, &one.title)) " " span class="small" { (text(&one.path)) } }
                }
            }
        }
        @if !found.gone.is_empty() {
            h2 { "Gone" }
            p class="hint" { "They came up once, and are no nodes any longer, or were renamed." }
            ul class="plain" { @for id in &found.gone { li { code { (text(id)) } } } }
        }
    }
}

/// How much of all came up, as one bar.
fn coverage(found: &UsageResponse) -> Markup {
    let share = found.found_nodes as f64 / found.total_nodes.max(1) as f64;
    let said = format!("{} of {} nodes came up", found.found_nodes, found.total_nodes);
    html! {
        figure {
            svg class="share" viewBox="0 0 100 3" preserveAspectRatio="none" role="img" aria-label=(said) {
                rect class="track" width="100" height="3" {}
                rect class="fill" width=(format!("{:.1}", share * 100.0)) height="3" {}
            }
            figcaption { (said) "." }
        }
    }
}

const ROW: usize = 26;
const LABEL: f64 = 300.0;
const PLOT: f64 = 460.0;

/// Bars of what was read, found and recommended, one line for each node.
fn chart(nodes: &[UsedNode]) -> Markup {
    let total = |one: &UsedNode| one.retrieved + one.searched + one.discovered;
    let most = nodes.iter().map(total).max().unwrap_or(1).max(1) as f64;
    let height = nodes.len() * ROW + 4;
    html! {
        figure {
            div class="scroll" role="region" aria-label="Chart of the most used nodes" tabindex="0" {
                svg class="chart" width="800" height=(height) viewBox={ "0 0 800 " (height) } role="img"
                    aria-label="The most used nodes; the table below has the numbers" {
                    @for (row, one) in nodes.iter().enumerate() {
                        (chart_row(row * ROW, one, most))
                    }
                }
            }
            figcaption class="legend" {
                span class="read" { "read" } " " span class="searched" { "found by a search" } " "
                span class="discovered" { "recommended" }
            }
        }
    }
}

fn chart_row(y: usize, one: &UsedNode, most: f64) -> Markup {
    let width = |count: u64| count as f64 / most * PLOT;
    let parts =
        [("read", one.retrieved), ("searched", one.searched), ("discovered", one.discovered)];
    let mut x = LABEL;
    let bars: Vec<(&str, f64, f64)> = parts
        .into_iter()
        .map(|(class, count)| {
            let from = x;
            x += width(count);
            (class, from, width(count))
        })
        .collect();
    html! {
        text x=(LABEL - 8.0) y=(y + 18) text-anchor="end" { (text(&shortened(&one.title))) }
        @for (class, x, width) in bars {
            rect class=(class) x=(format!("{x:.1}")) y=(y + 5) width=(format!("{width:.1}")) height="17" {}
        }
    }
}

/// As much of a title as fits beside a bar.
pub(super) fn shortened(title: &str) -> String {
    const MOST: usize = 36;
    if title.chars().count() <= MOST {
        return title.to_owned();
    }
    title.chars().take(MOST - 1).chain(['…']).collect()
}

fn most_used(nodes: &[UsedNode]) -> Markup {
    html! {
        table {
            thead { tr {
                th { "Node" } th class="n" { "Read" } th class="n" { "Found" }
                th class="n" { "Recommended" } th { "Last" }
            } }
            tbody { @for one in nodes {
                tr {
                    td class="wide" { (node(&one.id, &one.title)) }
                    td class="n" { (one.retrieved) }
                    td class="n" { (one.searched) }
                    td class="n" { (one.discovered) }
                    td { (one.last_used) }
                }
            } }
        }
    }
}
