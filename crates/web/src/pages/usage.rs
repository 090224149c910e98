//! `/usage`: which nodes agents use, and which they never find.

use axum::http::StatusCode;
use kenning_knowledge::usage::{DAY, Period, UsageRequest, UsageResponse, UsedNode};
use maud::{Markup, html};

use super::layout::Column::{Number, Text};
use super::layout::{Tab, empty, no_store, node_link, scroll, select, table};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

const PERIODS: [(&str, &str); 4] =
    [("7", "last 7 days"), ("30", "last 30 days"), ("90", "last 90 days"), ("", "all time")];

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let body = match &services.usage {
        None => html! { h1 { "Usage" } (no_store("usage counts")) },
        Some(log) => {
            let days: Option<u64> = visit.fields.number("days");
            let from = days.map(|days| Services::now().saturating_sub(days.saturating_mul(DAY)));
            let used = log.used(&Period { from, until: None }).map_err(|error| {
                tracing::error!(%error, "reading usage counts failed; the usage page is not available");
                PageError::new(StatusCode::INTERNAL_SERVER_ERROR, "the usage counts cannot be read")
                    .hint("try again; the server's log has the cause")
            })?;
            let request = UsageRequest { from, ..UsageRequest::default() };
            page(visit, &services.library.snapshot().usage(&request, &used)?)
        }
    };
    Ok(Page::new("Usage", Tab::Usage, body))
}

fn page(visit: &Visit, usage: &UsageResponse) -> Markup {
    let next = html! { "Ask something through a client, or run " code { "kenning search" }
    ". Searches on these pages do not count." };
    html! {
        h1 { "Usage" }
        p class="lead" { "Which nodes agents read and find, and which they never find." }
        form class="row" action="/usage" {
            (select("days", "Period", PERIODS, visit.fields.text("days")))
            button { "Show" }
        }
        (coverage(usage))
        h2 { "Most used" }
        @if usage.most_used.is_empty() { (empty("No usage yet.", next)) } @else {
            (chart(&usage.most_used))
            (most_used(&usage.most_used))
        }
        h2 { "Never found" }
        @if usage.never_found.is_empty() { p { "Every node was found at least once." } } @else {
            p class="hint" { (usage.never_found.len()) " of " (usage.never_found_nodes)
                ". Agents may be using other words for these nodes, or may not need them." }
            ul class="plain columns-list" {
                @for node in &usage.never_found {
                    li { (node_link(&node.id, &node.title)) " " span class="small" { (text(&node.path)) } }
                }
            }
        }
        @if !usage.gone.is_empty() {
            h2 { "Removed" }
            p class="hint" { "These nodes were used, but have been deleted or renamed since." }
            ul class="plain" { @for id in &usage.gone { li { code { (text(id)) } } } }
        }
    }
}

/// The share of nodes that were used.
fn coverage(usage: &UsageResponse) -> Markup {
    let share = usage.found_nodes as f64 / usage.total_nodes.max(1) as f64;
    let caption = format!("{} of {} nodes were used", usage.found_nodes, usage.total_nodes);
    html! {
        figure {
            svg class="share" viewBox="0 0 100 3" preserveAspectRatio="none" role="img" aria-label=(caption) {
                rect class="track" width="100" height="3" {}
                rect class="fill" width=(format!("{:.1}", share * 100.0)) height="3" {}
            }
            figcaption { (caption) "." }
        }
    }
}

const ROW: usize = 26;
const LABEL: f64 = 300.0;
const PLOT: f64 = 460.0;

/// One stacked bar for each node: how often it was read, found and recommended.
fn chart(nodes: &[UsedNode]) -> Markup {
    let total = |node: &UsedNode| node.retrieved + node.searched + node.discovered;
    let most = nodes.iter().map(total).max().unwrap_or(1).max(1) as f64;
    let height = nodes.len() * ROW + 4;
    html! {
        figure {
            (scroll("Chart of the most used nodes", html! {
                svg class="chart" width="800" height=(height) viewBox={ "0 0 800 " (height) } role="img"
                    aria-label="The most used nodes; the table below has the numbers" {
                    @for (row, node) in nodes.iter().enumerate() {
                        (chart_row(row * ROW, node, most))
                    }
                }
            }))
            figcaption class="legend" {
                span class="read" { "read" } " " span class="searched" { "found by search" } " "
                span class="discovered" { "recommended" }
            }
        }
    }
}

fn chart_row(y: usize, node: &UsedNode, most: f64) -> Markup {
    let counts =
        [("read", node.retrieved), ("searched", node.searched), ("discovered", node.discovered)];
    let mut end = LABEL;
    let bars = counts.map(|(class, count)| {
        let (start, width) = (end, count as f64 / most * PLOT);
        end += width;
        (class, start, width)
    });
    html! {
        text x=(LABEL - 8.0) y=(y + 18) text-anchor="end" { (text(&shortened(&node.title))) }
        @for (class, x, width) in bars {
            rect class=(class) x=(format!("{x:.1}")) y=(y + 5) width=(format!("{width:.1}")) height="17" {}
        }
    }
}

/// SVG does not cut off text by itself.
pub(super) fn shortened(title: &str) -> String {
    const MAX_CHARS: usize = 36;
    if title.chars().count() <= MAX_CHARS {
        return title.to_owned();
    }
    title.chars().take(MAX_CHARS - 1).chain(['…']).collect()
}

fn most_used(nodes: &[UsedNode]) -> Markup {
    html! {
        (table("Most used", &[
            Text("Node"), Number("Read"), Number("Found"), Number("Recommended"), Text("Last used"),
        ], html! {
            @for node in nodes {
                tr {
                    td class="wide" { (node_link(&node.id, &node.title)) }
                    td class="n" { (node.retrieved) }
                    td class="n" { (node.searched) }
                    td class="n" { (node.discovered) }
                    td { (node.last_used) }
                }
            }
        }))
    }
}
