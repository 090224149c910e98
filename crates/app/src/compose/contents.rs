//! Operations that generate, preview and validate contents.

use http::Method;
use kenning_compose::Error;
use kenning_compose::batch::{self, BatchRequest, BatchResponse};
use kenning_compose::generate::{GenerateRequest, PreviewRequest, RegenerateRequest};
use kenning_compose::id::{MAX_ID, PATTERN, VERSION_PATTERN};
use kenning_compose::validate::ValidateRequest;
use kenning_compose::version::Version;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{
    CONFIG_INVALID, CONFIG_NOT_FOUND, CONTENT_NOT_FOUND, GENERATOR_UNAVAILABLE, GROUP, INVALID_ID,
    LIMIT_EXCEEDED, MISSING_VARIABLE, SOURCE_FAILED, STORAGE_ERROR, TEMPLATE_ERROR,
};
use crate::call::{Context, Progress};
use crate::fault::{CommonError, INVALID_ARGUMENT};
use crate::operation::Operation;
use crate::services::Services;
use crate::toolset::Toolset;

/// The errors of generating a text.
pub(super) const GENERATING: &[CommonError] = &[
    CONFIG_NOT_FOUND,
    INVALID_ID,
    CONFIG_INVALID,
    MISSING_VARIABLE,
    TEMPLATE_ERROR,
    LIMIT_EXCEEDED,
    GENERATOR_UNAVAILABLE,
    SOURCE_FAILED,
    INVALID_ARGUMENT,
    STORAGE_ERROR,
];

pub(super) fn operations() -> Vec<Operation> {
    vec![
        generate_content(),
        regenerate_content(),
        preview_generation(),
        batch_generate_content(),
        validate_content(),
        get_content(),
    ]
}

fn generate_content() -> Operation {
    let run = |services: &Services, request: &GenerateRequest, _: &mut Context| {
        services.compose()?.generate_content(request)
    };
    Operation::write("generate_content", Toolset::Compose, run)
        .category("content")
        .tool(
            "Generate content",
            "Generate a text from its config and keep it as a version; skipped if nothing \
             has changed since the last one.",
        )
        .route(
            Method::POST,
            "/generate_content",
            GROUP,
            "Generate a text and keep it as a version; skipped if nothing has changed",
        )
        .reaches_outside()
        .example(
            "The MCP configuration of one client",
            json!({"content_config_id": "client-config", "context": {"client": "zed"}}),
        )
        .may_fail_with(GENERATING)
}

fn regenerate_content() -> Operation {
    let run = |services: &Services, request: &RegenerateRequest, _: &mut Context| {
        services.compose()?.regenerate_content(request)
    };
    Operation::write("regenerate_content", Toolset::Compose, run)
        .category("content")
        .tool(
            "Regenerate content",
            "Generate a text anew although nothing has changed, and say by lines what is \
             different.",
        )
        .adds()
        .reaches_outside()
        .example(
            "With the reason, which is kept",
            json!({"content_config_id": "client-config", "reason": "new arguments"}),
        )
        .may_fail_with(GENERATING)
}

fn preview_generation() -> Operation {
    let run = |services: &Services, request: &PreviewRequest, _: &mut Context| {
        services.compose()?.preview_generation(request)
    };
    Operation::read("preview_generation", Toolset::Compose, run)
        .category("content")
        .tool(
            "Preview a generation",
            "Show what a config would make, without keeping it; warns of values that \
             nothing uses.",
        )
        .route(
            Method::POST,
            "/preview_generation",
            GROUP,
            "What a content config would make, without keeping it",
        )
        .reaches_outside()
        .example(
            "With how it was made",
            json!({"content_config_id": "client-config", "show_metadata": true}),
        )
        .may_fail_with(GENERATING)
}

fn validate_content() -> Operation {
    let run = |services: &Services, request: &ValidateRequest, _: &mut Context| {
        services.compose()?.validate_content(request)
    };
    Operation::read("validate_content", Toolset::Compose, run)
        .category("validation")
        .tool(
            "Validate content",
            "Hold the latest version of a content, or the files of an artifact, against \
             rules: those of its config, and others.",
        )
        .route(
            Method::POST,
            "/validate_content",
            GROUP,
            "Hold the latest version of a content, or the files of an artifact, against rules",
        )
        .may_answer(&[413])
        .example(
            "Not too long, and with a title",
            json!({
                "content_or_config_id": "client-config",
                "validation_rules": [
                    {"type": "tokens", "severity": "warning", "config": {"max": 5000}},
                    {"type": "pattern", "severity": "error", "config": {"regex": "^# "}}
                ]
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

fn batch_generate_content() -> Operation {
    fn run(
        services: &Services,
        request: &BatchRequest,
        call: &mut Context,
    ) -> Result<BatchResponse, Error> {
        let progress = |progress: batch::Progress<'_>| {
            let batch::Progress { done, total, content_id, .. } = progress;
            let message = format!("{done} of {total}: {content_id}");
            call.report(Progress { done, total, message })
        };
        services.compose()?.batch_generate_content(request, &progress)
    }
    Operation::write("batch_generate_content", Toolset::Compose, run)
        .category("batch")
        .tool(
            "Generate several contents",
            "Generate several texts, a few at a time, each with its own result; reports \
             progress.",
        )
        .reaches_outside()
        .example(
            "Two at a time, and none after a failure",
            json!({
                "content_ids": ["client-config"], "continue_on_error": false, "max_parallel": 2
            }),
        )
        .may_fail_with(&[INVALID_ID, LIMIT_EXCEEDED, INVALID_ARGUMENT, STORAGE_ERROR])
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ContentRequest {
    #[schemars(length(max = MAX_ID), regex(pattern = PATTERN))]
    id: String,
    /// The newest if none
    #[schemars(length(max = MAX_ID), regex(pattern = VERSION_PATTERN))]
    version: Option<String>,
}

fn get_content() -> Operation {
    fn run(
        services: &Services,
        request: &ContentRequest,
        _: &mut Context,
    ) -> Result<Version, Error> {
        services.compose()?.content(&request.id, request.version.as_deref())
    }
    Operation::read("get_content", Toolset::Compose, run)
        .route(
            Method::GET,
            "/compose/contents/{id}",
            GROUP,
            "One version of a content, with all of its text",
        )
        .may_fail_with(&[
            INVALID_ARGUMENT,
            CONTENT_NOT_FOUND,
            INVALID_ID,
            LIMIT_EXCEEDED,
            STORAGE_ERROR,
        ])
}
