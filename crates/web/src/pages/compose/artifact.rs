//! `/compose/artifact/{id}`: one artifact, a preview of its files, and the button that writes them.

use kenning_compose::assemble::{AssembleRequest, AssemblyStatus};
use kenning_compose::config::{ArtifactConfig, ConfigType, ContentConfig, Loaded, Variable};
use kenning_compose::preview::{OutputEffect, PreviewArtifactRequest, PreviewedOutput};
use kenning_compose::{Compose, Error};
use maud::{Markup, html};

use super::super::form::TOKEN;
use super::super::layout::{Tab, error_notice};
use super::super::text::text;
use super::super::visit::Visit;
use super::super::{Page, PageError};
use super::values::{context, inputs, link_with_values, variables};
use super::{address, figure, finding_list, origin_fact, size, source, warning_list};
use kenning_app::Services;

/// The configs that an artifact is assembled from.
struct Configs {
    artifact: Loaded<ArtifactConfig>,
    /// Of the generated children, in order.
    contents: Vec<ContentConfig>,
    /// Whether assembling calls an external service, which may take long and cost money.
    calls_out: bool,
}

impl Configs {
    fn load(compose: &Compose, id: &str) -> Result<Self, Error> {
        let artifact = compose.artifact_config(id)?;
        let children = artifact.config.content.children.iter();
        // A broken optional child is left out; the preview warns about it.
        let contents: Vec<ContentConfig> = children
            .filter(|child| child.path.is_none())
            .filter_map(|child| Some(compose.content_config(&child.id).ok()?.config))
            .collect();
        let calls_out = contents.iter().any(|content| super::content::calls_out(compose, content));
        Ok(Self { artifact, contents, calls_out })
    }

    fn variables(&self) -> Vec<Variable> {
        variables(self.contents.iter())
    }
}

pub(in super::super) fn view(services: &Services, visit: &Visit) -> Result<Page, PageError> {
    let compose = services.compose()?;
    let configs = Configs::load(compose, visit.fields.text("id"))?;
    let config = &configs.artifact.config;
    let files: Vec<&str> = config.metadata.outputs.iter().map(|one| one.file.as_str()).collect();
    let variables = configs.variables();
    let body = html! {
        p class="crumbs" { a href="/compose" { "Compose" } " › " code { (text(&config.id)) } }
        h1 { (text(&config.metadata.title)) }
        p class="lead" { (text(&config.metadata.purpose)) }
        (facts(&configs.artifact, &files))
        form class="stack panel" action=(address(ConfigType::Artifact, &config.id)) {
            h2 { "Values" }
            (inputs(&visit.fields, &variables))
            div class="buttons" {
                @if !configs.calls_out { button name="preview" value="yes" { "Preview" } }
                @if visit.may_write { (write_button(visit, &config.id, &files)) }
            }
            @if configs.calls_out {
                p class="hint" { "An external service generates a part of this artifact, so there is no preview: \
                    every result is saved." }
            }
        }
        @if visit.fields.get("preview").is_some() && !configs.calls_out {
            h2 id="preview" { "Preview" }
            (preview(compose, visit, &config.id, &variables))
        }
        (source(&configs.artifact.data))
    };
    Ok(Page::new(&config.metadata.title, Tab::Compose, body))
}

fn facts(artifact: &Loaded<ArtifactConfig>, files: &[&str]) -> Markup {
    html! {
        dl class="facts" {
            div { dt { "Files" } dd { @for file in files { code { (text(file)) } " " } } }
            div { dt { "Contents" } dd { @for child in &artifact.config.content.children {
                @match &child.path {
                    Some(path) => code { (text(path)) },
                    None => a href=(address(ConfigType::Content, &child.id)) { (text(&child.id)) },
                }
                " "
            } } }
            (origin_fact(artifact))
        }
    }
}

/// The button itself carries the form token, so that the address of a preview does not contain it.
fn write_button(visit: &Visit, id: &str, files: &[&str]) -> Markup {
    let action = format!("{}/build", address(ConfigType::Artifact, id));
    html! {
        button class="second" name=(TOKEN) value=(visit.token) formmethod="post" formaction=(action) {
            "Write " (text(&files.join(", ")))
        }
        label class="check" {
            input type="checkbox" name="force" value="yes" checked[visit.fields.get("force").is_some()];
            "Overwrite files that others wrote or changed, and keep a copy"
        }
    }
}

fn preview(compose: &Compose, visit: &Visit, id: &str, variables: &[Variable]) -> Markup {
    let preview = context(&visit.fields, variables).and_then(|context| {
        let request =
            PreviewArtifactRequest { artifact_config_id: id.to_owned(), context: Some(context) };
        Ok(compose.preview_artifact(&request)?)
    });
    html! {
        @match preview {
            Ok(preview) => {
                (warning_list(&preview.warnings))
                (finding_list(&preview.findings))
                @for output in &preview.outputs { (file(output)) }
            },
            Err(error) => (error_notice(&error)),
        }
    }
}

fn file(output: &PreviewedOutput) -> Markup {
    let effect = match output.effect {
        OutputEffect::Creates => "creates a new file",
        OutputEffect::Updates => "replaces the file that was written last",
        OutputEffect::Nothing => "the file is already up to date",
        OutputEffect::Overwrites => "there is a file that others wrote or changed",
    };
    let caption = html! {
        code { (text(&output.file)) } " "
        (size(output.tokens, output.lines, output.size_bytes)) "; " (effect)
        @if output.shown.truncated { "; only the beginning is shown" }
    };
    figure(caption, &output.shown.content)
}

pub(in super::super) fn build(services: &Services, visit: &Visit) -> Result<String, PageError> {
    let (compose, id) = (services.compose()?, visit.fields.text("id"));
    let variables = Configs::load(compose, id)?.variables();
    let built = compose.assemble_artifact(&AssembleRequest {
        artifact_config_id: id.to_owned(),
        output_path: None,
        force: visit.fields.get("force").is_some(),
        context: Some(context(&visit.fields, &variables)?),
    })?;
    let done = match built.status {
        AssemblyStatus::Assembled => "written",
        AssemblyStatus::Unchanged => "unchanged",
    };
    let extra = [("preview", "yes"), ("done", done)];
    Ok(link_with_values(&address(ConfigType::Artifact, id), &visit.fields, &variables, &extra))
}
