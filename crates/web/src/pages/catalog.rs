//! `/catalog`: coding agents and their capabilities, with sources.

use chrono::Utc;
use kenning_catalog::data::{Agent, Definition, ImplementationNotes};
use kenning_catalog::lookup::{KnownCapability, LookupRequest};
use kenning_catalog::sources::{Citation, Freshness, SourcesRequest};
use maud::{Markup, html};

use super::form::link;
use super::layout::{Tab, badge, scroll, select};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

pub(super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let catalog = &services.catalog;
    let category = visit.fields.text("category");
    let known = catalog.categories();
    let mut selected = known.clone();
    selected.retain(|&one| category.is_empty() || one == category);
    if selected.is_empty() {
        let known = known.iter().map(|&one| one.to_owned()).collect();
        let asked = category.to_owned();
        return Err(kenning_catalog::Error::CategoryNotFound { asked, known }.into());
    }
    let options = std::iter::once(("", "all")).chain(known.iter().map(|&one| (one, one)));
    let body = html! {
        h1 { "Coding agents" }
        p class="lead" { "What each coding agent can do, with sources. " b { "?" }
            " means unknown: no source was found for or against." }
        form class="row" action="/catalog" {
            (select("category", "Category", options, category))
            button { "Filter" }
        }
        (scroll("Capabilities of coding agents", html! {
            table class="matrix" {
                thead { tr {
                    th { "Capability" }
                    @for agent in catalog.agents() { th { (text(&agent.name)) } }
                } }
                @for category in selected {
                    tbody {
                        tr class="group" {
                            th colspan=(catalog.agents().len() + 1) scope="rowgroup" { (text(category)) }
                        }
                        @for definition in catalog.definitions().iter().filter(|one| one.category == category) {
                            (row(catalog.agents(), definition))
                        }
                    }
                }
            }
        }))
    };
    Ok(Page::new("Coding agents", Tab::Agents, body))
}

fn row(agents: &[Agent], capability: &Definition) -> Markup {
    html! {
        tr {
            th scope="row" title=(text(&capability.description)) { (text(&capability.name)) }
            @for agent in agents {
                @let available = agent.claim(&capability.name).map(|claim| claim.available);
                @let word = availability(available);
                @let address = link("/catalog/claim", &[("agent", &agent.agent), ("capability", &capability.name)]);
                td class=(word) {
                    a href=(address) aria-label=(text(&format!("{}, {}: {word}", agent.name, capability.name))) {
                        @match available { Some(true) => "✓", Some(false) => "✗", None => "?" }
                    }
                }
            }
        }
    }
}

fn availability(available: Option<bool>) -> &'static str {
    match available {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    }
}

/// One cell of the table: a capability of an agent, with its sources.
pub(super) fn claim(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let (agent, capability) = (visit.fields.text("agent"), visit.fields.text("capability"));
    let embed = |text: &str| services.library.embed_bundled(text);
    let request = LookupRequest { agent: agent.to_owned(), capability: capability.to_owned() };
    let found = services.catalog.lookup(&request, &embed)?;
    let name = services.catalog.agent(&found.agent).map_or(agent, |agent| agent.name.as_str());
    let sources = match &found.capability {
        None => Vec::new(),
        Some(known) => {
            let (agent, capability) = (Some(found.agent.clone()), Some(known.name.clone()));
            let request = SourcesRequest { agent, capability };
            let response = services.catalog.sources(&request, Utc::now().date_naive(), &embed)?;
            response.claims.into_iter().flat_map(|claim| claim.sources).collect()
        }
    };
    let title = found.capability.as_ref().map_or(capability, |known| known.name.as_str());
    let body = html! {
        p class="crumbs" { a href="/catalog" { "Coding agents" } " › " (text(name)) }
        h1 { (text(title)) }
        @if let Some(message) = &found.message { p class="hint" { (text(message)) } }
        @if let Some(known) = &found.capability { (facts(known)) (citations(&sources)) }
        @if !found.matches.is_empty() {
            h2 { "Similar capabilities" }
            ul { @for other in &found.matches {
                li { a href=(link("/catalog/claim", &[("agent", &found.agent), ("capability", &other.name)])) {
                    (text(&other.name)) } }
            } }
        }
    };
    Ok(Page::new(format!("{title}: {name}"), Tab::Agents, body))
}

fn facts(known: &KnownCapability) -> Markup {
    html! {
        p { (badge(availability(known.available.0)))
            @if let Some(maturity) = known.maturity_level { " " (badge(maturity.name())) }
            @if let Some(tier) = known.tier { " " (badge(tier.name())) } }
        p { (text(&known.description)) }
        @if let Some(term) = &known.terminology { p { "The agent's own term: " b { (text(term)) } } }
        @if let Some(notes) = &known.implementation_notes { (setup(notes)) }
        (bullets("Requirements", &known.requirements))
        (bullets("Limitations", &known.limitations))
    }
}

fn setup(notes: &ImplementationNotes) -> Markup {
    html! {
        h2 { "Setup" }
        dl class="facts" {
            @if let Some(setup) = &notes.setup { div { dt { "Step" } dd { code { (text(setup)) } } } }
            @if let Some(file) = &notes.config_file { div { dt { "Config file" } dd { code { (text(file)) } } } }
            @if let Some(url) = &notes.start_url { div { dt { "Documentation" } dd { (external_link(url, url)) } } }
        }
        (bullets("Pitfalls", &notes.gotchas))
    }
}

fn bullets(title: &str, items: &[String]) -> Markup {
    html! {
        @if !items.is_empty() {
            h2 { (title) }
            ul { @for item in items { li { (text(item)) } } }
        }
    }
}

fn citations(sources: &[Citation]) -> Markup {
    html! {
        h2 { "Sources" }
        @if sources.is_empty() {
            p class="empty" { "No sources. You can add some in a catalog of your own: "
                code { "kenning --catalog FOLDER serve" } "." }
        }
        ul class="plain" {
            @for source in sources {
                li {
                    (external_link(&source.url, &source.description)) " " (badge(freshness(source.freshness)))
                    span class="small" { " verified " (source.verified_date.to_string()) }
                    @if let Some(evidence) = &source.evidence { blockquote { (text(evidence)) } }
                }
            }
        }
    }
}

fn freshness(freshness: Freshness) -> &'static str {
    match freshness {
        Freshness::Fresh => "fresh",
        Freshness::Aging => "aging",
        Freshness::Stale => "stale",
    }
}

/// Catalogs are untrusted: only `http` and `https` become links, anything else stays text.
fn external_link(url: &str, label: &str) -> Markup {
    html! {
        @if url.starts_with("https://") || url.starts_with("http://") {
            a href=(url) rel="noreferrer noopener" { (text(label)) }
        } @else { (text(label)) " (" (text(url)) ")" }
    }
}
