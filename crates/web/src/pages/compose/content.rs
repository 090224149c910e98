//! `/compose/content/{id}`: one text, how it is made, and the versions of it.

use kenning_compose::config::{ConfigType, ContentConfig, Loaded, Retrieval};
use kenning_compose::generate::{GenerateRequest, GenerationStatus, PreviewRequest};
use kenning_compose::generator::Selection;
use kenning_compose::storage::QueryRequest;
use kenning_compose::validate::ValidateRequest;
use kenning_compose::{Compose, Error, count_tokens};
use maud::{Markup, html};

use super::super::form::{TOKEN, link};
use super::super::layout::{Tab, badge, empty, error_notice, table, time};
use super::super::text::text;
use super::super::visit::Visit;
use super::super::{Page, PageError};
use super::values::{context, inputs, repeated, variables};
use super::{address, found, measured, origin, source, version_address, warned};
use kenning_app::Services;

/// Versions that are listed, the newest.
const LISTED: usize = 50;

pub(in super::super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let compose = services.compose()?;
    let id = visit.fields.text("id");
    let body = match compose.content_config(id) {
        Ok(loaded) => known(compose, visit, &loaded)?,
        // What was generated outlives its config.
        Err(error @ Error::NotFound { .. }) => {
            if compose.content_ids()?.iter().all(|kept| kept != id) {
                return Err(error.into());
            }
            html! { p class="hint" { "Its config is gone." } }
        }
        Err(error) => return Err(error.into()),
    };
    let body = html! {
        p class="crumbs" { a href="/compose#contents" { "Compose" } " › " "content" }
        h1 { (text(id)) }
        (body)
        (version(compose, visit, id)?)
        (versions(compose, id)?)
    };
    Ok(Page { title: id.to_owned(), tab: Some(Tab::Compose), body })
}

fn known(
    compose: &Compose,
    visit: &Visit,
    loaded: &Loaded<ContentConfig>,
) -> Result<Markup, PageError> {
    let config = &loaded.config;
    let takes = variables(std::iter::once(config));
    let calls_out = calls_out(compose, config);
    Ok(html! {
        p class="lead" { (text(&config.metadata.description)) }
        (facts(loaded, &compose.selections(config)?))
        form class="stack panel" action=(address(ConfigType::Content, &config.id)) {
            h2 { "Values" }
            (inputs(&visit.fields, &takes))
            div class="buttons" {
                @if !calls_out { button name="preview" value="yes" { "Preview" } }
                @if visit.may_write {
                    button class="second" name=(TOKEN) value=(visit.token) formmethod="post"
                        formaction={ (address(ConfigType::Content, &config.id)) "/generate" } { "Generate" }
                }
            }
            @if calls_out {
                p class="hint" { "A service outside writes it, so there is no preview without keeping it." }
            }
        }
        @if visit.fields.get("preview").is_some() && !calls_out {
            h2 id="preview" { "Preview" }
            (preview(compose, visit, &config.id, &takes))
        }
        (source(&loaded.data))
    })
}

/// Whether generating calls a service, which may take long and cost something. Whoever only looks
/// at a page must not do that.
pub(super) fn calls_out(compose: &Compose, config: &ContentConfig) -> bool {
    let selected = compose.selections(config).unwrap_or_default();
    selected.iter().any(|one| {
        let known = compose.generator(&one.generator_type);
        known.is_ok_and(|generator| generator.upstream_dependencies.is_some())
    })
}

fn facts(loaded: &Loaded<ContentConfig>, selected: &[Selection]) -> Markup {
    let config = &loaded.config;
    let sources = config.inputs.iter().flat_map(|inputs| &inputs.sources);
    let sources: Vec<&str> = sources.map(|one| one.source.as_str()).collect();
    html! {
        dl class="facts" {
            div { dt { "Generator" } dd { @for one in selected {
                a href="/compose#generators" { (text(&one.generator_type)) }
                span class="small" { ", because " (text(&one.reason)) " " }
            } } }
            @if !sources.is_empty() { div { dt { "Reads" } dd { (text(&sources.join(", "))) } } }
            div { dt { "Format" } dd { (text(&config.metadata.output_format)) } }
            div { dt { "Config" } dd { (badge(origin(loaded.origin)))
                @if loaded.shadows_builtin { " in place of the built-in one" } } }
        }
    }
}

