//! Discover, retrieve, list and search knowledge.

use http::Method;
use kenning_knowledge::Error;
use kenning_knowledge::base::MAX_FILE_BYTES;
use kenning_knowledge::dependencies::{DependenciesRequest, MAX_DEPTH};
use kenning_knowledge::discover::{DiscoverRequest, DiscoverResponse};
use kenning_knowledge::document::MAX_NODES_PER_FILE;
use kenning_knowledge::list::{ListRequest, MAX_LIST};
use kenning_knowledge::retrieve::{MAX_IDS, MAX_TOKENS, RetrieveRequest, RetrieveResponse};
use kenning_knowledge::search::{MAX_QUERY_CHARS, MAX_RESULTS, SearchRequest, SearchResponse};
use kenning_knowledge::usage::{Usage, UsageError, UsageRequest, UsageResponse};
use serde_json::json;

use crate::call::{Context, Surface};
use crate::fault::{CommonError, Fault, HintedError, INVALID_ARGUMENT, OperationError};
use crate::limit::Limit;
use crate::operation::Operation;
use crate::services::Services;
use crate::toolset::Toolset;

const BASE_NOT_FOUND: CommonError =
    CommonError { code: "BASE_NOT_FOUND", message: "No knowledge base has this name" };
/// The errors of an argument that names a node.
const NAMING_A_NODE: [CommonError; 6] = [
    INVALID_ARGUMENT,
    CommonError { code: "NODE_NOT_FOUND", message: "No node has this id" },
    CommonError { code: "AMBIGUOUS_NODE", message: "Several knowledge bases have it; say which" },
    CommonError { code: "FILE_NOT_FOUND", message: "No knowledge base has a file at this path" },
    CommonError { code: "SECTION_NOT_FOUND", message: "The file has no section of this name" },
    CommonError { code: "INVALID_PATH", message: "The path is none of a knowledge base" },
];

pub(crate) fn limits() -> Vec<Limit> {
    let limit = |name, value| Limit::of(Toolset::Knowledge, name, value);
    vec![
        Limit { name: "max_file_bytes", value: MAX_FILE_BYTES, toolset: Some(Toolset::Knowledge) },
        limit("max_nodes_per_file", MAX_NODES_PER_FILE),
        limit("max_query_chars", MAX_QUERY_CHARS),
        limit("max_search_results", MAX_RESULTS),
        limit("max_retrieve_ids", MAX_IDS),
        limit("max_retrieve_tokens", MAX_TOKENS),
        limit("max_list_results", MAX_LIST),
        limit("max_dependency_depth", MAX_DEPTH),
    ]
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        discover_context(),
        retrieve_knowledge(),
        list_knowledge_bases(),
        search_knowledge(),
        get_dependencies(),
        usage(),
    ]
}

fn discover_context() -> Operation {
    fn run(
        services: &Services,
        request: &DiscoverRequest,
        call: &mut Context,
    ) -> Result<DiscoverResponse, Error> {
        let found = services.library.snapshot().discover(request, &services.discovery)?;
        if found.total_available == 0 {
            call.missed(&request.task_description);
        }
        services.note_usage(&Usage::discovered(&found, Services::now()));
        Ok(found)
    }
    Operation::read("discover_context", Toolset::Knowledge, run)
        .tool(
            "Discover context",
            "Analyzes a task description and returns ranked recommendations of relevant \
             knowledge bases. Call it before a non-trivial task.",
        )
        .route(
            Method::GET,
            "/discover_context",
            "Knowledge",
            "What should be read before a task is begun, best first",
        )
        .may_answer(&[500])
        .example(
            "Before writing code",
            json!({
                "task_description": "Implement user authentication with JWT tokens",
                "task_type": "implement",
                "max_results": 3
            }),
        )
        .example(
            "As much as fits in 2,000 tokens, near the file at hand",
            json!({
                "task_description": "Find out why listing orders is slow",
                "task_type": "debug",
                "current_file": "src/orders/query.rs",
                "token_budget": 2000
            }),
        )
        .may_fail_with(&[INVALID_ARGUMENT])
}

fn retrieve_knowledge() -> Operation {
    fn run(
        services: &Services,
        request: &RetrieveRequest,
        _: &mut Context,
    ) -> Result<RetrieveResponse, Error> {
        let read = services.library.snapshot().retrieve(request)?;
        services.note_usage(&Usage::retrieved(&read, Services::now()));
        Ok(read)
    }
    Operation::read("retrieve_knowledge", Toolset::Knowledge, run)
        .tool(
            "Retrieve knowledge",
            "Fetches the full content of one or more knowledge base nodes. Ids that name \
             no node come back in `not_found` with near misses.",
        )
        .route(Method::GET, "/retrieve_knowledge", "Knowledge", "The full content of nodes")
        .example("One section", json!({"ids": ["guidelines.security.authentication"]}))
        .example(
            "A file by its path, with all its sections, as plain text",
            json!({
                "ids": ["protocols/RELEASE.md"], "include_children": true, "format": "plain"
            }),
        )
        .may_fail_with(&[INVALID_ARGUMENT])
}

