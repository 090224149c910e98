//! Operations that read and write configs.

use http::Method;
use kenning_compose::Error;
use kenning_compose::config::{ConfigType, Origin};
use kenning_compose::generator::Selection;
use kenning_compose::id::{MAX_ID, PATTERN};
use kenning_compose::lifecycle::{DraftRequest, ModifyRequest, SaveRequest, TestRequest};
use kenning_compose::list::{
    ListFilter, ListRequest, ListedArtifact, ListedContent, MAX_LISTED, Sort,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    CONFIG_EXISTS, CONFIG_INVALID, CONFIG_NOT_FOUND, DRAFT_NOT_FOUND, GROUP, INVALID_ID,
    LIMIT_EXCEEDED, MISSING_VARIABLE, STORAGE_ERROR, TEMPLATE_ERROR,
};
use crate::call::Context;
use crate::fault::INVALID_ARGUMENT;
use crate::operation::Operation;
use crate::services::Services;
use crate::toolset::Toolset;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        draft_config(),
        test_config(),
        save_config(),
        modify_config(),
        list_configs(),
        get_config(),
    ]
}

fn draft_config() -> Operation {
    let run = |services: &Services, request: &DraftRequest, _: &mut Context| {
        services.compose()?.draft_config(request)
    };
    Operation::write("draft_config", Toolset::Compose, run)
        .category("config")
        .tool(
            "Draft a config",
            "Check a new config against its schema and keep it as a draft, to be tried with \
             `test_config` and kept with `save_config`.",
        )
        .adds()
        .example(
            "A greeting with a blank to fill in",
            json!({
                "config_type": "content",
                "config_data": {
                    "type": "content",
                    "schemaRef": {"id": "content", "version": "1.0"},
                    "metadata": {
                        "description": "A greeting", "version": "1.0.0", "output_format": "markdown"
                    },
                    "elements": [{"name": "greeting"}],
                    "generation": {"patterns": [{"id": "main", "template": "Hello {{name}}\n"}]}
                }
            }),
        )
        .may_fail_with(&[CONFIG_INVALID, LIMIT_EXCEEDED, INVALID_ARGUMENT, STORAGE_ERROR])
}

fn test_config() -> Operation {
    let run = |services: &Services, request: &TestRequest, _: &mut Context| {
        services.compose()?.test_config(request)
    };
    Operation::write("test_config", Toolset::Compose, run)
        .category("config")
        .tool(
            "Test a draft",
            "Show what a draft makes of a context; nothing of it is kept, unless `dry_run` \
             is false.",
        )
        .adds()
        .reaches_outside()
        .example(
            "With a value for its blank",
            json!({
                "draft_id": "draft-content-3f9a1c2b7d04", "context": {"name": "world"}
            }),
        )
        .may_fail_with(&[
            DRAFT_NOT_FOUND,
            INVALID_ID,
            MISSING_VARIABLE,
            TEMPLATE_ERROR,
            LIMIT_EXCEEDED,
            INVALID_ARGUMENT,
            STORAGE_ERROR,
        ])
}

fn save_config() -> Operation {
    let run = |services: &Services, request: &SaveRequest, _: &mut Context| {
        services.compose()?.save_config(request)
    };
    Operation::write("save_config", Toolset::Compose, run)
        .category("config")
        .tool(
            "Save a config",
            "Write a draft to the workspace under an id; what it replaces is kept as a \
             backup.",
        )
        .example(
            "As `greeting`",
            json!({
                "draft_id": "draft-content-3f9a1c2b7d04", "config_id": "greeting"
            }),
        )
        .may_fail_with(&[
            DRAFT_NOT_FOUND,
            INVALID_ID,
            CONFIG_EXISTS,
            INVALID_ARGUMENT,
            STORAGE_ERROR,
        ])
}

fn modify_config() -> Operation {
    let run = |services: &Services, request: &ModifyRequest, _: &mut Context| {
        services.compose()?.modify_config(request)
    };
    Operation::write("modify_config", Toolset::Compose, run)
        .category("config")
        .tool(
            "Modify a config",
            "Change a config by a merge patch, check it, keep a backup and write it. A \
             built-in one stays, hidden by the changed copy in the workspace.",
        )
        .example(
            "Another place for AGENTS.md",
            json!({
                "config_id": "agents-md", "config_type": "artifact",
                "updates": {
                    "metadata": {"outputs": [{"file": "docs/AGENTS.md", "format": "markdown"}]}
                }
            }),
        )
        .may_fail_with(&[
            CONFIG_NOT_FOUND,
            INVALID_ID,
            CONFIG_INVALID,
            INVALID_ARGUMENT,
            STORAGE_ERROR,
        ])
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

fn list_configs() -> Operation {
    fn run(
        services: &Services,
        request: &ConfigsRequest,
        _: &mut Context,
    ) -> Result<ConfigsResponse, Error> {
        let ConfigsRequest { text, origin, made } = request;
        let filter = ListFilter { text: text.clone(), origin: *origin, made: *made };
        let request = ListRequest { filter, sort: Sort::Id, limit: MAX_LISTED };
        let compose = services.compose()?;
        let artifacts = compose.list_artifacts(&request)?.artifacts;
        let contents = compose.list_content(&request)?.content;
        Ok(ConfigsResponse { success: true, artifacts, contents })
    }
    Operation::read("list_configs", Toolset::Compose, run)
        .route(
            Method::GET,
            "/compose/configs",
            GROUP,
            "The configs there are, built in and of the workspace",
        )
        .may_fail_with(&[INVALID_ARGUMENT, STORAGE_ERROR])
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ConfigRequest {
    /// `content` or `artifact`
    config_type: ConfigType,
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
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

fn get_config() -> Operation {
    fn run(
        services: &Services,
        request: &ConfigRequest,
        _: &mut Context,
    ) -> Result<ConfigResponse, Error> {
        let (compose, ConfigRequest { config_type, id }) = (services.compose()?, request);
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
        Ok(ConfigResponse { success, config_type, id, origin, shadows_builtin, generators, config })
    }
    Operation::read("get_config", Toolset::Compose, run)
        .route(
            Method::GET,
            "/compose/configs/{config_type}/{id}",
            GROUP,
            "One config, and which generators it uses",
        )
        .may_fail_with(&[
            INVALID_ARGUMENT,
            CONFIG_NOT_FOUND,
            INVALID_ID,
            LIMIT_EXCEEDED,
            STORAGE_ERROR,
        ])
}
