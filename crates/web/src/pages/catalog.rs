//! `/catalog`: which coding agent can do what, and where it says so.

use chrono::Utc;
use kenning_catalog::data::{Agent, Claim, Definition, ImplementationNotes};
use kenning_catalog::lookup::{KnownCapability, LookupRequest};
use kenning_catalog::sources::{Citation, Freshness, SourcesRequest};
use maud::{Markup, html};

use super::form::link;
use super::layout::{Tab, badge, choice, table};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let catalog = &services.catalog;
    let wanted = visit.fields.text("category");
    let categories = catalog.categories();
    let shown: Vec<&str> = categories
        .iter()
        .copied()
        .filter(|&category| wanted.is_empty() || category == wanted)
        .collect();
    if shown.is_empty() {
        let known = categories.iter().map(|&known| known.to_owned()).collect();
        let asked = wanted.to_owned();
        return Err(kenning_catalog::Error::CategoryNotFound { asked, known }.into());
    }
    let options: Vec<(&str, &str)> = std::iter::once(("", "all"))
        .chain(categories.iter().map(|&category| (category, category)))
        .collect();
    let body = html! {
        h1 { "Coding agents" }
        p class="lead" { "What is known of each, with a source. " b { "?" }
            " is not a no: no source was found for or against." }
        form class="row" action="/catalog" {
            (choice("category", "Category", &options, wanted))
            button { "Show" }
        }
        (table("Capabilities of coding agents", html! {
            table class="matrix" {
                thead { tr {
                    th { "Capability" }
                    @for agent in catalog.agents() { th { (text(&agent.name)) } }
                } }
                @for category in shown {
                    tbody {
                        tr class="group" {
                            th colspan=(catalog.agents().len() + 1) scope="rowgroup" { (text(category)) }
                        }
                        @for known in catalog.definitions().iter().filter(|one| one.category == category) {
                            (row(catalog.agents(), known))
                        }
                    }
                }
            }
        }))
    };
    Ok(Page { title: "Coding agents".to_owned(), tab: Some(Tab::Agents), body })
}

fn row(agents: &[Agent], known: &Definition) -> Markup {
    html! {
        tr {
            th scope="row" title=(text(&known.description)) { (text(&known.name)) }
            @for agent in agents {
                @let (mark, word) = mark(agent.claim(&known.name));
                @let address = link("/catalog/claim", &[("agent", &agent.agent), ("capability", &known.name)]);
                td class=(word) {
                    a href=(address) aria-label=(text(&format!("{}, {}: {word}", agent.name, known.name))) {
                        (mark)
                    }
                }
            }
        }
    }
}

fn mark(claim: Option<&Claim>) -> (&'static str, &'static str) {
    match claim.map(|claim| claim.available) {
        Some(true) => ("✓", "yes"),
        Some(false) => ("✗", "no"),
        None => ("?", "unknown"),
    }
}

/// One cell: what is known, and the sources.
pub(super) fn claim(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let (agent, capability) = (visit.fields.text("agent"), visit.fields.text("capability"));
    let embed = |text: &str| services.library.embed(text);
    let request = LookupRequest { agent: agent.to_owned(), capability: capability.to_owned() };
    let found = services.catalog.lookup(&request, &embed)?;
    let name = services.catalog.agent(&found.agent).map_or(agent, |agent| agent.name.as_str());
    let sources = match &found.capability {
        None => Vec::new(),
        Some(known) => {
            let (agent, capability) = (Some(found.agent.clone()), Some(known.name.clone()));
            let asked = SourcesRequest { agent, capability };
            let sourced = services.catalog.sources(&asked, Utc::now().date_naive(), &embed)?;
            sourced.claims.into_iter().flat_map(|claim| claim.sources).collect()
        }
    };
    let title = found.capability.as_ref().map_or(capability, |known| known.name.as_str());
    let body = html! {
        p class="crumbs" { a href="/catalog" { "Coding agents" } " › " (text(name)) }
        h1 { (text(title)) }
        @if let Some(message) = &found.message { p class="hint" { (text(message)) } }
        @if let Some(known) = &found.capability { (known_facts(known)) (cited(&sources)) }
        @if !found.matches.is_empty() {
            h2 { "What may be meant otherwise" }
            ul { @for other in &found.matches {
                li { a href=(link("/catalog/claim", &[("agent", &found.agent), ("capability", &other.name)])) {
                    (text(&other.name)) } }
            } }
        }
    };
    Ok(Page { title: format!("{title}: {name}"), tab: Some(Tab::Agents), body })
}

fn known_facts(known: &KnownCapability) -> Markup {
    let available = match known.available.0 {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    };
    html! {
        p { (badge(available))
            @if let Some(maturity) = known.maturity_level { " " (badge(maturity.name())) }
            @if let Some(tier) = known.tier { " " (badge(tier.name())) } }
        p { (text(&known.description)) }
        @if let Some(word) = &known.terminology { p { "Its own word for it: " b { (text(word)) } } }
        @if let Some(notes) = &known.implementation_notes { (setup(notes)) }
        (bullets("Needs", &known.requirements))
        (bullets("Limits", &known.limitations))
    }
}

fn setup(notes: &ImplementationNotes) -> Markup {
    html! {
        h2 { "Setting it up" }
        dl class="facts" {
            @if let Some(setup) = &notes.setup { div { dt { "Step" } dd { code { (text(setup)) } } } }
            @if let Some(file) = &notes.config_file { div { dt { "File" } dd { code { (text(file)) } } } }
            @if let Some(url) = &notes.start_url { div { dt { "Read" } dd { (outward(url, url)) } } }
        }
        (bullets("Pitfalls", &notes.gotchas))
    }
}

fn bullets(title: &str, all: &[String]) -> Markup {
    html! {
        @if !all.is_empty() {
            h2 { (title) }
            ul { @for one in all { li { (text(one)) } } }
        }
    }
}

fn cited(sources: &[Citation]) -> Markup {
    html! {
        h2 { "Sources" }
        @if sources.is_empty() {
            p class="empty" { "There is none. A catalog of your own can say more: "
                code { "kenning --catalog FOLDER serve" } "." }
        }
        ul class="plain" {
            @for source in sources {
                li {
                    (outward(&source.url, &source.description)) " " (badge(age(source.freshness)))
                    span class="small" { " read " (source.verified_date.to_string()) }
                    @if let Some(evidence) = &source.evidence { blockquote { (text(evidence)) } }
                }
            }
        }
    }
}

fn age(freshness: Freshness) -> &'static str {
    match freshness {
        Freshness::Fresh => "fresh",
        Freshness::Aging => "aging",
        Freshness::Stale => "stale",
    }
}

/// A link out of here; what is not an address of the web is only text.
fn outward(url: &str, shown: &str) -> Markup {
    html! {
        @if url.starts_with("https://") || url.starts_with("http://") {
            a href=(url) rel="noreferrer noopener" { (text(shown)) }
        } @else { (text(shown)) " (" (text(url)) ")" }
    }
}
