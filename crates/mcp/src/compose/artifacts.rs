//! Tools that make files, and that say what there is to make.

use kenning_compose::Error;
use kenning_compose::assemble::{AssembleRequest, AssembleResponse};
use kenning_compose::list::{
    ArtifactListResponse, ContentListResponse, GeneratorsRequest, GeneratorsResponse, ListRequest,
};
use kenning_compose::trace::{TraceRequest, TraceResponse};
use serde_json::json;

use super::{
    CHILD_FAILED, CONFIG_INVALID, CONFIG_NOT_FOUND, INVALID_ID, INVALID_PATH, LIMIT_EXCEEDED,
    MERGE_FAILED, OUTPUT_CHANGED, STORAGE_ERROR, TEMPLATE_ERROR,
};
use crate::inventory::Toolset;
use crate::rooms::Rooms;
use crate::tool::{Effect, Example, INVALID_ARGUMENT, Reach, Tool};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        assemble_artifact(),
        trace_dependencies(),
        list_artifacts(),
        list_content(),
        list_generators(),
    ]
}

fn assemble_artifact() -> Tool {
    fn run(rooms: &Rooms, request: &AssembleRequest) -> Result<AssembleResponse, Error> {
        rooms.compose()?.assemble_artifact(request)
    }
    Tool {
        category: Some("artifact"),
        title: "Assemble an artifact",
        description: "Bring the contents of an artifact up to date, put them together and write its \
                      files in the workspace. A file that somebody else wrote or changed stays as it \
                      is, unless `force`.",
        effect: Effect::Writes,
        reach: Reach::Outside,
        examples: vec![Example {
            description: "How each client is told of this server, as a page",
            arguments: json!({
                "artifact_config_id": "client-config", "output_path": "docs/clients.md"
            }),
        }],
        errors: &[
            CONFIG_NOT_FOUND,
            INVALID_ID,
            CONFIG_INVALID,
            INVALID_PATH,
            CHILD_FAILED,
            MERGE_FAILED,
            OUTPUT_CHANGED,
            TEMPLATE_ERROR,
            LIMIT_EXCEEDED,
            INVALID_ARGUMENT,
            STORAGE_ERROR,
        ],
        ..Tool::new("assemble_artifact", Toolset::Compose, run)
    }
}

fn trace_dependencies() -> Tool {
    fn run(rooms: &Rooms, request: &TraceRequest) -> Result<TraceResponse, Error> {
        rooms.compose()?.trace_dependencies(request)
    }
    Tool {
        category: Some("artifact"),
        title: "Trace dependencies",
        description: "Say what an artifact is made of, with which generators and sources, and \
                      whether all of it is there.",
        examples: vec![Example {
            description: "What AGENTS.md needs",
            arguments: json!({"artifact_config_id": "agents-md"}),
        }],
        errors: &[CONFIG_NOT_FOUND, INVALID_ID, CONFIG_INVALID, INVALID_ARGUMENT, STORAGE_ERROR],
        ..Tool::new("trace_dependencies", Toolset::Compose, run)
    }
}

fn list_artifacts() -> Tool {
    fn run(rooms: &Rooms, request: &ListRequest) -> Result<ArtifactListResponse, Error> {
        rooms.compose()?.list_artifacts(request)
    }
    Tool {
        category: Some("query"),
        title: "List artifacts",
        description: "List the files that can be assembled: built-in ones such as AGENTS.md, and \
                      those of the workspace.",
        examples: vec![Example {
            description: "Those that come with the server",
            arguments: json!({"filter": {"origin": "builtin"}}),
        }],
        errors: &[INVALID_ARGUMENT, STORAGE_ERROR],
        ..Tool::new("list_artifacts", Toolset::Compose, run)
    }
}

fn list_content() -> Tool {
    fn run(rooms: &Rooms, request: &ListRequest) -> Result<ContentListResponse, Error> {
        rooms.compose()?.list_content(request)
    }
    Tool {
        category: Some("query"),
        title: "List content",
        description: "List the texts that can be generated, with the values they take and when each \
                      was generated last.",
        examples: vec![Example {
            description: "What was generated last",
            arguments: json!({"sort": "newest", "limit": 10}),
        }],
        errors: &[INVALID_ARGUMENT, STORAGE_ERROR],
        ..Tool::new("list_content", Toolset::Compose, run)
    }
}

fn list_generators() -> Tool {
    fn run(rooms: &Rooms, request: &GeneratorsRequest) -> Result<GeneratorsResponse, Error> {
        Ok(rooms.compose()?.list_generators(request))
    }
    Tool {
        category: Some("query"),
        title: "List generators",
        description: "List what writes texts, plugins included: what each can do and needs, and how \
                      one is chosen.",
        examples: vec![Example { description: "All of them", arguments: json!({}) }],
        errors: &[INVALID_ARGUMENT, STORAGE_ERROR],
        ..Tool::new("list_generators", Toolset::Compose, run)
    }
}
