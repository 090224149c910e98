//! `compose`: lists, previews and builds artifacts.

mod model;
mod sources;

use std::sync::Arc;
use std::time::Duration;

use kenning_compose::assemble::{AssembleRequest, AssembleResponse, AssemblyStatus};
use kenning_compose::generate::PreviewRequest;
use kenning_compose::generator::Credentials;
use kenning_compose::list::{ArtifactListResponse, ListRequest, ListedArtifact, MAX_LISTED};
use kenning_compose::model::Context as Values;
use kenning_compose::preview::PreviewArtifactRequest;
use kenning_compose::{Compose, Error, Parts};
use kenning_knowledge::Library;
use kenning_knowledge::watch::Watcher;
use kenning_registry::Registry;
use serde_json::Value;

pub(super) use self::sources::DomainSources;
use super::vectors::Missing;
use super::{Context, data_folder, gaps, user_file};
use crate::cli::{self, ComposeCommand};
use crate::failure::{Exit, Failure};

/// Credentials are environment variables.
struct Environment;

impl Credentials for Environment {
    fn is_set(&self, name: &str) -> bool {
        std::env::var_os(name).is_some_and(|value| !value.is_empty())
    }
}

impl Context {
    /// Compose in the project's folder; `None`, with a warning, if it cannot be opened there.
    pub(super) fn compose(&self, sources: DomainSources) -> Option<Compose> {
        self.open_compose(sources)
            .inspect_err(|failure| {
                tracing::warn!("compose is not available in this project: {}", failure.message);
            })
            .ok()
    }

    fn open_compose(&self, sources: DomainSources) -> Result<Compose, Failure> {
        let root = self.layers.project_folder();
        let state = match self.settings.storage_folder(&self.layers)? {
            Some(folder) => Some(folder),
            None => data_folder(),
        };
        let state = state.ok_or_else(|| {
            Failure::new("there is no folder for generated content").hint("set HOME")
        })?;
        // One state folder per workspace.
        let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
        let sources = Arc::new(sources);
        let parts = Parts {
            plugins: user_file().map(|file| file.with_file_name("generators")),
            sources: sources.clone(),
            model: model::from_settings(self)?,
            credentials: Arc::new(Environment),
            ..Parts::new(root, state.join("compose").join(&name.as_str()[..16]))
        };
        let compose = Compose::open(parts)?;
        Ok(sources.compose.get_or_init(|| compose).clone())
    }
}

pub(super) fn run(context: &Context, args: cli::Compose) -> Result<Exit, Failure> {
    let store = context.open_store()?;
    let library = Arc::new(context.open_library()?);
    let vectors = Arc::new(context.vectors(&library, store.as_ref())?);
    let registry = store.clone().map(|store| Registry::new(store));
    let gaps = store.map(gaps::with_model);
    let discovery = Arc::new(context.settings.discovery.clone());
    let catalog = Arc::new(context.catalog()?);
    let missing = missing_vectors(&args.command);
    let sources = DomainSources::new(&library, &discovery, &catalog, registry, gaps)
        .before_search({
            let vectors = vectors.clone();
            move || vectors.load(missing).map_err(|failure| failure.message)
        })
        .before_gaps(|gaps| gaps::extract(gaps).map_err(|failure| failure.message));
    let compose = context.open_compose(sources)?;
    match args.command {
        ComposeCommand::List => {
            let all = ListRequest { limit: MAX_LISTED, ..ListRequest::default() };
            let listed = compose.list_artifacts(&all)?;
            context.printer.answer(&listed, list_text)?;
        }
        ComposeCommand::Preview { id, set, .. } => {
            preview(context, &compose, &id, values(&set)?)?;
            context.printer.note_if(vectors.leave_rest_and_report().as_deref());
        }
        ComposeCommand::Build { id, set, output, force, watch, .. } => {
            let request = AssembleRequest {
                artifact_config_id: id,
                output_path: output.map(|path| path.to_string_lossy().into_owned()),
                force,
                context: Some(values(&set)?),
            };
            build(context, &compose, &request)?;
            context.printer.note_if(vectors.leave_rest_and_report().as_deref());
            if watch {
                build_on_changes(context, &compose, &request, &library)?;
            }
        }
    }
    Ok(Exit::Success)
}

