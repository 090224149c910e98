//! Find, read and list knowledge.

use kenning_knowledge::Error;
use kenning_knowledge::base::MAX_FILE_BYTES;
use kenning_knowledge::dependencies::{DependenciesRequest, DependenciesResponse, MAX_DEPTH};
use kenning_knowledge::discover::{DiscoverRequest, DiscoverResponse};
use kenning_knowledge::document::MAX_NODES_PER_FILE;
use kenning_knowledge::list::{ListRequest, ListResponse, MAX_LIST};
use kenning_knowledge::retrieve::{MAX_IDS, MAX_TOKENS, RetrieveRequest, RetrieveResponse};
use kenning_knowledge::search::{MAX_QUERY_CHARS, MAX_RESULTS, SearchRequest, SearchResponse};
use kenning_knowledge::usage::Usage;
use serde_json::json;

use crate::inventory::Toolset;
use crate::limit::Limit;
use crate::rooms::Rooms;
use crate::tool::{CommonError, Example, INVALID_ARGUMENT, Tool};

const BASE_NOT_FOUND: CommonError =
    CommonError { code: "BASE_NOT_FOUND", message: "No knowledge base has this name" };
/// What can be wrong with a word that should name a node.
const NAMING_A_NODE: [CommonError; 6] = [
    INVALID_ARGUMENT,
    CommonError { code: "NODE_NOT_FOUND", message: "No node has this id" },
    CommonError { code: "AMBIGUOUS_NODE", message: "Several knowledge bases have it; say which" },
    CommonError { code: "FILE_NOT_FOUND", message: "No knowledge base has a file at this path" },
    CommonError { code: "SECTION_NOT_FOUND", message: "The file has no section of this name" },
    CommonError { code: "INVALID_PATH", message: "The path is none of a knowledge base" },
];

/// What the knowledge bases are held to.
pub fn limits() -> Vec<Limit> {
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

pub fn tools() -> Vec<Tool> {
    vec![
        discover_context(),
        retrieve_knowledge(),
        list_knowledge_bases(),
        search_knowledge(),
        get_dependencies(),
    ]
}

fn discover_context() -> Tool {
    fn run(rooms: &Rooms, request: &DiscoverRequest) -> Result<DiscoverResponse, Error> {
        let found = rooms.library.snapshot().discover(request, &rooms.discovery)?;
        if found.total_available == 0 {
            rooms.note_miss("discover_context", &request.task_description);
        }
        rooms.note_usage(&Usage::discovered(&found, Rooms::now()));
        Ok(found)
    }
    Tool {
        title: "Discover context",
        description: "Analyzes a task description and returns ranked recommendations of relevant \
                      knowledge bases. Call it before a non-trivial task.",
        examples: vec![
            Example {
                description: "Before writing code",
                arguments: json!({
                    "task_description": "Implement user authentication with JWT tokens",
                    "task_type": "implement",
                    "max_results": 3
                }),
            },
            Example {
                description: "As much as fits in 2,000 tokens, near the file at hand",
                arguments: json!({
                    "task_description": "Find out why listing orders is slow",
                    "task_type": "debug",
                    "current_file": "src/orders/query.rs",
                    "token_budget": 2000
                }),
            },
        ],
        errors: &[INVALID_ARGUMENT],
        ..Tool::new("discover_context", Toolset::Knowledge, run)
    }
}

fn retrieve_knowledge() -> Tool {
    fn run(rooms: &Rooms, request: &RetrieveRequest) -> Result<RetrieveResponse, Error> {
        let read = rooms.library.snapshot().retrieve(request)?;
        rooms.note_usage(&Usage::retrieved(&read, Rooms::now()));
        Ok(read)
    }
    Tool {
        title: "Retrieve knowledge",
        description: "Fetches the full content of one or more knowledge base nodes. Ids that name \
                      no node come back in `not_found` with near misses.",
        examples: vec![
            Example {
                description: "One section",
                arguments: json!({"ids": ["guidelines.security.authentication"]}),
            },
            Example {
                description: "A file by its path, with all its sections, as plain text",
                arguments: json!({
                    "ids": ["protocols/RELEASE.md"], "include_children": true, "format": "plain"
                }),
            },
        ],
        errors: &[INVALID_ARGUMENT],
        ..Tool::new("retrieve_knowledge", Toolset::Knowledge, run)
    }
}

fn list_knowledge_bases() -> Tool {
    fn run(rooms: &Rooms, request: &ListRequest) -> Result<ListResponse, Error> {
        rooms.library.snapshot().list(request)
    }
    Tool {
        title: "List knowledge bases",
        description: "Returns a catalog of all available knowledge bases with their metadata, one \
                      entry per file. A filter lets a file through if any of its sections fits.",
        examples: vec![Example {
            description: "Files with guidelines that are in force",
            arguments: json!({"filter_type": "guideline", "filter_status": "active"}),
        }],
        errors: &[INVALID_ARGUMENT, BASE_NOT_FOUND],
        ..Tool::new("list_knowledge_bases", Toolset::Knowledge, run)
    }
}

fn search_knowledge() -> Tool {
    fn run(rooms: &Rooms, request: &SearchRequest) -> Result<SearchResponse, Error> {
        let found = rooms.library.snapshot().search(request)?;
        if found.results.is_empty() {
            rooms.note_miss("search_knowledge", &request.query);
        }
        rooms.note_usage(&Usage::searched(&found, Rooms::now()));
        Ok(found)
    }
    Tool {
        title: "Search knowledge",
        description: "Performs full-text and semantic search across all knowledge bases; best \
                      nodes first, each with the stretch of text that matched.",
        examples: vec![Example {
            description: "Words of a question, in one part of the base",
            arguments: json!({
                "query": "how long is an access token valid",
                "scope": ["guidelines.security"],
                "max_results": 3
            }),
        }],
        errors: &NAMING_A_NODE,
        ..Tool::new("search_knowledge", Toolset::Knowledge, run)
    }
}

fn get_dependencies() -> Tool {
    fn run(rooms: &Rooms, request: &DependenciesRequest) -> Result<DependenciesResponse, Error> {
        rooms.library.snapshot().dependencies(request)
    }
    Tool {
        title: "Get dependencies",
        description: "Given a node ID, returns all nodes it depends on (via `blocked_by`) and all \
                      nodes that depend on it. Circles and targets that do not exist are named.",
        examples: vec![Example {
            description: "Everything a task waits for",
            arguments: json!({
                "node_id": "plans.multi_tenancy.rollout", "direction": "upstream", "depth": 5
            }),
        }],
        errors: &NAMING_A_NODE,
        ..Tool::new("get_dependencies", Toolset::Knowledge, run)
    }
}
