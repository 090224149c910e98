//! `/compose/artifact/{id}`: files, as they would be written, and the button that writes them.

use kenning_compose::assemble::{AssembleRequest, AssemblyStatus};
use kenning_compose::config::{ArtifactConfig, ConfigType, ContentConfig, Loaded};
use kenning_compose::preview::{
    OutputEffect, PreviewArtifactRequest, PreviewArtifactResponse, PreviewedOutput,
};
use kenning_compose::{Compose, Error};
use maud::{Markup, html};

use super::super::form::{TOKEN, link};
use super::super::layout::{Tab, badge, error_notice};
use super::super::text::text;
use super::super::visit::Visit;
use super::super::{Page, PageError};
use super::values::{context, inputs, repeated, variables};
use super::{address, found, measured, origin, source, warned};
use kenning_app::Services;

/// An artifact, and the contents it is made of.
struct Made {
    artifact: Loaded<ArtifactConfig>,
    /// Those that are generated, in the order they stand in.
    contents: Vec<ContentConfig>,
    /// Whether making it calls a service, which may take long and cost something.
    calls_out: bool,
}

pub(in super::super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let compose = services.compose()?;
    let made = find(compose, visit.fields.text("id"))?;
    let config = &made.artifact.config;
    let files: Vec<&str> = config.metadata.outputs.iter().map(|one| one.file.as_str()).collect();
    let takes = variables(made.contents.iter());
    let body = html! {
        p class="crumbs" { a href="/compose" { "Compose" } " › " code { (text(&config.id)) } }
        h1 { (text(&config.metadata.title)) }
        p class="lead" { (text(&config.metadata.purpose)) }
        (facts(&made, &files))
        form class="stack panel" action=(address(ConfigType::Artifact, &config.id)) {
            h2 { "Values" }
            (inputs(&visit.fields, &takes))
            div class="buttons" {
                @if !made.calls_out {
                    button name="preview" value="yes" { "Preview" }
                }
                @if visit.may_write { (write_button(visit, &config.id, &files)) }
            }
            @if made.calls_out {
                p class="hint" { "A service outside writes a part of it, so it is made only when it is to be written." }
            }
        }
        @if visit.fields.get("preview").is_some() && !made.calls_out {
            (preview(compose, visit, &made, &config.id))
        }
        (source(&made.artifact.data))
    };
    Ok(Page { title: config.metadata.title.clone(), tab: Some(Tab::Compose), body })
}

fn find(compose: &Compose, id: &str) -> Result<Made, Error> {
    let artifact = compose.artifact_config(id)?;
    let children = artifact.config.content.children.iter().filter(|child| child.path.is_none());
    // An optional child that is broken is left out, and said to be by the preview.
    let contents: Vec<ContentConfig> =
        children.filter_map(|child| Some(compose.content_config(&child.id).ok()?.config)).collect();
    let calls_out = contents.iter().any(|content| super::content::calls_out(compose, content));
    Ok(Made { artifact, contents, calls_out })
}

fn facts(made: &Made, files: &[&str]) -> Markup {
    let config = &made.artifact.config;
    html! {
        dl class="facts" {
            div { dt { "Writes" } dd { @for file in files { code { (text(file)) } " " } } }
            div { dt { "Made of" } dd { @for child in &config.content.children {
                @match &child.path {
                    Some(path) => code { (text(path)) },
                    None => a href=(address(ConfigType::Content, &child.id)) { (text(&child.id)) },
                }
                " "
            } } }
            div { dt { "Config" } dd { (badge(origin(made.artifact.origin)))
                @if made.artifact.shadows_builtin { " in place of the built-in one" } } }
        }
    }
}

/// It carries the form's token itself, so that a preview's address does not.
fn write_button(visit: &Visit, id: &str, files: &[&str]) -> Markup {
    let to = format!("{}/build", address(ConfigType::Artifact, id));
    html! {
        button class="second" name=(TOKEN) value=(visit.token) formmethod="post" formaction=(to) {
            "Write " (text(&files.join(", ")))
        }
        label class="check" {
            input type="checkbox" name="force" value="yes" checked[visit.fields.get("force").is_some()];
            "also over what somebody else wrote; a copy of that is kept"
        }
    }
}

fn preview(compose: &Compose, visit: &Visit, made: &Made, id: &str) -> Markup {
    let made = context(&visit.fields, &variables(made.contents.iter())).and_then(|context| {
        let request =
            PreviewArtifactRequest { artifact_config_id: id.to_owned(), context: Some(context) };
        Ok(compose.preview_artifact(&request)?)
    });
    html! {
        h2 id="preview" { "Preview" }
        @match made {
            Ok(made) => (shown(&made)),
            Err(error) => (error_notice(&error.message, error.hint.as_deref())),
        }
    }
}

fn shown(made: &PreviewArtifactResponse) -> Markup {
    html! {
        (warned(&made.warnings))
        (found(&made.findings))
        @for output in &made.outputs { (file(output)) }
    }
}

fn file(output: &PreviewedOutput) -> Markup {
    let effect = match output.effect {
        OutputEffect::Creates => "a new file",
        OutputEffect::Updates => "what was written last is replaced",
        OutputEffect::Nothing => "the file is like this already",
        OutputEffect::Overwrites => "there is a file that somebody else wrote or changed",
    };
    html! {
        figure class="made" {
            figcaption {
                code { (text(&output.file)) } " "
                (measured(output.tokens, output.lines, output.size_bytes)) "; " (effect)
            }
            pre class="source" tabindex="0" { (text(&output.shown.content)) }
            @if output.shown.truncated { p class="hint" { "The beginning of it; the file has all." } }
        }
    }
}

pub(in super::super) fn build(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let (compose, id) = (services.compose()?, visit.fields.text("id"));
    let takes = variables(find(compose, id)?.contents.iter());
    let built = compose.assemble_artifact(&AssembleRequest {
        artifact_config_id: id.to_owned(),
        output_path: None,
        force: visit.fields.get("force").is_some(),
        context: Some(context(&visit.fields, &takes)?),
    })?;
    let done = match built.status {
        AssemblyStatus::Assembled => "written",
        AssemblyStatus::Unchanged => "unchanged",
    };
    let given = repeated(&visit.fields, &takes);
    let given = given.iter().map(|(name, value)| (name.as_str(), *value));
    let fields: Vec<(&str, &str)> = given.chain([("preview", "yes"), ("done", done)]).collect();
    Ok(link(&address(ConfigType::Artifact, id), &fields))
}