fn list_knowledge_bases() -> Operation {
    Operation::read(
        "list_knowledge_bases",
        Toolset::Knowledge,
        |services, request: &ListRequest, _| services.library.snapshot().list(request),
    )
    .tool(
        "List knowledge bases",
        "Returns a catalog of all available knowledge bases with their metadata, one \
         entry per file. A filter lets a file through if any of its sections fits.",
    )
    .route(Method::GET, "/list_knowledge_bases", "Knowledge", "The files of all knowledge bases")
    .example(
        "Files with guidelines that are in force",
        json!({"filter_type": "guideline", "filter_status": "active"}),
    )
    .may_fail_with(&[INVALID_ARGUMENT, BASE_NOT_FOUND])
}

fn search_knowledge() -> Operation {
    fn run(
        services: &Services,
        request: &SearchRequest,
        call: &mut Context,
    ) -> Result<SearchResponse, Error> {
        let found = services.library.snapshot().search(request)?;
        if found.results.is_empty() {
            call.missed(&request.query);
        }
        services.note_usage(&Usage::searched(&found, Services::now()));
        Ok(found)
    }
    Operation::read("search_knowledge", Toolset::Knowledge, run)
        .tool(
            "Search knowledge",
            "Performs full-text and semantic search across all knowledge bases; best \
             nodes first, each with the stretch of text that matched.",
        )
        .route(
            Method::GET,
            "/search_knowledge",
            "Knowledge",
            "Nodes by their words, their meaning, or both",
        )
        .may_answer(&[500])
        .example(
            "Words of a question, in one part of the base",
            json!({
                "query": "how long is an access token valid",
                "scope": ["guidelines.security"],
                "max_results": 3
            }),
        )
        .may_fail_with(&NAMING_A_NODE)
}

fn get_dependencies() -> Operation {
    Operation::read(
        "get_dependencies",
        Toolset::Knowledge,
        |services, request: &DependenciesRequest, _| {
            services.library.snapshot().dependencies(request)
        },
    )
    .tool(
        "Get dependencies",
        "Given a node ID, returns all nodes it depends on (via `blocked_by`) and all \
         nodes that depend on it. Circles and targets that do not exist are named.",
    )
    .route(
        Method::GET,
        "/get_dependencies",
        "Knowledge",
        "What a node waits for, and what waits for it",
    )
    .example(
        "Everything a task waits for",
        json!({
            "node_id": "plans.multi_tenancy.rollout", "direction": "upstream", "depth": 5
        }),
    )
    .may_fail_with(&NAMING_A_NODE)
}

fn usage() -> Operation {
    fn run(
        services: &Services,
        request: &UsageRequest,
        _: &mut Context,
    ) -> Result<UsageResponse, UsageFailure> {
        let used = services.usage.as_ref().map(|log| log.used(&request.period()));
        let used = used.transpose().map_err(UsageFailure::Counts)?.unwrap_or_default();
        services.library.snapshot().usage(request, &used).map_err(UsageFailure::Request)
    }
    Operation::read("usage", Toolset::Knowledge, run)
        .route(
            Method::GET,
            "/usage",
            "Knowledge",
            "Which nodes are found and read, and which never are",
        )
        .at_store()
        .may_answer(&[500])
        .may_fail_with(&[INVALID_ARGUMENT, BASE_NOT_FOUND])
}

/// Why usage cannot be told: the request is wrong, or the counts cannot be read.
enum UsageFailure {
    Request(Error),
    Counts(UsageError),
}

impl From<UsageFailure> for Fault {
    fn from(failure: UsageFailure) -> Self {
        match failure {
            UsageFailure::Request(error) => error.into(),
            UsageFailure::Counts(error) => {
                tracing::error!(%error, "usage counts could not be read");
                let hint = Some("try again later".to_owned());
                Self { hint, ..Self::internal("what was used is not known") }
            }
        }
    }
}

impl OperationError for UsageFailure {
    type Body = HintedError;

    fn malformed(argument: Option<&str>, problem: String, surface: Surface) -> Fault {
        Error::malformed(argument, problem, surface)
    }
}