fn missing_vectors(command: &ComposeCommand) -> Missing {
    match command {
        ComposeCommand::List => Missing::Leave,
        ComposeCommand::Preview { wait, .. } | ComposeCommand::Build { wait, .. } => (*wait).into(),
    }
}

/// Previews the content with this id; if there is none, the artifact.
fn preview(context: &Context, compose: &Compose, id: &str, values: Values) -> Result<(), Failure> {
    let (id, values) = (id.to_owned(), Some(values));
    let note = |warnings: &[String]| warnings.iter().for_each(|text| context.printer.note(text));
    if compose.content_config(&id).is_err() && compose.artifact_config(&id).is_ok() {
        let request = PreviewArtifactRequest { artifact_config_id: id, context: values };
        let previewed = compose.preview_artifact(&request)?;
        note(&previewed.warnings);
        return context.printer.answer(&previewed, |previewed| {
            let texts = previewed.outputs.iter().map(|output| output.shown.content.as_str());
            texts.collect::<Vec<_>>().join("\n")
        });
    }
    let request = PreviewRequest { content_config_id: id, context: values, show_metadata: false };
    let previewed = compose.preview_generation(&request)?;
    note(&previewed.warnings);
    context.printer.answer(&previewed, |previewed| previewed.shown.content.clone())
}

/// `name=value`, where the value is JSON if it parses as such, and text otherwise.
fn values(set: &[String]) -> Result<Values, Failure> {
    let pair = |pair: &String| {
        let (name, value) = pair.split_once('=').ok_or_else(|| {
            Failure::usage(format!("--set `{pair}` has no `=`"))
                .hint("values are set like --set max_tokens=4000")
        })?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        Ok((name.to_owned(), value))
    };
    set.iter().map(pair).collect()
}

fn build(context: &Context, compose: &Compose, request: &AssembleRequest) -> Result<(), Failure> {
    let built = compose.assemble_artifact(request)?;
    built.warnings.iter().for_each(|warning| context.printer.note(warning));
    context.printer.answer(&built, build_text)
}

/// Builds again whenever files of the knowledge bases change, until the process ends.
fn build_on_changes(
    context: &Context,
    compose: &Compose,
    request: &AssembleRequest,
    library: &Arc<Library>,
) -> Result<(), Failure> {
    let (sender, changes) = std::sync::mpsc::channel();
    let notify = move |_| {
        // Fails only when the receiver is gone, which is when the program ends.
        let _ = sender.send(());
    };
    let _watcher = Watcher::start(library.clone(), notify)
        .map_err(|error| Failure::new(format!("files cannot be watched: {error}")))?;
    context.printer.note("waiting for changes; Ctrl-C ends it");
    while changes.recv().is_ok() {
        // One save causes several events; wait until they stop.
        while changes.recv_timeout(Duration::from_millis(200)).is_ok() {}
        if let Err(failure) = build(context, compose, request) {
            context.printer.note(&format!("error: {}", failure.message));
        }
    }
    Ok(())
}

fn list_text(listed: &ArtifactListResponse) -> String {
    let line = |artifact: &ListedArtifact| {
        let outputs = artifact.outputs.join(", ");
        let problem = artifact.problem.as_ref().map(|problem| format!("  ! {problem}"));
        let problem = problem.unwrap_or_default();
        format!("{:<24} {outputs:<32} {}{problem}", artifact.id, artifact.purpose)
    };
    listed.artifacts.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn build_text(built: &AssembleResponse) -> String {
    let status = match built.status {
        AssemblyStatus::Assembled => "wrote",
        AssemblyStatus::Unchanged => "unchanged",
    };
    let outputs = built.outputs.iter().map(|output| format!("{status} {}", output.file));
    let findings = built.findings.iter().map(|finding| format!("! {}", finding.message));
    outputs.chain(findings).collect::<Vec<_>>().join("\n")
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Self::new(error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}
