//! `/gaps/{id}`: one gap, how it was felt call by call, and what people decide about it.

use kenning_gaps::Event;
use kenning_gaps::decide::{CloseGapRequest, MergeGapRequest, MuteGapRequest, ReopenGapRequest};
use kenning_gaps::gap::{Evidence, Source, Status};
use kenning_gaps::list::{GapsRequest, ListedGap};
use kenning_gaps::show::{Replayed, ShowGapRequest, ShownAsk};
use maud::{Markup, html};
use serde_json::Value;

use super::form::{encoded, link};
use super::gaps::{gap_table, proposal_table};
use super::layout::{Tab, badge, form_token, table, time};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let gaps = services.gaps()?;
    let id = visit.fields.text("id").to_owned();
    let shown = gaps.show(&ShowGapRequest { id, max_sessions: None })?;
    let gap = &shown.gap;
    let body = html! {
        p class="crumbs" { a href="/gaps" { "Gaps" } " › " code { (text(&gap.id)) } }
        h1 { (text(&gap.label)) }
        p { (badge(gap.status.name())) " " (badge(gap.kind.name())) " " (gap.asks) " asks, "
            (gap.requests) " by name, of project " b { (text(&gap.project_id)) } "; first "
            (time(gap.first_asked)) ", last " (time(gap.last_asked)) }
        (standing(&gap.status))
        @if visit.may_write { (decisions(visit, gap, &others(services, gap)?)) }
        @if gap.wordings.len() > 1 {
            h2 { "How it was put" }
            ul { @for wording in &gap.wordings { li { (text(wording)) } } }
        }
        @if !shown.proposals.is_empty() {
            h2 { "Proposals" }
            (table("Proposals", proposal_table(&shown.proposals)))
        }
        @if !shown.merged.is_empty() {
            h2 { "Merged into it" }
            (table("Merged into it", gap_table(&shown.merged)))
        }
        h2 { "Asks" }
        (asks(&shown.asks))
        h2 { "Sessions" }
        @if shown.sessions.is_empty() {
            p class="empty" { "The calls it was heard in are not kept, or not any longer." }
        }
        @for session in &shown.sessions { (replay(session, &shown.asks)) }
    };
    Ok(Page { title: gap.label.clone(), tab: Some(Tab::Gaps), body })
}

fn standing(status: &Status) -> Markup {
    html! {
        @match status {
            Status::Open => {},
            Status::Closed { at, evidence } => p class="notice good" {
                "Closed " (time(*at)) ": "
                @match evidence {
                    Evidence::Answer { id, title, likeness, source } => {
                        @if *source == Source::Node {
                            a href=(link("/node", &[("id", id)])) { (text(title)) }
                        } @else { (text(title)) }
                        " answers it (likeness " (format!("{likeness:.2}")) ")."
                    },
                    Evidence::Person { name, note } => { (text(name)) " said so. " (text(note)) },
                }
            },
            Status::Muted { at } => p class="notice" { "Muted " (time(*at)) "." },
            Status::Merged { at, into } => p class="notice" { "Merged " (time(*at)) " into "
                a href={ "/gaps/" (encoded(into)) } { (text(into)) } "." },
            Status::Reopened { at, because } => p class="notice" { "Opened again " (time(*at))
                @if !because.is_empty() { ": " (text(because)) } "." },
        }
    }
}

/// So many gaps are offered to merge with, those that rank first.
const OTHERS: usize = 200;

/// Open gaps of the same project that it may be one with.
fn others(services: &Services, gap: &ListedGap) -> Result<Vec<ListedGap>, PageError> {
    let project_id = Some(gap.project_id.clone());
    let request = GapsRequest { project_id, max_results: Some(OTHERS), ..GapsRequest::default() };
    let mut others = services.gaps()?.gaps(&request)?.gaps;
    others.retain(|other| other.id != gap.id);
    Ok(others)
}

