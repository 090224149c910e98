//! Files made from what is known.

use axum::http::{Method, StatusCode};
use kenning_compose::assemble::{AssembleRequest, AssembleResponse};
use kenning_compose::config::{ConfigType, Origin};
use kenning_compose::generate::{
    GenerateRequest, GenerateResponse, PreviewRequest, PreviewResponse,
};
use kenning_compose::generator::Selection;
use kenning_compose::list::{
    GeneratorsRequest, GeneratorsResponse, ListFilter, ListRequest, ListedArtifact, ListedContent,
    MAX_LISTED, Sort,
};
use kenning_compose::preview::{PreviewArtifactRequest, PreviewArtifactResponse};
use kenning_compose::storage::{QueryRequest, QueryResponse};
use kenning_compose::validate::{ValidateRequest, ValidateResponse};
use kenning_compose::version::Version;
use kenning_compose::{Code, Compose, Error, ErrorBody};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::operation::{Answer, Call, Fault, Operation, Refusal};
use crate::site::Rooms;

pub(super) fn operations() -> Vec<Operation> {
    let mut operations = vec![
        configs(),
        config(),
        preview(),
        preview_artifact(),
        generate(),
        assemble(),
        validate(),
        contents(),
        content(),
        generators(),
    ];
    for operation in &mut operations {
        operation.group = "Compose";
    }
    operations
}

impl Rooms {
    pub(crate) fn compose(&self) -> Result<&Compose, Error> {
        self.compose.as_ref().ok_or(Error::NoWorkspace)
    }
}

/// Which configs are wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct ConfigsRequest {
    /// In the id or the description, in any case
    text: Option<String>,
    /// Only `builtin` ones, or only those of the `workspace`
    origin: Option<Origin>,
    /// Only what has been generated or assembled, or only what has not
    made: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ConfigsResponse {
    success: bool,
    /// What becomes files
    artifacts: Vec<ListedArtifact>,
    /// What they are made of
    contents: Vec<ListedContent>,
}

