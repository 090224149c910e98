//! Tools that write configs.

use kenning_compose::Error;
use kenning_compose::lifecycle::{
    DraftRequest, DraftResponse, ModifyRequest, SaveRequest, SaveResponse, TestRequest,
    TestResponse,
};
use serde_json::json;

use super::{
    CONFIG_EXISTS, CONFIG_INVALID, CONFIG_NOT_FOUND, DRAFT_NOT_FOUND, INVALID_ID, LIMIT_EXCEEDED,
    MISSING_VARIABLE, STORAGE_ERROR, TEMPLATE_ERROR,
};
use crate::inventory::Toolset;
use crate::rooms::Rooms;
use crate::tool::{Effect, Example, INVALID_ARGUMENT, Reach, Repeats, Tool};

pub(super) fn tools() -> Vec<Tool> {
    vec![draft_config(), test_config(), save_config(), modify_config()]
}

fn draft_config() -> Tool {
    fn run(rooms: &Rooms, request: &DraftRequest) -> Result<DraftResponse, Error> {
        rooms.compose()?.draft_config(request)
    }
    Tool {
        category: Some("config"),
        title: "Draft a config",
        description: "Check a new config against its schema and keep it as a draft, to be tried with \
                      `test_config` and kept with `save_config`.",
        effect: Effect::Writes,
        repeats: Repeats::Adds,
        examples: vec![Example {
            description: "A greeting with a blank to fill in",
            arguments: json!({
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
        }],
        errors: &[CONFIG_INVALID, LIMIT_EXCEEDED, INVALID_ARGUMENT, STORAGE_ERROR],
        ..Tool::new("draft_config", Toolset::Compose, run)
    }
}

fn test_config() -> Tool {
    fn run(rooms: &Rooms, request: &TestRequest) -> Result<TestResponse, Error> {
        rooms.compose()?.test_config(request)
    }
    Tool {
        category: Some("config"),
        title: "Test a draft",
        description: "Show what a draft makes of a context; nothing of it is kept, unless `dry_run` \
                      is false.",
        effect: Effect::Writes,
        repeats: Repeats::Adds,
        reach: Reach::Outside,
        examples: vec![Example {
            description: "With a value for its blank",
            arguments: json!({
                "draft_id": "draft-content-3f9a1c2b7d04", "context": {"name": "world"}
            }),
        }],
        errors: &[
            DRAFT_NOT_FOUND,
            INVALID_ID,
            MISSING_VARIABLE,
            TEMPLATE_ERROR,
            LIMIT_EXCEEDED,
            INVALID_ARGUMENT,
            STORAGE_ERROR,
        ],
        ..Tool::new("test_config", Toolset::Compose, run)
    }
}

fn save_config() -> Tool {
    fn run(rooms: &Rooms, request: &SaveRequest) -> Result<SaveResponse, Error> {
        rooms.compose()?.save_config(request)
    }
    Tool {
        category: Some("config"),
        title: "Save a config",
        description: "Write a draft to the workspace under an id; what it replaces is kept as a \
                      backup.",
        effect: Effect::Writes,
        examples: vec![Example {
            description: "As `greeting`",
            arguments: json!({
                "draft_id": "draft-content-3f9a1c2b7d04", "config_id": "greeting"
            }),
        }],
        errors: &[DRAFT_NOT_FOUND, INVALID_ID, CONFIG_EXISTS, INVALID_ARGUMENT, STORAGE_ERROR],
        ..Tool::new("save_config", Toolset::Compose, run)
    }
}

fn modify_config() -> Tool {
    fn run(rooms: &Rooms, request: &ModifyRequest) -> Result<SaveResponse, Error> {
        rooms.compose()?.modify_config(request)
    }
    Tool {
        category: Some("config"),
        title: "Modify a config",
        description: "Change a config by a merge patch, check it, keep a backup and write it. A \
                      built-in one stays, hidden by the changed copy in the workspace.",
        effect: Effect::Writes,
        examples: vec![Example {
            description: "Another place for AGENTS.md",
            arguments: json!({
                "config_id": "agents-md", "config_type": "artifact",
                "updates": {
                    "metadata": {"outputs": [{"file": "docs/AGENTS.md", "format": "markdown"}]}
                }
            }),
        }],
        errors: &[CONFIG_NOT_FOUND, INVALID_ID, CONFIG_INVALID, INVALID_ARGUMENT, STORAGE_ERROR],
        ..Tool::new("modify_config", Toolset::Compose, run)
    }
}
