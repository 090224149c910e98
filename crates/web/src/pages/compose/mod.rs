//! `/compose`: files made from what is known. What there is to make is here; one artifact, which
//! becomes files, is [`artifact`], one content, which is a text with versions, is [`content`], and
//! [`values`] is what both ask for.

mod artifact;
mod content;
mod values;

use std::collections::BTreeMap;

use kenning_compose::config::{ConfigType, Origin};
use kenning_compose::generator::Listing;
use kenning_compose::list::{
    GeneratorsRequest, ListRequest, ListedArtifact, ListedContent, MAX_LISTED,
};
use kenning_compose::storage::{QueryRequest, StoredVersion};
use kenning_compose::validate::Finding;
use kenning_compose::{Compose, Error};
use maud::{Markup, html};

use super::form::encoded;
use super::layout::{Tab, badge, empty, table, time};
use super::text::text;
use super::visit::Visit;
use super::{Page, PageError};
use kenning_app::Services;

pub(super) use artifact::{build, view as artifact};
pub(super) use content::{generate, view as content};

pub(super) fn view(services: &Services, _: &Visit) -> Result<Page, PageError> {
    let body = match &services.compose {
        None => html! { h1 { "Compose" } (nowhere()) },
        Some(compose) => {
            let all = ListRequest { limit: MAX_LISTED, ..ListRequest::default() };
            let artifacts = compose.list_artifacts(&all)?.artifacts;
            let contents = compose.list_content(&all)?.content;
            let made_by = made_by(compose, &contents);
            html! {
                h1 { "Compose" }
                p class="lead" { "Files made from what is known, written into the project when you say so." }
                h2 { "What can be written" }
                ul class="cards" { @for one in &artifacts { (card(one, &made_by)) } }
                h2 id="contents" { "What it is made of" }
                p class="hint" { "Each text can be made on its own; every time it is kept as a version." }
                (table("Contents", content_table(&contents, &made_by)))
                (kept(compose, &contents)?)
                (generators(&compose.list_generators(&GeneratorsRequest::default()).listing))
                p class="hint" { "Own configs are JSON files in " code { ".kenning/compose" }
                    " of the project; one with the id of a built-in one takes its place." }
            }
        }
    };
    Ok(Page { title: "Compose".to_owned(), tab: Some(Tab::Compose), body })
}

/// The types of the generators of each content; a broken config has none.
type MadeBy = BTreeMap<String, Vec<String>>;

fn made_by(compose: &Compose, contents: &[ListedContent]) -> MadeBy {
    let types = |id: &str| -> Result<Vec<String>, Error> {
        let selected = compose.selections(&compose.content_config(id)?.config)?;
        let mut types: Vec<String> = selected.into_iter().map(|one| one.generator_type).collect();
        types.dedup();
        Ok(types)
    };
    contents.iter().map(|one| (one.id.clone(), types(&one.id).unwrap_or_default())).collect()
}

fn card(artifact: &ListedArtifact, made_by: &MadeBy) -> Markup {
    let mut generators: Vec<&String> =
        artifact.children.iter().filter_map(|child| made_by.get(child)).flatten().collect();
    generators.sort();
    generators.dedup();
    let title = if artifact.title.is_empty() { &artifact.id } else { &artifact.title };
    html! {
        li class="card" {
            h3 { a href=(address(ConfigType::Artifact, &artifact.id)) { (text(title)) } }
            p { (text(&artifact.purpose)) }
            @if let Some(problem) = &artifact.problem { p class="problem" { (text(problem)) } }
            p class="card-foot" {
                @for file in &artifact.outputs { code { (text(file)) } " " }
                (badge(origin(artifact.origin)))
                @for one in generators { " " span class="small" { (text(one)) } }
            }
            p class="small" {
                @match artifact.assembled_at {
                    Some(at) => { "written " (time(at.0.unsigned_abs())) },
                    None => "not written yet",
                }
            }
        }
    }
}

fn content_table(contents: &[ListedContent], made_by: &MadeBy) -> Markup {
    html! {
        table {
            thead { tr {
                th { "Content" } th { "Generator" } th { "Reads" } th class="n" { "Values" }
                th class="n" { "Versions" } th { "Made" }
            } }
            tbody { @for one in contents {
                tr {
                    td class="wide" {
                        a href=(address(ConfigType::Content, &one.id)) { (text(&one.id)) } " "
                        (badge(origin(one.origin)))
                        @if one.shadows_builtin { " " span class="small" { "in place of the built-in one" } }
                        div class="small" { (text(&one.description)) }
                        @if let Some(problem) = &one.problem { div class="problem" { (text(problem)) } }
                    }
                    td { (text(&made_by.get(&one.id).map(|types| types.join(", ")).unwrap_or_default())) }
                    td { (text(&one.sources.join(", "))) }
                    td class="n" { (one.variables.len()) }
                    td class="n" { (one.versions) }
                    td { @match one.generated_at {
                        Some(at) => (time(at.0.unsigned_abs())),
                        None => span class="small" { "never" },
                    } }
                }
            } }
        }
    }
}