fn preview(
    compose: &Compose,
    visit: &Visit,
    id: &str,
    takes: &[kenning_compose::config::Variable],
) -> Markup {
    let made = context(&visit.fields, takes).and_then(|context| {
        Ok(compose.preview_generation(&PreviewRequest {
            content_config_id: id.to_owned(),
            context: Some(context),
            show_metadata: false,
        })?)
    });
    html! {
        @match made {
            Err(error) => (error_notice(&error.message, error.hint.as_deref())),
            Ok(made) => {
                (warned(&made.warnings))
                figure class="made" {
                    figcaption { (measured(made.tokens, made.lines, made.size_bytes)) "; not kept" }
                    pre class="source" tabindex="0" { (text(&made.shown.content)) }
                    @if made.shown.truncated { p class="hint" { "The beginning of it." } }
                }
            },
        }
    }
}

/// The version that was asked for.
fn version(compose: &Compose, visit: &Visit, id: &str) -> Result<Markup, PageError> {
    let Some(wanted) = visit.fields.get("version") else { return Ok(html! {}) };
    let version = compose.content(id, Some(wanted))?;
    let content = version.content.as_deref();
    Ok(html! {
        h2 id="version" { "Version of " (time(version.created_at.0.unsigned_abs())) }
        @match content {
            None => p class="empty" { "Its text was deleted; only the record is kept." },
            Some(content) => figure class="made" {
                figcaption {
                    code { (text(&version.version)) } " "
                    (measured(count_tokens(content), content.lines().count(), content.len()))
                }
                pre class="source" tabindex="0" { (text(content)) }
            },
        }
    })
}

fn versions(compose: &Compose, id: &str) -> Result<Markup, PageError> {
    let kept = compose.query_ephemeral_storage(&QueryRequest {
        content_id: Some(id.to_owned()),
        retrieval: Retrieval::All,
        include_content: false,
        limit: LISTED,
    });
    let kept = kept?;
    let next = html! { "\u{201c}Generate\u{201d} makes one and keeps it; so does whatever writes an artifact it is part of." };
    Ok(html! {
        h2 id="versions" { "Versions" }
        @if kept.versions.is_empty() { (empty("Nothing was generated yet.", next)) } @else {
            (checked(compose, id))
            (table("Versions", html! {
                table {
                    thead { tr { th { "Made" } th { "Version" } th { "Generator" } th class="n" { "Bytes" } th { "Why" } } }
                    tbody { @for one in &kept.versions {
                        tr {
                            td { a href=(version_address(id, &one.version)) { (time(one.created_at.0.unsigned_abs())) } }
                            td { code { (text(&one.version)) } @if one.deleted { " " (badge("deleted")) } }
                            td { (text(&one.generators.join(", "))) }
                            td class="n" { (one.size_bytes) }
                            td { (text(one.reason.as_deref().unwrap_or_default())) }
                        }
                    } }
                }
            }))
            @if kept.total > kept.versions.len() {
                p class="hint" { "The newest " (kept.versions.len()) " of " (kept.total) "." }
            }
        }
    })
}

/// What the rules of the config say about the newest version.
fn checked(compose: &Compose, id: &str) -> Markup {
    let request =
        ValidateRequest { content_or_config_id: id.to_owned(), ..ValidateRequest::default() };
    html! {
        @if let Ok(checked) = compose.validate_content(&request) {
            p { (badge(if checked.valid { "valid" } else { "not valid" })) " The newest one, by "
                (checked.rules_checked) @if checked.rules_checked == 1 { " rule." } @else { " rules." } }
            (found(&checked.findings))
        }
    }
}

pub(in super::super) fn generate(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let (compose, id) = (services.compose()?, visit.fields.text("id"));
    let takes = variables(std::iter::once(&compose.content_config(id)?.config));
    let made = compose.generate_content(&GenerateRequest {
        content_config_id: id.to_owned(),
        context: Some(context(&visit.fields, &takes)?),
        force: false,
    })?;
    let done = match made.status {
        GenerationStatus::Skipped => "unchanged-text",
        GenerationStatus::Generated | GenerationStatus::Regenerated => "generated",
    };
    let given = repeated(&visit.fields, &takes);
    let given = given.iter().map(|(name, value)| (name.as_str(), *value));
    let fields: Vec<(&str, &str)> =
        given.chain([("version", made.version.as_str()), ("done", done)]).collect();
    Ok(link(&address(ConfigType::Content, id), &fields))
}
