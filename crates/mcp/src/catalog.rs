//! The catalog of coding agents as tools.

use kenning_catalog::Error;
use kenning_catalog::compare::{CompareRequest, CompareResponse};
use kenning_catalog::list::{ListRequest, ListResponse};
use kenning_catalog::lookup::{LookupRequest, LookupResponse};
use kenning_catalog::resolve::MAX_CHARS;
use kenning_catalog::sources::{MAX_CLAIMS, SourcesRequest, SourcesResponse};
use serde_json::json;

use crate::inventory::Toolset;
use crate::limit::Limit;
use crate::rooms::Rooms;
use crate::tool::{CommonError, Example, INVALID_ARGUMENT, Tool, ToolError};

const AGENT_NOT_FOUND: CommonError =
    CommonError { code: "AGENT_NOT_FOUND", message: "No coding agent of this name is known" };
const CATEGORY_NOT_FOUND: CommonError =
    CommonError { code: "CATEGORY_NOT_FOUND", message: "There is no category of this name" };

/// What questions to the catalog are held to.
pub fn limits() -> Vec<Limit> {
    vec![
        Limit::of(Toolset::Catalog, "max_catalog_name_chars", MAX_CHARS),
        Limit::of(Toolset::Catalog, "max_source_claims", MAX_CLAIMS),
    ]
}

pub fn tools() -> Vec<Tool> {
    vec![lookup_capability(), compare_capability(), list_capabilities(), get_sources()]
}

fn lookup_capability() -> Tool {
    fn is_quick(rooms: &Rooms, request: &LookupRequest) -> bool {
        rooms.catalog.is_name(&request.capability)
    }
    fn run(rooms: &Rooms, request: &LookupRequest) -> Result<LookupResponse, Error> {
        let found = rooms.catalog.lookup(request, &|text| rooms.library.embed(text))?;
        if found.missed {
            rooms.note_miss("lookup_capability", &request.capability);
        }
        Ok(found)
    }
    Tool {
        title: "Look up a capability",
        description: "What can one coding agent do: whether it has a capability, since which plan, \
                      how to set it up, and where that is documented.",
        examples: vec![Example {
            description: "Whether and how Claude Code connects to MCP servers",
            arguments: json!({"agent": "claude-code", "capability": "MCP Support"}),
        }],
        errors: &[INVALID_ARGUMENT, AGENT_NOT_FOUND],
        ..Tool::at_once_if(is_quick, "lookup_capability", Toolset::Catalog, run)
    }
}

fn compare_capability() -> Tool {
    fn is_quick(rooms: &Rooms, request: &CompareRequest) -> bool {
        rooms.catalog.is_name(&request.capability)
    }
    fn run(rooms: &Rooms, request: &CompareRequest) -> Result<CompareResponse, Error> {
        let found = rooms.catalog.compare(request, &|text| rooms.library.embed(text))?;
        if found.missed {
            rooms.note_miss("compare_capability", &request.capability);
        }
        Ok(found)
    }
    Tool {
        title: "Compare a capability",
        description: "How one capability differs across coding agents.",
        examples: vec![Example {
            description: "Hooks of two agents",
            arguments: json!({"capability": "hooks", "agents": ["claude-code", "cursor"]}),
        }],
        errors: &[INVALID_ARGUMENT, AGENT_NOT_FOUND],
        ..Tool::at_once_if(is_quick, "compare_capability", Toolset::Catalog, run)
    }
}

fn list_capabilities() -> Tool {
    fn run(rooms: &Rooms, request: &ListRequest) -> Result<ListResponse, Error> {
        rooms.catalog.list(request)
    }
    Tool {
        title: "List capabilities",
        description: "What capabilities a coding agent has, or what is in a category. At least one \
                      of the two is required; lookup_capability has the details.",
        examples: vec![Example {
            description: "Everything about security in Codex",
            arguments: json!({"agent": "codex-cli", "category": "security"}),
        }],
        errors: &[INVALID_ARGUMENT, AGENT_NOT_FOUND, CATEGORY_NOT_FOUND],
        ..Tool::new("list_capabilities", Toolset::Catalog, run)
    }
}

fn get_sources() -> Tool {
    fn run(rooms: &Rooms, request: &SourcesRequest) -> Result<SourcesResponse, Error> {
        rooms.catalog.sources(request, rooms.today(), &|text| rooms.library.embed(text))
    }
    Tool {
        title: "Get sources",
        description: "The authoritative sources for what is said of a coding agent or a \
                      capability, to cite or to read.",
        examples: vec![Example {
            description: "Where it says how Gemini CLI is sandboxed",
            arguments: json!({"agent": "gemini-cli", "capability": "Sandboxing"}),
        }],
        errors: &[INVALID_ARGUMENT, AGENT_NOT_FOUND],
        ..Tool::new("get_sources", Toolset::Catalog, run)
    }
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        let (message, hint) = (error.to_string(), Some(error.hint()));
        Self { error: error.code(), message, hint, ..Self::default() }
    }
}
