//! `compose`: files made from what is known.

mod sources;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kenning_compose::assemble::{AssembleRequest, AssembleResponse, AssemblyStatus};
use kenning_compose::generate::PreviewRequest;
use kenning_compose::generator::Credentials;
use kenning_compose::list::{ArtifactListResponse, ListRequest, ListedArtifact, MAX_LISTED};
use kenning_compose::model::Context as Values;
use kenning_compose::preview::{PreviewArtifactRequest, PreviewArtifactResponse};
use kenning_compose::{Compose, Error, Parts};
use kenning_knowledge::Library;
use kenning_knowledge::watch::Watcher;
use kenning_registry::Registry;
use serde_json::Value;

pub(super) use self::sources::Rooms;
use super::{Context, data_folder, gaps, user_file};
use crate::cli::{self, ComposeCommand};
use crate::failure::{Exit, Failure};

/// Which variables of the environment are set.
struct Environment;

impl Credentials for Environment {
    fn is_set(&self, name: &str) -> bool {
        std::env::var_os(name).is_some_and(|value| !value.is_empty())
    }
}

impl Context {
    /// Compose in the folder of the project; `None`, with a warning, if it cannot work there.
    pub(super) fn compose(&self, rooms: Rooms) -> Option<Compose> {
        self.open_compose(rooms)
            .inspect_err(|failure| tracing::warn!("nothing can be composed: {}", failure.message))
            .ok()
    }

    fn open_compose(&self, rooms: Rooms) -> Result<Compose, Failure> {
        let root = self.layers.project_folder();
        let state = match self.settings.storage_folder(&self.layers)? {
            Some(folder) => Some(folder),
            None => data_folder(),
        };
        let state = state.ok_or_else(|| {
            Failure::new("there is no place to keep what is made").hint("set HOME")
        })?;
        // Each workspace has a place of its own.
        let name = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
        let rooms = Arc::new(rooms);
        let parts = Parts {
            plugins: user_file().map(|file| file.with_file_name("generators")),
            sources: rooms.clone(),
            model: writer::of(self)?,
            credentials: Arc::new(Environment),
            ..Parts::new(root, state.join("compose").join(&name.as_str()[..16]))
        };
        let compose = Compose::open(parts)?;
        Ok(rooms.compose.get_or_init(|| compose).clone())
    }
}

pub(super) fn run(context: &Context, words: cli::Compose) -> Result<Exit, Failure> {
    let store = context.open_store()?;
    let library = context.open_embedded_library(store.as_ref())?;
    let registry = store.clone().map(|store| Registry::new(store));
    let gaps = store.map(gaps::open_gaps).transpose()?;
    let discovery = Arc::new(context.settings.discovery.clone());
    let catalog = Arc::new(context.catalog()?);
    let rooms = Rooms::new(&library, &discovery, &catalog, registry, gaps);
    let compose = context.open_compose(rooms)?;
    match words.command {
        ComposeCommand::List => {
            let all = ListRequest { limit: MAX_LISTED, ..ListRequest::default() };
            let listed = compose.list_artifacts(&all)?;
            context.printer.answer(&listed, list_text)?;
        }
        ComposeCommand::Preview { id, set } => preview(context, &compose, &id, values(&set)?)?,
        ComposeCommand::Build { id, set, output, force, watch } => {
            let build = Build { id, values: values(&set)?, output, force };
            build.run(context, &compose)?;
            if watch {
                build.follow(context, &compose, &library)?;
            }
        }
    }
    Ok(Exit::Success)
}

/// A text, or else the files of an artifact of this name.
fn preview(context: &Context, compose: &Compose, id: &str, values: Values) -> Result<(), Failure> {
    let (id, values) = (id.to_owned(), Some(values));
    if compose.content_config(&id).is_err() && compose.artifact_config(&id).is_ok() {
        let request = PreviewArtifactRequest { artifact_config_id: id, context: values };
        let previewed = compose.preview_artifact(&request)?;
        previewed.warnings.iter().for_each(|warning| context.printer.note(warning));
        return context.printer.answer(&previewed, files_text);
    }
    let request = PreviewRequest { content_config_id: id, context: values, show_metadata: false };
    let previewed = compose.preview_generation(&request)?;
    previewed.warnings.iter().for_each(|warning| context.printer.note(warning));
    context.printer.answer(&previewed, |previewed| previewed.shown.content.clone())
}

fn files_text(previewed: &PreviewArtifactResponse) -> String {
    let texts = previewed.outputs.iter().map(|output| output.shown.content.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// `name=value`, where the value is JSON if it can be read as such.
fn values(set: &[String]) -> Result<Values, Failure> {
    let pair = |word: &String| {
        let (name, value) = word.split_once('=').ok_or_else(|| {
            Failure::usage(format!("--set `{word}` has no `=`"))
                .hint("values are set like --set max_tokens=4000")
        })?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        Ok((name.to_owned(), value))
    };
    set.iter().map(pair).collect()
}

struct Build {
    id: String,
    values: Values,
    output: Option<PathBuf>,
    force: bool,
}

impl Build {
    fn run(&self, context: &Context, compose: &Compose) -> Result<(), Failure> {
        let output_path = self.output.as_ref().map(|path| path.to_string_lossy().into_owned());
        let built = compose.assemble_artifact(&AssembleRequest {
            artifact_config_id: self.id.clone(),
            output_path,
            force: self.force,
            context: Some(self.values.clone()),
        })?;
        for warning in &built.warnings {
            context.printer.note(warning);
        }
        context.printer.answer(&built, build_text)
    }

    /// Builds anew whenever files change, until somebody ends it.
    fn follow(
        &self,
        context: &Context,
        compose: &Compose,
        library: &Arc<Library>,
    ) -> Result<(), Failure> {
        let (tell, changes) = std::sync::mpsc::channel();
        let announce = move |_| {
            // Nobody waits any more when the program ends.
            let _ = tell.send(());
        };
        let _watcher = Watcher::start(library.clone(), announce)
            .map_err(|error| Failure::new(format!("files cannot be watched: {error}")))?;
        context.printer.note("waiting for changes; Ctrl-C ends it");
        while changes.recv().is_ok() {
            // Changes come in flocks.
            while changes.recv_timeout(Duration::from_millis(200)).is_ok() {}
            if let Err(failure) = self.run(context, compose) {
                context.printer.note(&format!("error: {}", failure.message));
            }
        }
        Ok(())
    }
}

fn list_text(listed: &ArtifactListResponse) -> String {
    let line = |artifact: &ListedArtifact| {
        let outputs = artifact.outputs.join(", ");
        let problem = artifact.problem.as_deref().map(|problem| format!("  ! {problem}"));
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
