//! `/gaps/{id}`: one gap with its recorded sessions, and the decisions about it.

use kenning_gaps::Event;
use kenning_gaps::decide::{CloseGapRequest, MergeGapRequest, MuteGapRequest, ReopenGapRequest};
use kenning_gaps::gap::{Evidence, Source, Status};
use kenning_gaps::list::{GapsRequest, ListedGap};
use kenning_gaps::show::{Replayed, ShowGapRequest, ShownAsk};
use maud::{Markup, html};
use serde_json::Value;

use super::form::{encoded, link};
use super::gaps::{gap_table, proposal_table};
use super::layout::Column::Text;
use super::layout::{Tab, badge, name_field, node_link, note_field, post_form, table, time};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let gaps = services.gaps()?;
    let details = gaps.show(&ShowGapRequest { id: id(visit), max_sessions: None })?;
    let gap = &details.gap;
    let body = html! {
        p class="crumbs" { a href="/gaps" { "Gaps" } " › " code { (text(&gap.id)) } }
        h1 { (text(&gap.label)) }
        p { (badge(gap.status.name())) " " (badge(gap.kind.name())) " " (gap.asks) " asks, "
            (gap.requests) " of them explicit, in project " b { (text(&gap.project_id)) } "; first "
            (time(gap.first_asked)) ", last " (time(gap.last_asked)) }
        (status_notice(&gap.status))
        @if visit.may_write { (decisions(visit, gap, &merge_targets(services, gap)?)) }
        @if gap.wordings.len() > 1 {
            h2 { "Wordings" }
            ul { @for wording in &gap.wordings { li { (text(wording)) } } }
        }
        @if !details.proposals.is_empty() {
            h2 { "Proposals" }
            (proposal_table(&details.proposals))
        }
        @if !details.merged.is_empty() {
            h2 { "Merged gaps" }
            (gap_table("Merged gaps", &details.merged))
        }
        h2 { "Asks" }
        (asks(&details.asks))
        h2 { "Sessions" }
        @if details.sessions.is_empty() {
            p class="empty" { "No recorded calls are stored for this gap." }
        }
        @for session in &details.sessions { (replay(session, &details.asks)) }
    };
    Ok(Page::new(&gap.label, Tab::Gaps, body))
}

fn status_notice(status: &Status) -> Markup {
    html! {
        @match status {
            Status::Open => {},
            Status::Closed { at, evidence } => p class="notice good" {
                "Closed " (time(*at)) ": "
                @match evidence {
                    Evidence::Answer { id, title, likeness, source } => {
                        @if *source == Source::Node { (node_link(id, title)) } @else { (text(title)) }
                        " answers it (similarity " (format!("{likeness:.2}")) ")."
                    },
                    Evidence::Person { name, note } => { "decided by " (text(name)) ". " (text(note)) },
                }
            },
            Status::Muted { at } => p class="notice" { "Muted " (time(*at)) "." },
            Status::Merged { at, into } => p class="notice" { "Merged " (time(*at)) " into "
                a href={ "/gaps/" (encoded(into)) } { (text(into)) } "." },
            Status::Reopened { at, because } => p class="notice" { "Reopened " (time(*at))
                @if !because.is_empty() { ": " (text(because)) } "." },
        }
    }
}

const MAX_MERGE_TARGETS: usize = 200;

/// The open gaps of the same project that rank first.
fn merge_targets(services: &Services, gap: &ListedGap) -> Result<Vec<ListedGap>, PageError> {
    let project_id = Some(gap.project_id.clone());
    let request =
        GapsRequest { project_id, max_results: Some(MAX_MERGE_TARGETS), ..GapsRequest::default() };
    let mut targets = services.gaps()?.gaps(&request)?.gaps;
    targets.retain(|target| target.id != gap.id);
    Ok(targets)
}

fn decisions(visit: &Visit, gap: &ListedGap, targets: &[ListedGap]) -> Markup {
    let form = |verb: &str, content: Markup| {
        post_form(visit, &format!("/gaps/{}/{verb}", encoded(&gap.id)), content)
    };
    let status = &gap.status;
    html! {
        div class="decisions" {
            @if status.is_open() || matches!(status, Status::Muted { .. }) {
                (form("close", html! {
                    (name_field(visit, "by"))
                    (note_field(visit, "note", "Answer (optional)"))
                    button { "Close" }
                }))
            }
            @if status.is_open() {
                (form("mute", html! {
                    p class="hint" { "Hides this gap from the list of open gaps. New asks are still counted." }
                    button { "Mute" }
                }))
            }
            @if !matches!(status, Status::Merged { .. }) && !targets.is_empty() {
                (form("merge", html! {
                    label for="into" { "Same as" }
                    select id="into" name="into" {
                        @for target in targets { option value=(target.id) { (text(&target.label)) } }
                    }
                    button { "Merge" }
                }))
            }
            @if !status.is_open() {
                (form("reopen", html! {
                    (note_field(visit, "because", "Reason (optional)"))
                    button { "Reopen" }
                }))
            }
        }
    }
}

fn asks(asks: &[ShownAsk]) -> Markup {
    html! {
        (table("Asks", &[Text("Time"), Text("Kind"), Text("Tool"), Text("Text")], html! {
            @for ask in asks {
                tr {
                    td { (time(ask.at)) }
                    td { (badge(ask.kind.name())) }
                    td { code { (text(&ask.tool)) } }
                    td class="wide" { (text(&ask.text)) }
                }
            }
        }))
    }
}

fn replay(replayed: &Replayed, asks: &[ShownAsk]) -> Markup {
    let session = &replayed.session;
    let asked = |event: &Event| asks.iter().any(|ask| ask.call_id.as_ref() == Some(&event.call_id));
    html! {
        details class="session" open {
            summary {
                (time(session.started_at)) " " (badge(session.outcome.name())) " "
                (text(session.client.as_deref().unwrap_or("unknown client"))) ", "
                (session.events.len()) " calls"
                @if replayed.calls_left_out > 0 { " (" (replayed.calls_left_out) " more not shown)" }
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
        @if let Some(intent) = &event.intent { p class="small" { "Intent: " (text(intent)) } }
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
    Ok(redirect(visit, "closed"))
}

pub(super) fn mute(services: &Services, visit: &Visit) -> Result<String, PageError> {
    services.gaps()?.mute(&MuteGapRequest { id: id(visit) }, Services::now())?;
    Ok(redirect(visit, "muted"))
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
    Ok(redirect(visit, "reopened"))
}

fn id(visit: &Visit) -> String {
    visit.fields.text("id").to_owned()
}

fn redirect(visit: &Visit, done: &str) -> String {
    link(&format!("/gaps/{}", encoded(&id(visit))), &[("done", done)])
}
