//! What pages have in common.

use kenning_registry::Timestamp;
use maud::{DOCTYPE, Markup, Render, html};

use super::assets::ASSETS;
use super::form::{TOKEN, link};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};

/// The views that can be gone to from everywhere.
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

/// A view with everything around it.
pub(super) fn frame(visit: &Visit, page: &Page) -> Markup {
    let title = format!("{} · Kenning", page.title);
    let around = html! {
        header class="top" {
            a class="brand" href="/" { (mark()) "Kenning" }
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
            @if let Some(error) = &visit.error {
                (error_notice(&error.message, error.hint.as_deref()))
            }
            @if let Some(done) = visit.fields.get("done").and_then(done) {
                p class="notice good" role="status" { (done) }
            }
            (page.body)
        }
        footer {
            a href="/api" { "API" }
            span { "Kenning " (env!("CARGO_PKG_VERSION")) }
            @if !visit.may_write { span { "read only" } }
            @if visit.logged_in {
                form method="post" action="/logout" {
                    (form_token(visit))
                    button class="plain" { "Log out" }
                }
            }
        }
    };
    document(&title, &around)
}

/// What can be seen from here: the horizon.
fn mark() -> Markup {
    html! {
        svg viewBox="0 0 24 24" aria-hidden="true" {
            path d="M3.5 15.5a8.5 8.5 0 0 1 17 0M1.5 20h21" {}
            circle cx="12" cy="15.5" r="3.2" {}
        }
    }
}

/// A page for one who is not inside yet.
pub(super) fn bare(title: &str, body: &Markup) -> Markup {
    document(title, &html! { main id="main" class="narrow" tabindex="-1" { (body) } })
}

/// Head and body of any page.
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

/// What was done, said after the page was loaded anew. Only sentences of ours: an address that
/// somebody else made up must not put words into our mouth.
fn done(code: &str) -> Option<&'static str> {
    Some(match code {
        "agent" => "The agent is added.",
        "skill" => "The skill is registered.",
        "deactivated" => "The skill is deactivated; it stays registered.",
        "closed" => "The gap is closed. If it is asked for again, it opens again.",
        "muted" => "The gap is muted; asks are still counted.",
        "merged" => "The gaps are one now.",
        "reopened" => "The gap is open again.",
        "accepted" => "The file is written, and will be found in a moment.",
        "written" => "The files are written.",
        "unchanged" => "Nothing to write: the files are like this already.",
        "generated" => "The text is generated and kept as a version.",
        "unchanged-text" => "Nothing has changed since the newest version; it stays.",
        "rejected" => "The proposal is turned down.",
        _ => return None,
    })
}

pub(super) fn error_notice(message: &str, hint: Option<&str>) -> Markup {
    html! {
        div class="notice bad" role="alert" {
            p { (text(message)) }
            @if let Some(hint) = hint { p class="hint" { (text(hint)) } }
        }
    }
}

/// In place of a view that cannot be shown.
pub(super) fn error_page(error: &PageError) -> Page {
    let body = html! {
        h1 { "This cannot be shown" }
        (error_notice(&error.message, error.hint.as_deref()))
        p { a href="/" { "Back to the overview" } }
    };
    Page { title: "Not shown".to_owned(), tab: None, body }
}

/// Must be in every form that changes something.
pub(super) fn form_token(visit: &Visit) -> Markup {
    html! { input type="hidden" name=(TOKEN) value=(visit.token); }
}

/// What to do where there is nothing to see.
pub(super) fn empty(what: &str, next: impl Render) -> Markup {
    html! { div class="empty" { p { (what) } p { (next) } } }
}

/// A table that scrolls on its own where it is too wide.
pub(super) fn table(name: &str, table: impl Render) -> Markup {
    html! { div class="scroll" role="region" aria-label=(text(name)) tabindex="0" { (table) } }
}

/// A share of one, as a bar.
pub(super) fn gauge(share: f64) -> Markup {
    let width = format!("{:.1}", share.clamp(0.0, 1.0) * 100.0);
    html! {
        svg class="gauge" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect class="track" width="100" height="8" {}
            rect class="fill" width=(width) height="8" {}
        }
    }
}

/// A share of one, as a bar with its number.
pub(super) fn bar(share: f64) -> Markup {
    html! {
        span class="bar" {
            (gauge(share))
            span class="number" { (format!("{share:.3}")) }
        }
    }
}

/// A node, with the way to its text.
pub(super) fn node(id: &str, title: &str) -> Markup {
    html! { a href=(link("/node", &[("id", id)])) { (text(title)) } }
}

/// A word that stands for a state or a kind, coloured by what it says.
pub(super) fn badge(word: &str) -> Markup {
    let tone = match word {
        "active" | "yes" | "accepted" | "closed" | "success" | "fresh" | "stable" | "ready"
        | "valid" => "good",
        "deprecated" | "no" | "rejected" | "failed" | "stale" | "inactive" | "error"
        | "not valid" => "bad",
        "open" | "reopened" | "pending" | "partial" | "aging" | "explicit" | "beta" | "absent"
        | "warning" => "warm",
        _ => "calm",
    };
    html! { span class={ "badge " (tone) } { (text(word)) } }
}

/// A moment, in milliseconds since 1970.
pub(super) fn time(at: u64) -> Markup {
    let precise = Timestamp(i64::try_from(at).unwrap_or(i64::MAX)).to_string();
    let short = precise.get(..16).unwrap_or(&precise).replace('T', " ");
    html! { time datetime=(precise) { (short) } }
}

/// A choice, with what was chosen.
pub(super) fn choice(name: &str, label: &str, options: &[(&str, &str)], chosen: &str) -> Markup {
    html! {
        div class="field" {
            label for=(name) { (label) }
            select id=(name) name=(name) {
                @for (value, shown) in options {
                    option value=(value) selected[*value == chosen] { (text(shown)) }
                }
            }
        }
    }
}

/// A line to fill in, with what was filled in.
pub(super) fn line(name: &str, label: &str, value: &str, kind: &str) -> Markup {
    html! {
        div class="field" {
            label for=(name) { (label) }
            input id=(name) name=(name) value=(value) type=(kind);
        }
    }
}
