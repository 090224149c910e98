//! Operations that assemble files, and list what can be made.

use http::Method;
use kenning_compose::Error;
use kenning_compose::assemble::AssembleRequest;
use kenning_compose::list::{GeneratorsRequest, ListRequest};
use kenning_compose::preview::PreviewArtifactRequest;
use kenning_compose::trace::TraceRequest;
use serde_json::json;

use super::contents::GENERATING;
use super::{
    CHILD_FAILED, CONFIG_INVALID, CONFIG_NOT_FOUND, GROUP, INVALID_ID, INVALID_PATH,
    LIMIT_EXCEEDED, MERGE_FAILED, OUTPUT_CHANGED, STORAGE_ERROR, TEMPLATE_ERROR,
};
use crate::call::Context;
use crate::fault::INVALID_ARGUMENT;
use crate::operation::Operation;
use crate::services::Services;
use crate::toolset::Toolset;

pub(super) fn operations() -> Vec<Operation> {
    vec![
        assemble_artifact(),
        trace_dependencies(),
        list_artifacts(),
        list_content(),
        list_generators(),
        preview_artifact(),
    ]
}

fn assemble_artifact() -> Operation {
    let run = |services: &Services, request: &AssembleRequest, _: &mut Context| {
        services.compose()?.assemble_artifact(request)
    };
    Operation::write("assemble_artifact", Toolset::Compose, run)
        .category("artifact")
        .tool(
            "Assemble an artifact",
            "Bring the contents of an artifact up to date, put them together and write its \
             files in the workspace. A file that somebody else wrote or changed stays as it \
             is, unless `force`.",
        )
        .route(
            Method::POST,
            "/assemble_artifact",
            GROUP,
            "Write the files of an artifact into the workspace",
        )
        .may_answer(&[503])
        .reaches_outside()
        .example(
            "How each client is told of this server, as a page",
            json!({
                "artifact_config_id": "client-config", "output_path": "docs/clients.md"
            }),
        )
        .may_fail_with(&[
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
        ])
}

fn trace_dependencies() -> Operation {
    let run = |services: &Services, request: &TraceRequest, _: &mut Context| {
        services.compose()?.trace_dependencies(request)
    };
    Operation::read("trace_dependencies", Toolset::Compose, run)
        .category("artifact")
        .tool(
            "Trace dependencies",
            "Say what an artifact is made of, with which generators and sources, and \
             whether all of it is there.",
        )
        .example("What AGENTS.md needs", json!({"artifact_config_id": "agents-md"}))
        .may_fail_with(&[
            CONFIG_NOT_FOUND,
            INVALID_ID,
            CONFIG_INVALID,
            INVALID_ARGUMENT,
            STORAGE_ERROR,
        ])
}

fn list_artifacts() -> Operation {
    let run = |services: &Services, request: &ListRequest, _: &mut Context| {
        services.compose()?.list_artifacts(request)
    };
    Operation::read("list_artifacts", Toolset::Compose, run)
        .category("query")
        .tool(
            "List artifacts",
            "List the files that can be assembled: built-in ones such as AGENTS.md, and \
             those of the workspace.",
        )
        .example("Those that come with the server", json!({"filter": {"origin": "builtin"}}))
        .may_fail_with(&[INVALID_ARGUMENT, STORAGE_ERROR])
}

fn list_content() -> Operation {
    let run = |services: &Services, request: &ListRequest, _: &mut Context| {
        services.compose()?.list_content(request)
    };
    Operation::read("list_content", Toolset::Compose, run)
        .category("query")
        .tool(
            "List content",
            "List the texts that can be generated, with the values they take and when each \
             was generated last.",
        )
        .example("What was generated last", json!({"sort": "newest", "limit": 10}))
        .may_fail_with(&[INVALID_ARGUMENT, STORAGE_ERROR])
}

fn list_generators() -> Operation {
    let run = |services: &Services,
               request: &GeneratorsRequest,
               _: &mut Context|
     -> Result<_, Error> { Ok(services.compose()?.list_generators(request)) };
    Operation::read("list_generators", Toolset::Compose, run)
        .category("query")
        .tool(
            "List generators",
            "List what writes texts, plugins included: what each can do and needs, and how \
             one is chosen.",
        )
        .route(
            Method::GET,
            "/list_generators",
            GROUP,
            "Generators, and why some cannot be used here",
        )
        .example("All of them", json!({}))
        .may_fail_with(&[INVALID_ARGUMENT, STORAGE_ERROR])
}

fn preview_artifact() -> Operation {
    let run = |services: &Services, request: &PreviewArtifactRequest, _: &mut Context| {
        services.compose()?.preview_artifact(request)
    };
    Operation::read("preview_artifact", Toolset::Compose, run)
        .route(
            Method::POST,
            "/preview_artifact",
            GROUP,
            "The files an artifact config would write, and what that would do to those there are",
        )
        .may_fail_with(GENERATING)
}
