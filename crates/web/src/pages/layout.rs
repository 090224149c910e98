//! The frame around every page, and the markup that views share.

use kenning_registry::Timestamp;
use maud::{DOCTYPE, Markup, Render, html};

use super::assets::ASSETS;
use super::form::{TOKEN, link};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};

/// The entries of the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tab {
    Overview,
    Search,
    Agents,
    Registry,
    Gaps,
    Usage,
    Map,
    Compose,
}

const TABS: [(Tab, &str, &str); 8] = [
    (Tab::Overview, "/", "Overview"),
    (Tab::Search, "/search", "Search"),
    (Tab::Agents, "/catalog", "Agents"),
    (Tab::Registry, "/registry", "Registry"),
    (Tab::Gaps, "/gaps", "Gaps"),
    (Tab::Usage, "/usage", "Usage"),
    (Tab::Map, "/map", "Map"),
    (Tab::Compose, "/compose", "Compose"),
];

/// A page with navigation, notices and footer.
pub(super) fn frame(visit: &Visit, page: &Page) -> Markup {
    let title = format!("{} · Kenning", page.title);
    let body = html! {
        header class="top" {
            a class="brand" href="/" { (logo()) "Kenning" }
            nav aria-label="Views" {
                @for (tab, address, name) in TABS {
                    a href=(address) aria-current=[(page.tab == Some(tab)).then_some("page")] {
                        (name)
                    }
                }
            }
            @if page.tab != Some(Tab::Search) {
                form class="quick" action="/search" role="search" {
                    label class="unseen" for="quick" { "Search knowledge" }
                    input id="quick" name="query" type="search" placeholder="Search  /" data-slash;
                }
            }
        }
        main id="main" tabindex="-1" {
            @if let Some(error) = &visit.error { (error_notice(error)) }
            @if let Some(notice) = visit.fields.get("done").and_then(success_notice) {
                p class="notice good" role="status" { (notice) }
            }
            (page.body)
        }
        footer {
            a href="/api" { "API" }
            span { "Kenning " (env!("CARGO_PKG_VERSION")) }
            @if !visit.may_write { span { "read-only" } }
            @if visit.logged_in {
                form method="post" action="/logout" {
                    (form_token(visit))
                    button class="plain" { "Log out" }
                }
            }
        }
    };
    document(&title, &body)
}

fn logo() -> Markup {
    html! {
        svg viewBox="0 0 24 24" aria-hidden="true" {
            path d="M3.5 15.5a8.5 8.5 0 0 1 17 0M1.5 20h21" {}
            circle cx="12" cy="15.5" r="3.2" {}
        }
    }
}

/// A page without navigation, for browsers that are not logged in and for requests that failed early.
pub(super) fn standalone(title: &str, body: &Markup) -> Markup {
    document(title, &html! { main id="main" class="narrow" tabindex="-1" { (body) } })
}

pub(crate) fn document(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (text(title)) }
                link rel="icon" type="image/svg+xml" href=(ASSETS.icon);
                link rel="stylesheet" href=(ASSETS.style);
                script src=(ASSETS.script) defer {}
            }
            body {
                a class="skip" href="#main" { "Skip to content" }
                (body)
            }
        }
    }
}

/// The notice after an action that redirected here. The address holds only a code, never the text:
/// otherwise a link from another site could make this page say anything.
fn success_notice(code: &str) -> Option<&'static str> {
    Some(match code {
        "agent" => "The agent was added.",
        "skill" => "The skill was registered.",
        "deactivated" => "The skill was deactivated. It stays in the registry.",
        "closed" => "The gap was closed. It reopens if an agent asks for it again.",
        "muted" => "The gap was muted. New asks are still counted.",
        "merged" => "The gaps were merged.",
        "reopened" => "The gap was reopened.",
        "accepted" => {
            "The proposal was accepted. Its file is written and can be found in a moment."
        }
        "rejected" => "The proposal was rejected.",
        "written" => "The files were written.",
        "unchanged" => "Nothing was written: the files are already up to date.",
        "generated" => "The text was generated and saved as a new version.",
        "unchanged-text" => "No new version was saved: nothing has changed since the newest one.",
        _ => return None,
    })
}

pub(super) fn error_notice(error: &PageError) -> Markup {
    html! {
        div class="notice bad" role="alert" {
            p { (text(&error.message)) }
            @if let Some(hint) = &error.hint { p class="hint" { (text(hint)) } }
        }
    }
}

/// Takes the place of a view that failed.
pub(super) fn error_page(error: &PageError) -> Page {
    let body = html! {
        h1 { "Page not available" }
        (error_notice(error))
        p { a href="/" { "Back to the overview" } }
    };
    Page { title: "Page not available".to_owned(), tab: None, body }
}

