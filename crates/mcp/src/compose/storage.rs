//! Tools that look after what was generated.

use kenning_compose::Error;
use kenning_compose::delete::{DeleteRequest, DeleteResponse};
use kenning_compose::storage::{CleanupRequest, CleanupResponse, QueryRequest, QueryResponse};
use serde_json::json;

use super::{CONFIG_NOT_FOUND, CONTENT_NOT_FOUND, CONTENT_REFERENCED, INVALID_ID, STORAGE_ERROR};
use crate::inventory::Toolset;
use crate::rooms::Rooms;
use crate::tool::{Effect, Example, INVALID_ARGUMENT, Tool};

pub(super) fn tools() -> Vec<Tool> {
    vec![query_ephemeral_storage(), cleanup_ephemeral(), delete_content()]
}

fn query_ephemeral_storage() -> Tool {
    fn run(rooms: &Rooms, request: &QueryRequest) -> Result<QueryResponse, Error> {
        rooms.compose()?.query_ephemeral_storage(request)
    }
    Tool {
        category: Some("storage"),
        title: "Query generated content",
        description: "List the versions that are kept: the latest of each content, all, one, or \
                      those of a time.",
        examples: vec![Example {
            description: "All versions of one month",
            arguments: json!({"retrieval": "timestamp:2026-05"}),
        }],
        errors: &[CONFIG_NOT_FOUND, CONTENT_NOT_FOUND, INVALID_ID, INVALID_ARGUMENT, STORAGE_ERROR],
        ..Tool::new("query_ephemeral_storage", Toolset::Compose, run)
    }
}

fn cleanup_ephemeral() -> Tool {
    fn run(rooms: &Rooms, request: &CleanupRequest) -> Result<CleanupResponse, Error> {
        rooms.compose()?.cleanup_ephemeral(request)
    }
    Tool {
        category: Some("storage"),
        title: "Clean up generated content",
        description: "Remove old versions. A version is kept if any rule keeps it: among the newest, \
                      not old, the latest, or named by an artifact.",
        effect: Effect::Destroys,
        examples: vec![Example {
            description: "What would go",
            arguments: json!({"retention": {"keep_versions": 1, "keep_days": 3}, "dry_run": true}),
        }],
        errors: &[INVALID_ID, INVALID_ARGUMENT, STORAGE_ERROR],
        ..Tool::new("cleanup_ephemeral", Toolset::Compose, run)
    }
}

fn delete_content() -> Tool {
    fn run(rooms: &Rooms, request: &DeleteRequest) -> Result<DeleteResponse, Error> {
        rooms.compose()?.delete_content(request)
    }
    Tool {
        category: Some("storage"),
        title: "Delete generated content",
        description: "Delete all versions of a content; its config stays. Refused while artifacts \
                      are made of it, unless `force`.",
        effect: Effect::Destroys,
        examples: vec![Example {
            description: "But keep the record of what there was",
            arguments: json!({
                "content_id": "client-config", "preserve_metadata": true, "force": true
            }),
        }],
        errors: &[
            CONFIG_NOT_FOUND,
            CONTENT_NOT_FOUND,
            CONTENT_REFERENCED,
            INVALID_ID,
            INVALID_ARGUMENT,
            STORAGE_ERROR,
        ],
        ..Tool::new("delete_content", Toolset::Compose, run)
    }
}