fn configs() -> Operation {
    fn run(rooms: &Rooms, call: &Call<ConfigsRequest>) -> Result<Answer<ConfigsResponse>, Error> {
        let ConfigsRequest { text, origin, made } = &call.request;
        let filter = ListFilter { text: text.clone(), origin: *origin, made: *made };
        let request = ListRequest { filter, sort: Sort::Id, limit: MAX_LISTED };
        let compose = rooms.compose()?;
        let artifacts = compose.list_artifacts(&request)?.artifacts;
        let contents = compose.list_content(&request)?.content;
        Ok(ConfigsResponse { success: true, artifacts, contents }.into())
    }
    Operation {
        summary: "The configs there are, built in and of the workspace",
        refusals: &[400, 500],
        ..Operation::new(Method::GET, "/api/v1/compose/configs", "list_configs", run)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ConfigRequest {
    /// `content` or `artifact`
    config_type: ConfigType,
    id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ConfigResponse {
    success: bool,
    config_type: ConfigType,
    id: String,
    origin: Origin,
    /// A built-in config of the same id is hidden by it
    shadows_builtin: bool,
    /// The generator of each pattern, and why it; empty for an artifact
    generators: Vec<Selection>,
    /// As it is written
    config: Value,
}

fn config() -> Operation {
    fn run(rooms: &Rooms, call: &Call<ConfigRequest>) -> Result<Answer<ConfigResponse>, Error> {
        let (compose, ConfigRequest { config_type, id }) = (rooms.compose()?, &call.request);
        let (origin, shadows_builtin, generators, config) = match config_type {
            ConfigType::Content => {
                let loaded = compose.content_config(id)?;
                let generators = compose.selections(&loaded.config)?;
                (loaded.origin, loaded.shadows_builtin, generators, loaded.data)
            }
            ConfigType::Artifact => {
                let loaded = compose.artifact_config(id)?;
                (loaded.origin, loaded.shadows_builtin, Vec::new(), loaded.data)
            }
        };
        let (config_type, id, success) = (*config_type, id.clone(), true);
        let shown = ConfigResponse {
            success,
            config_type,
            id,
            origin,
            shadows_builtin,
            generators,
            config,
        };
        Ok(shown.into())
    }
    let path = "/api/v1/compose/configs/{config_type}/{id}";
    Operation {
        summary: "One config, and which generators it uses",
        refusals: &[400, 404, 413, 500],
        ..Operation::new(Method::GET, path, "get_config", run)
    }
}

/// What generating may end in.
const GENERATING: &[u16] = &[400, 404, 413, 500, 503];

fn preview() -> Operation {
    fn run(rooms: &Rooms, call: &Call<PreviewRequest>) -> Result<Answer<PreviewResponse>, Error> {
        Ok(rooms.compose()?.preview_generation(&call.request)?.into())
    }
    Operation {
        summary: "What a content config would make, without keeping it",
        refusals: GENERATING,
        only_looks: true,
        ..Operation::new(Method::POST, "/api/v1/preview_generation", "preview_generation", run)
    }
}

fn preview_artifact() -> Operation {
    fn run(
        rooms: &Rooms,
        call: &Call<PreviewArtifactRequest>,
    ) -> Result<Answer<PreviewArtifactResponse>, Error> {
        Ok(rooms.compose()?.preview_artifact(&call.request)?.into())
    }
    Operation {
        summary: "The files an artifact config would write, and what that would do to those there are",
        refusals: GENERATING,
        only_looks: true,
        ..Operation::new(Method::POST, "/api/v1/preview_artifact", "preview_artifact", run)
    }
}

fn generate() -> Operation {
    fn run(rooms: &Rooms, call: &Call<GenerateRequest>) -> Result<Answer<GenerateResponse>, Error> {
        Ok(rooms.compose()?.generate_content(&call.request)?.into())
    }
    Operation {
        summary: "Generate a text and keep it as a version; skipped if nothing has changed",
        refusals: GENERATING,
        ..Operation::new(Method::POST, "/api/v1/generate_content", "generate_content", run)
    }
}

fn assemble() -> Operation {
    fn run(rooms: &Rooms, call: &Call<AssembleRequest>) -> Result<Answer<AssembleResponse>, Error> {
        Ok(rooms.compose()?.assemble_artifact(&call.request)?.into())
    }
    Operation {
        summary: "Write the files of an artifact into the workspace",
        refusals: &[400, 404, 409, 413, 500, 503],
        ..Operation::new(Method::POST, "/api/v1/assemble_artifact", "assemble_artifact", run)
    }
}

fn validate() -> Operation {
    fn run(rooms: &Rooms, call: &Call<ValidateRequest>) -> Result<Answer<ValidateResponse>, Error> {
        Ok(rooms.compose()?.validate_content(&call.request)?.into())
    }
    Operation {
        summary: "Hold the latest version of a content, or the files of an artifact, against rules",
        refusals: &[400, 404, 413, 500],
        only_looks: true,
        ..Operation::new(Method::POST, "/api/v1/validate_content", "validate_content", run)
    }
}

fn contents() -> Operation {
    fn run(rooms: &Rooms, call: &Call<QueryRequest>) -> Result<Answer<QueryResponse>, Error> {
        Ok(rooms.compose()?.query_ephemeral_storage(&call.request)?.into())
    }
    let path = "/api/v1/query_ephemeral_storage";
    Operation {
        summary: "The versions of what was generated, newest first for each content",
        refusals: &[400, 404, 500],
        ..Operation::new(Method::GET, path, "query_ephemeral_storage", run)
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ContentRequest {
    id: String,
    /// The newest if none
    version: Option<String>,
}

fn content() -> Operation {
    fn run(rooms: &Rooms, call: &Call<ContentRequest>) -> Result<Answer<Version>, Error> {
        let ContentRequest { id, version } = &call.request;
        Ok(rooms.compose()?.content(id, version.as_deref())?.into())
    }
    Operation {
        summary: "One version of a content, with all of its text",
        refusals: &[400, 404, 413, 500],
        ..Operation::new(Method::GET, "/api/v1/compose/contents/{id}", "get_content", run)
    }
}

fn generators() -> Operation {
    fn run(
        rooms: &Rooms,
        call: &Call<GeneratorsRequest>,
    ) -> Result<Answer<GeneratorsResponse>, Error> {
        Ok(rooms.compose()?.list_generators(&call.request).into())
    }
    Operation {
        summary: "Generators, and why some cannot be used here",
        refusals: &[400, 500],
        ..Operation::new(Method::GET, "/api/v1/list_generators", "list_generators", run)
    }
}

impl Fault for Error {
    type Body = ErrorBody;

    fn malformed(argument: &str, problem: String) -> Refusal {
        Self::invalid(argument, problem).refusal()
    }

    fn refusal(self) -> Refusal {
        if self.code() == Code::StorageError {
            tracing::error!(error = ?self, "the workspace or its state failed");
        }
        let status = StatusCode::from_u16(self.code().http_status());
        Refusal {
            status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            body: serde_json::to_value(self.body()).unwrap_or_default(),
        }
    }
}
