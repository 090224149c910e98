//! `/compose/content/{id}`: one content, how it is generated, and its versions.

use kenning_compose::config::{ConfigType, ContentConfig, Loaded, Retrieval, Variable};
use kenning_compose::generate::{GenerateRequest, GenerationStatus, PreviewRequest};
use kenning_compose::generator::Selection;
use kenning_compose::storage::QueryRequest;
use kenning_compose::validate::ValidateRequest;
use kenning_compose::{Compose, Error, count_tokens};
use maud::{Markup, html};

use super::super::form::TOKEN;
use super::super::layout::Column::{Number, Text};
use super::super::layout::{Tab, badge, empty, error_notice, table};
use super::super::text::text;
use super::super::visit::Visit;
use super::super::{Page, PageError};
use super::values::{context, inputs, link_with_values, variables};
use super::{
    address, figure, finding_list, origin_fact, size, source, time, version_link, warning_list,
};
use kenning_app::Services;

const MAX_VERSIONS: usize = 50;

pub(in super::super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let compose = services.compose()?;
    let id = visit.fields.text("id");
    let body = match compose.content_config(id) {
        Ok(loaded) => config_view(compose, visit, &loaded)?,
        // Generated texts outlive their config.
        Err(error @ Error::NotFound { .. }) => {
            if compose.content_ids()?.iter().all(|saved| saved != id) {
                return Err(error.into());
            }
            html! { p class="hint" { "The config of this content no longer exists. Its versions can still be read." } }
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
    Ok(Page::new(id, Tab::Compose, body))
}

fn config_view(
    compose: &Compose,
    visit: &Visit,
    loaded: &Loaded<ContentConfig>,
) -> Result<Markup, PageError> {
    let config = &loaded.config;
    let variables = variables(std::iter::once(config));
    let calls_out = calls_out(compose, config);
    Ok(html! {
        p class="lead" { (text(&config.metadata.description)) }
        (facts(loaded, &compose.selections(config)?))
        form class="stack panel" action=(address(ConfigType::Content, &config.id)) {
            h2 { "Values" }
            (inputs(&visit.fields, &variables))
            div class="buttons" {
                @if !calls_out { button name="preview" value="yes" { "Preview" } }
                @if visit.may_write {
                    button class="second" name=(TOKEN) value=(visit.token) formmethod="post"
                        formaction={ (address(ConfigType::Content, &config.id)) "/generate" } { "Generate" }
                }
            }
            @if calls_out {
                p class="hint" { "An external service generates this text, so there is no preview: every result is saved." }
            }
        }
        @if visit.fields.get("preview").is_some() && !calls_out {
            h2 id="preview" { "Preview" }
            (preview(compose, visit, &config.id, &variables))
        }
        (source(&loaded.data))
    })
}

/// Whether generating calls an external service. That may take long and cost money, so a request
/// that only reads a page must not do it.
pub(super) fn calls_out(compose: &Compose, config: &ContentConfig) -> bool {
    let selected = compose.selections(config).unwrap_or_default();
    selected.iter().any(|one| {
        let generator = compose.generator(&one.generator_type);
        generator.is_ok_and(|generator| generator.upstream_dependencies.is_some())
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
            @if !sources.is_empty() { div { dt { "Sources" } dd { (text(&sources.join(", "))) } } }
            div { dt { "Format" } dd { (text(&config.metadata.output_format)) } }
            (origin_fact(loaded))
        }
    }
}

fn preview(compose: &Compose, visit: &Visit, id: &str, variables: &[Variable]) -> Markup {
    let preview = context(&visit.fields, variables).and_then(|context| {
        Ok(compose.preview_generation(&PreviewRequest {
            content_config_id: id.to_owned(),
            context: Some(context),
            show_metadata: false,
        })?)
    });
    html! {
        @match preview {
            Err(error) => (error_notice(&error)),
            Ok(preview) => {
                (warning_list(&preview.warnings))
                (figure(html! {
                    (size(preview.tokens, preview.lines, preview.size_bytes)) "; not saved"
                    @if preview.shown.truncated { "; only the beginning is shown" }
                }, &preview.shown.content))
            },
        }
    }
}

/// The version that the address names.
fn version(compose: &Compose, visit: &Visit, id: &str) -> Result<Markup, PageError> {
    let Some(version) = visit.fields.get("version") else { return Ok(html! {}) };
    let version = compose.content(id, Some(version))?;
    Ok(html! {
        h2 id="version" { "Version of " (time(version.created_at)) }
        @match version.content.as_deref() {
            None => p class="empty" { "The text of this version was deleted; only its record is left." },
            Some(content) => (figure(html! {
                code { (text(&version.version)) } " "
                (size(count_tokens(content), content.lines().count(), content.len()))
            }, content)),
        }
    })
}

fn versions(compose: &Compose, id: &str) -> Result<Markup, PageError> {
    let saved = compose.query_ephemeral_storage(&QueryRequest {
        content_id: Some(id.to_owned()),
        retrieval: Retrieval::All,
        include_content: false,
        limit: MAX_VERSIONS,
    })?;
    let next = html! { "\u{201c}Generate\u{201d} saves one, and so does writing an artifact that \
    contains this content." };
    Ok(html! {
        h2 id="versions" { "Versions" }
        @if saved.versions.is_empty() { (empty("No versions yet.", next)) } @else {
            (validation(compose, id))
            (table("Versions", &[
                Text("Generated"), Text("Version"), Text("Generator"), Number("Bytes"), Text("Reason"),
            ], html! {
                @for version in &saved.versions {
                    tr {
                        td { (version_link(id, version)) }
                        td { code { (text(&version.version)) } @if version.deleted { " " (badge("deleted")) } }
                        td { (text(&version.generators.join(", "))) }
                        td class="n" { (version.size_bytes) }
                        td { (text(version.reason.as_deref().unwrap_or_default())) }
                    }
                }
            }))
            @if saved.total > saved.versions.len() {
                p class="hint" { "The newest " (saved.versions.len()) " of " (saved.total) "." }
            }
        }
    })
}

/// Checks the newest version against the rules of the config.
fn validation(compose: &Compose, id: &str) -> Markup {
    let request =
        ValidateRequest { content_or_config_id: id.to_owned(), ..ValidateRequest::default() };
    html! {
        @if let Ok(result) = compose.validate_content(&request) {
            p { (badge(if result.valid { "valid" } else { "invalid" })) " The newest version, checked against "
                (result.rules_checked) @if result.rules_checked == 1 { " rule." } @else { " rules." } }
            (finding_list(&result.findings))
        }
    }
}

pub(in super::super) fn generate(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let (compose, id) = (services.compose()?, visit.fields.text("id"));
    let variables = variables(std::iter::once(&compose.content_config(id)?.config));
    let generated = compose.generate_content(&GenerateRequest {
        content_config_id: id.to_owned(),
        context: Some(context(&visit.fields, &variables)?),
        force: false,
    })?;
    let done = match generated.status {
        GenerationStatus::Skipped => "unchanged-text",
        GenerationStatus::Generated | GenerationStatus::Regenerated => "generated",
    };
    let extra = [("version", generated.version.as_str()), ("done", done)];
    Ok(link_with_values(&address(ConfigType::Content, id), &visit.fields, &variables, &extra))
}
