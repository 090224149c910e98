//! Operations on the versions of generated contents.

use http::Method;
use kenning_compose::delete::DeleteRequest;
use kenning_compose::storage::{CleanupRequest, QueryRequest};
use serde_json::json;

use super::{
    CONFIG_NOT_FOUND, CONTENT_NOT_FOUND, CONTENT_REFERENCED, GROUP, INVALID_ID, STORAGE_ERROR,
};
use crate::call::Context;
use crate::fault::INVALID_ARGUMENT;
use crate::operation::Operation;
use crate::services::Services;
use crate::toolset::Toolset;

pub(super) fn operations() -> Vec<Operation> {
    vec![query_ephemeral_storage(), cleanup_ephemeral(), delete_content()]
}

fn query_ephemeral_storage() -> Operation {
    let run = |services: &Services, request: &QueryRequest, _: &mut Context| {
        services.compose()?.query_ephemeral_storage(request)
    };
    Operation::read("query_ephemeral_storage", Toolset::Compose, run)
        .category("storage")
        .tool(
            "Query generated content",
            "List the versions that are kept: the latest of each content, all, one, or \
             those of a time.",
        )
        .route(
            Method::GET,
            "/query_ephemeral_storage",
            GROUP,
            "The versions of what was generated, newest first for each content",
        )
        .example("All versions of one month", json!({"retrieval": "timestamp:2026-05"}))
        .may_fail_with(&[
            CONFIG_NOT_FOUND,
            CONTENT_NOT_FOUND,
            INVALID_ID,
            INVALID_ARGUMENT,
            STORAGE_ERROR,
        ])
}

fn cleanup_ephemeral() -> Operation {
    let run = |services: &Services, request: &CleanupRequest, _: &mut Context| {
        services.compose()?.cleanup_ephemeral(request)
    };
    Operation::delete("cleanup_ephemeral", Toolset::Compose, run)
        .category("storage")
        .tool(
            "Clean up generated content",
            "Remove old versions. A version is kept if any rule keeps it: among the newest, \
             not old, the latest, or named by an artifact.",
        )
        .example(
            "What would go",
            json!({"retention": {"keep_versions": 1, "keep_days": 3}, "dry_run": true}),
        )
        .may_fail_with(&[INVALID_ID, INVALID_ARGUMENT, STORAGE_ERROR])
}

fn delete_content() -> Operation {
    let run = |services: &Services, request: &DeleteRequest, _: &mut Context| {
        services.compose()?.delete_content(request)
    };
    Operation::delete("delete_content", Toolset::Compose, run)
        .category("storage")
        .tool(
            "Delete generated content",
            "Delete all versions of a content; its config stays. Refused while artifacts \
             are made of it, unless `force`.",
        )
        .example(
            "But keep the record of what there was",
            json!({
                "content_id": "client-config", "preserve_metadata": true, "force": true
            }),
        )
        .may_fail_with(&[
            CONFIG_NOT_FOUND,
            CONTENT_NOT_FOUND,
            CONTENT_REFERENCED,
            INVALID_ID,
            INVALID_ARGUMENT,
            STORAGE_ERROR,
        ])
}