fn decisions(visit: &Visit, gap: &ListedGap, others: &[ListedGap]) -> Markup {
    let to = |verb: &str| format!("/gaps/{}/{verb}", encoded(&gap.id));
    let (fields, state) = (&visit.fields, &gap.status);
    let merged = matches!(state, Status::Merged { .. });
    html! {
        div class="decisions" {
            @if state.is_open() || matches!(state, Status::Muted { .. }) {
                form method="post" action=(to("close")) class="stack" {
                    (form_token(visit))
                    label for="by" { "Who says so" }
                    input id="by" name="by" required maxlength="200" autocomplete="name" value=(fields.text("by"));
                    label for="note" { "What answers it" }
                    input id="note" name="note" maxlength="2000" value=(fields.text("note"));
                    button { "Close" }
                }
            }
            @if state.is_open() {
                form method="post" action=(to("mute")) class="stack" {
                    (form_token(visit))
                    p class="hint" { "Hear no more of it; asks are still counted." }
                    button { "Mute" }
                }
            }
            @if !merged && !others.is_empty() {
                form method="post" action=(to("merge")) class="stack" {
                    (form_token(visit))
                    label for="into" { "The same as" }
                    select id="into" name="into" {
                        @for other in others { option value=(other.id) { (text(&other.label)) } }
                    }
                    button { "Merge" }
                }
            }
            @if !state.is_open() {
                form method="post" action=(to("reopen")) class="stack" {
                    (form_token(visit))
                    label for="because" { "Why it is no answer, or not the same" }
                    input id="because" name="because" maxlength="2000" value=(fields.text("because"));
                    button { "Open again" }
                }
            }
        }
    }
}

fn asks(asks: &[ShownAsk]) -> Markup {
    table(
        "Asks",
        html! {
            table {
                thead { tr { th { "When" } th { "Heard as" } th { "Tool" } th { "Words" } } }
                tbody { @for ask in asks {
                    tr {
                        td { (time(ask.at)) }
                        td { (badge(ask.kind.name())) }
                        td { code { (text(&ask.tool)) } }
                        td class="wide" { (text(&ask.text)) }
                    }
                } }
            }
        },
    )
}

fn replay(replayed: &Replayed, asks: &[ShownAsk]) -> Markup {
    let session = &replayed.session;
    let asked = |event: &Event| asks.iter().any(|ask| ask.call_id.as_ref() == Some(&event.call_id));
    html! {
        details class="session" open {
            summary {
                (time(session.started_at)) " " (badge(session.outcome.name())) " "
                (text(session.client.as_deref().unwrap_or("a client"))) ", "
                (session.events.len()) " calls"
                @if replayed.calls_left_out > 0 { " (" (replayed.calls_left_out) " more are not shown)" }
            }
            @if let Some(intent) = &session.intent_summary { p { (text(intent)) } }
            ol class="calls" {
                @for event in &session.events {
                    li class=[asked(event).then_some("asked")] { (call(event)) }
                }
            }
        }
    }
}

fn call(event: &Event) -> Markup {
    html! {
        code { (text(&event.tool_name)) } " "
        @if event.is_error { (badge("failed")) " " }
        span class="small" { (time(event.timestamp)) ", " (event.duration_ms) " ms" }
        @if let Some(intent) = &event.intent { p class="small" { "Why: " (text(intent)) } }
        @if let Some(message) = &event.error_message { p class="small" { (text(message)) } }
        details {
            summary class="small" { "Arguments and result" }
            pre { (text(&pretty(&event.arguments))) }
            @if let Some(result) = &event.result { pre { (text(&pretty(result))) } }
        }
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

pub(super) fn close(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let (by, note) = (visit.fields.text("by").to_owned(), visit.fields.text("note").to_owned());
    services.gaps()?.close(&CloseGapRequest { id: id(visit), by, note }, Services::now())?;
    Ok(back(visit, "closed"))
}

pub(super) fn mute(services: &Services, visit: &Visit) -> Result<String, PageError> {
    services.gaps()?.mute(&MuteGapRequest { id: id(visit) }, Services::now())?;
    Ok(back(visit, "muted"))
}

pub(super) fn merge(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let into = visit.fields.text("into").to_owned();
    services
        .gaps()?
        .merge(&MergeGapRequest { id: id(visit), into: into.clone() }, Services::now())?;
    Ok(link(&format!("/gaps/{}", encoded(&into)), &[("done", "merged")]))
}

pub(super) fn reopen(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let because = visit.fields.text("because").to_owned();
    services.gaps()?.reopen(&ReopenGapRequest { id: id(visit), because }, Services::now())?;
    Ok(back(visit, "reopened"))
}

fn id(visit: &Visit) -> String {
    visit.fields.text("id").to_owned()
}

fn back(visit: &Visit, done: &str) -> String {
    link(&format!("/gaps/{}", encoded(&id(visit))), &[("done", done)])
}