/// The newest version of everything that was generated, also from configs that are gone.
fn kept(compose: &Compose, contents: &[ListedContent]) -> Result<Markup, PageError> {
    let newest = compose.query_ephemeral_storage(&QueryRequest::default())?.versions;
    let count = |id: &str| contents.iter().find(|one| one.id == id).map_or(1, |one| one.versions);
    let next = html! { "Look at one of the above and write it, or ask for it with "
    code { "kenning compose build agents-md" } "." };
    Ok(html! {
        h2 id="kept" { "What was generated" }
        @if newest.is_empty() { (empty("Nothing was generated yet.", next)) } @else {
            (table("What was generated", html! {
                table {
                    thead { tr {
                        th { "Content" } th { "Newest version" } th { "Generator" } th { "Format" }
                        th class="n" { "Bytes" } th class="n" { "Versions" }
                    } }
                    tbody { @for one in &newest { (kept_row(one, count(&one.content_id))) } }
                }
            }))
        }
    })
}

fn kept_row(one: &StoredVersion, versions: usize) -> Markup {
    html! {
        tr {
            td { (text(&one.content_id)) }
            td { a href=(version_address(&one.content_id, &one.version)) { (time(one.created_at.0.unsigned_abs())) }
                @if one.deleted { " " (badge("deleted")) } }
            td { (text(&one.generators.join(", "))) }
            td { (text(&one.format)) }
            td class="n" { (one.size_bytes) }
            td class="n" { (versions) }
        }
    }
}

fn generators(listing: &Listing) -> Markup {
    html! {
        h2 id="generators" { "Generators" }
        (table("Generators", html! {
            table {
                thead { tr { th { "Type" } th { "State" } th { "What it does" } } }
                tbody {
                    @for (kind, one) in &listing.generators {
                        tr {
                            td { code { (text(kind)) } }
                            td { (badge("ready")) }
                            td class="wide" { (text(&one.description))
                                @if let Some(path) = &one.plugin_path { div class="small" { "Plugin " code { (text(path)) } } } }
                        }
                    }
                    @for one in &listing.absent {
                        tr {
                            td { code { (text(&one.generator_type)) } }
                            td { (badge("absent")) }
                            td class="wide" { (text(&one.reason))
                                @if !one.missing.is_empty() {
                                    div class="small" { "Set it in the environment of the server and start it again." }
                                } }
                        }
                    }
                }
            }
        }))
        @for fault in &listing.diagnostics {
            p class="notice bad" { "Plugin " code { (text(&fault.plugin)) } ": " (text(&fault.problem)) }
        }
    }
}

/// Where nothing can be kept.
fn nowhere() -> Markup {
    let next = html! { "Its folder could not be made; the server's log says why. Set " code { "HOME" }
    ", or " code { "index.storage_path" } " in the settings, and start the server again." };
    empty("Nothing can be composed here.", next)
}

/// What rules say of a text.
fn found(findings: &[Finding]) -> Markup {
    html! {
        @if !findings.is_empty() {
            ul class="plain findings" {
                @for one in findings {
                    li { (badge(severity(one))) " " code { (text(&one.rule)) } " " (text(&one.message)) }
                }
            }
        }
    }
}

fn severity(finding: &Finding) -> &'static str {
    use kenning_compose::validate::Severity;
    match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    }
}

fn warned(warnings: &[String]) -> Markup {
    html! { @for warning in warnings { p class="notice" { (text(warning)) } } }
}

/// How large a text is.
fn measured(tokens: usize, lines: usize, bytes: usize) -> Markup {
    html! { b { (tokens) " tokens" } ", " (lines) " lines, " (bytes) " bytes" }
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Builtin => "built in",
        Origin::Workspace => "own",
    }
}

fn address(config_type: ConfigType, id: &str) -> String {
    format!("/compose/{config_type}/{}", encoded(id))
}

fn version_address(id: &str, version: &str) -> String {
    super::form::link(&address(ConfigType::Content, id), &[("version", version)])
}

/// The config as it is written, for those who want to write one like it.
fn source(data: &serde_json::Value) -> Markup {
    html! {
        details {
            summary { "The config as it is written" }
            pre class="source" { (text(&serde_json::to_string_pretty(data).unwrap_or_default())) }
        }
    }
}