/// Must be in every form that changes something.
pub(super) fn form_token(visit: &Visit) -> Markup {
    html! { input type="hidden" name=(TOKEN) value=(visit.token); }
}

/// A form that changes something.
pub(super) fn post_form(visit: &Visit, action: &str, content: impl Render) -> Markup {
    html! {
        form method="post" action=(action) class="stack" { (form_token(visit)) (content) }
    }
}

/// The name of the person who decides. `id` differs from the field's name `by` because a page may
/// have several such forms.
pub(super) fn name_field(visit: &Visit, id: &str) -> Markup {
    html! {
        label for=(id) { "Your name" }
        input id=(id) name="by" required maxlength="200" autocomplete="name" value=(visit.fields.text("by"));
    }
}

/// An optional explanation of a decision.
pub(super) fn note_field(visit: &Visit, name: &str, label: &str) -> Markup {
    html! {
        label for=(name) { (label) }
        input id=(name) name=(name) maxlength="2000" value=(visit.fields.text(name));
    }
}

/// Takes the place of a list without entries, with what to do next.
pub(super) fn empty(message: &str, next: impl Render) -> Markup {
    html! { div class="empty" { p { (message) } p { (next) } } }
}

/// Takes the place of a view that needs a store, on a server without one.
pub(super) fn no_store(what: &str) -> Markup {
    let next = html! { "Start the server with " code { "--store PATH" } ", or enable "
    code { "store" } " in the settings." };
    empty(&format!("This server has no store for {what}."), next)
}

/// How agents report gaps, for lists that have none yet.
pub(super) fn how_gaps_appear() -> Markup {
    html! { "Agents report what is missing through this server, or through any MCP server that is \
    started with " code { "kenning wrap -- PROGRAM" } "." }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Column<'a> {
    Text(&'a str),
    /// Aligned to the right.
    Number(&'a str),
}

pub(super) fn table(name: &str, columns: &[Column<'_>], rows: impl Render) -> Markup {
    scroll(name, html! { table { (table_head(columns)) tbody { (rows) } } })
}

pub(super) fn table_head(columns: &[Column<'_>]) -> Markup {
    html! {
        thead { tr { @for column in columns { @match column {
            Column::Text(name) => th { (name) },
            Column::Number(name) => th class="n" { (name) },
        } } } }
    }
}

/// A region that scrolls by itself if its content is wider than the page.
pub(super) fn scroll(name: &str, content: impl Render) -> Markup {
    html! { div class="scroll" role="region" aria-label=(text(name)) tabindex="0" { (content) } }
}

/// A share between 0 and 1 as a bar.
pub(super) fn gauge(share: f64) -> Markup {
    let width = format!("{:.1}", share.clamp(0.0, 1.0) * 100.0);
    html! {
        svg class="gauge" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect class="track" width="100" height="8" {}
            rect class="fill" width=(width) height="8" {}
        }
    }
}

/// A share between 0 and 1 as a bar with its number.
pub(super) fn bar(share: f64) -> Markup {
    html! {
        span class="bar" {
            (gauge(share))
            span class="number" { (format!("{share:.3}")) }
        }
    }
}

pub(super) fn node_link(id: &str, title: &str) -> Markup {
    html! { a href=(link("/node", &[("id", id)])) { (text(title)) } }
}

/// A word for a status or a kind, coloured by its meaning.
pub(super) fn badge(word: &str) -> Markup {
    let tone = match word {
        "active" | "yes" | "accepted" | "closed" | "success" | "fresh" | "stable" | "available"
        | "valid" => "good",
        "deprecated" | "no" | "rejected" | "failed" | "stale" | "inactive" | "error"
        | "invalid" => "bad",
        "open" | "reopened" | "pending" | "partial" | "aging" | "explicit" | "beta"
        | "unavailable" | "warning" => "warm",
        _ => "calm",
    };
    html! { span class={ "badge " (tone) } { (text(word)) } }
}

/// A time in milliseconds since 1970.
pub(super) fn time(at: u64) -> Markup {
    let precise = Timestamp(i64::try_from(at).unwrap_or(i64::MAX)).to_string();
    let short = precise.get(..16).unwrap_or(&precise).replace('T', " ");
    html! { time datetime=(precise) { (short) } }
}

/// A labelled selection; `options` are pairs of value and label.
pub(super) fn select<'a>(
    name: &str,
    label: &str,
    options: impl IntoIterator<Item = (&'a str, &'a str)>,
    selected: &str,
) -> Markup {
    html! {
        div class="field" {
            label for=(name) { (label) }
            select id=(name) name=(name) {
                @for (value, label) in options {
                    option value=(value) selected[value == selected] { (text(label)) }
                }
            }
        }
    }
}
