//! Tools that make contents.

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;

use kenning_compose::Error;
use kenning_compose::batch::{BatchRequest, BatchResponse, Progress};
use kenning_compose::generate::{
    GenerateRequest, GenerateResponse, PreviewRequest, PreviewResponse, RegenerateRequest,
    RegenerateResponse,
};
use kenning_compose::validate::{ValidateRequest, ValidateResponse};
use rmcp::model::{ErrorData, ProgressNotificationParam};
use serde_json::json;
use tokio::sync::mpsc;

use super::{
    CONFIG_INVALID, CONFIG_NOT_FOUND, GENERATOR_UNAVAILABLE, INVALID_ID, LIMIT_EXCEEDED,
    MISSING_VARIABLE, SOURCE_FAILED, STORAGE_ERROR, TEMPLATE_ERROR,
};
use crate::inventory::Toolset;
use crate::rooms::Rooms;
use crate::schema;
use crate::tool::{
    CommonError, Effect, Example, INVALID_ARGUMENT, Invocation, Outcome, Reach, Repeats, Tool,
    answer,
};

/// What generating may end in.
const GENERATING: &[CommonError] = &[
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

pub(super) fn tools() -> Vec<Tool> {
    vec![
        generate_content(),
        regenerate_content(),
        preview_generation(),
        batch_generate_content(),
        validate_content(),
    ]
}

fn generate_content() -> Tool {
    fn run(rooms: &Rooms, request: &GenerateRequest) -> Result<GenerateResponse, Error> {
        rooms.compose()?.generate_content(request)
    }
    Tool {
        category: Some("content"),
        title: "Generate content",
        description: "Generate a text from its config and keep it as a version; skipped if nothing \
                      has changed since the last one.",
        effect: Effect::Writes,
        reach: Reach::Outside,
        examples: vec![Example {
            description: "The MCP configuration of one client",
            arguments: json!({"content_config_id": "client-config", "context": {"client": "zed"}}),
        }],
        errors: GENERATING,
        ..Tool::new("generate_content", Toolset::Compose, run)
    }
}

fn regenerate_content() -> Tool {
    fn run(rooms: &Rooms, request: &RegenerateRequest) -> Result<RegenerateResponse, Error> {
        rooms.compose()?.regenerate_content(request)
    }
    Tool {
        category: Some("content"),
        title: "Regenerate content",
        description: "Generate a text anew although nothing has changed, and say by lines what is \
                      different.",
        effect: Effect::Writes,
        repeats: Repeats::Adds,
        reach: Reach::Outside,
        examples: vec![Example {
            description: "With the reason, which is kept",
            arguments: json!({"content_config_id": "client-config", "reason": "new arguments"}),
        }],
        errors: GENERATING,
        ..Tool::new("regenerate_content", Toolset::Compose, run)
    }
}

fn preview_generation() -> Tool {
    fn run(rooms: &Rooms, request: &PreviewRequest) -> Result<PreviewResponse, Error> {
        rooms.compose()?.preview_generation(request)
    }
    Tool {
        category: Some("content"),
        title: "Preview a generation",
        description: "Show what a config would make, without keeping it; warns of values that \
                      nothing uses.",
        reach: Reach::Outside,
        examples: vec![Example {
            description: "With how it was made",
            arguments: json!({"content_config_id": "client-config", "show_metadata": true}),
        }],
        errors: GENERATING,
        ..Tool::new("preview_generation", Toolset::Compose, run)
    }
}

fn validate_content() -> Tool {
    fn run(rooms: &Rooms, request: &ValidateRequest) -> Result<ValidateResponse, Error> {
        rooms.compose()?.validate_content(request)
    }
    Tool {
        category: Some("validation"),
        title: "Validate content",
        description: "Hold the latest version of a content, or the files of an artifact, against \
                      rules: those of its config, and others.",
        examples: vec![Example {
            description: "Not too long, and with a title",
            arguments: json!({
                "content_or_config_id": "client-config",
                "validation_rules": [
                    {"type": "tokens", "severity": "warning", "config": {"max": 5000}},
                    {"type": "pattern", "severity": "error", "config": {"regex": "^# "}}
                ]
            }),
        }],
        errors: &[CONFIG_NOT_FOUND, INVALID_ID, CONFIG_INVALID, INVALID_ARGUMENT, STORAGE_ERROR],
        ..Tool::new("validate_content", Toolset::Compose, run)
    }
}

fn batch_generate_content() -> Tool {
    let handler = |call: Invocation| -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        Box::pin(batch(call))
    };
    Tool {
        category: Some("batch"),
        title: "Generate several contents",
        description: "Generate several texts, a few at a time, each with its own result; reports \
                      progress.",
        effect: Effect::Writes,
        reach: Reach::Outside,
        examples: vec![Example {
            description: "Two at a time, and none after a failure",
            arguments: json!({
                "content_ids": ["client-config"], "continue_on_error": false, "max_parallel": 2
            }),
        }],
        errors: &[INVALID_ID, LIMIT_EXCEEDED, INVALID_ARGUMENT, STORAGE_ERROR],
        input_schema: schema::input::<BatchRequest>(),
        output_schema: Some(schema::output::<BatchResponse>()),
        ..Tool::with_handler("batch_generate_content", Toolset::Compose, Arc::new(handler))
    }
}

/// Runs off the async threads, which tell the client how far it is.
async fn batch(call: Invocation) -> Outcome {
    let Invocation { rooms, arguments, context } = call;
    let (told, mut tell) = mpsc::unbounded_channel();
    let work = tokio::task::spawn_blocking(move || {
        let progress = |progress: Progress<'_>| {
            let message =
                format!("{} of {}: {}", progress.done, progress.total, progress.content_id);
            // Nobody listens once the call was given up.
            match told.send((progress.done, progress.total, message)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        };
        answer(&rooms, arguments, |rooms: &Rooms, request: &BatchRequest| {
            rooms.compose()?.batch_generate_content(request, &progress)
        })
    });
    let token = context.meta.get_progress_token();
    while let Some((done, total, message)) = tell.recv().await {
        let Some(token) = token.clone() else { continue };
        let progress = ProgressNotificationParam::new(token, done as f64)
            .with_total(total as f64)
            .with_message(message);
        if let Err(error) = context.peer.notify_progress(progress).await {
            tracing::debug!(%error, "a client does not take progress");
        }
    }
    let failed = |error| ErrorData::internal_error(format!("the batch failed: {error}"), None);
    work.await.map_err(failed)
}
