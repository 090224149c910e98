//! Operations of the catalog of coding agents.

use http::Method;
use kenning_catalog::Error;
use kenning_catalog::compare::{CompareRequest, CompareResponse};
use kenning_catalog::list::ListRequest;
use kenning_catalog::lookup::{LookupRequest, LookupResponse};
use kenning_catalog::resolve::MAX_CHARS;
use kenning_catalog::sources::{MAX_CLAIMS, SourcesRequest};
use serde_json::json;

use crate::call::Context;
use crate::fault::{CommonError, INVALID_ARGUMENT};
use crate::limit::Limit;
use crate::operation::Operation;
use crate::services::Services;
use crate::toolset::Toolset;

const AGENT_NOT_FOUND: CommonError =
    CommonError { code: "AGENT_NOT_FOUND", message: "No coding agent of this name is known" };
const CATEGORY_NOT_FOUND: CommonError =
    CommonError { code: "CATEGORY_NOT_FOUND", message: "There is no category of this name" };

pub(crate) fn limits() -> Vec<Limit> {
    vec![
        Limit::of(Toolset::Catalog, "max_catalog_name_chars", MAX_CHARS),
        Limit::of(Toolset::Catalog, "max_source_claims", MAX_CLAIMS),
    ]
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![lookup_capability(), compare_capability(), list_capabilities(), get_sources()]
}

fn lookup_capability() -> Operation {
    fn run(
        services: &Services,
        request: &LookupRequest,
        call: &mut Context,
    ) -> Result<LookupResponse, Error> {
        let found =
            services.catalog.lookup(request, &|text| services.library.embed_bundled(text))?;
        if found.missed {
            call.missed(&request.capability);
        }
        Ok(found)
    }
    let is_quick = |services: &Services, request: &LookupRequest| {
        services.catalog.is_name(&request.capability)
    };
    Operation::quick_read("lookup_capability", Toolset::Catalog, is_quick, run)
        .tool(
            "Look up a capability",
            "What can one coding agent do: whether it has a capability, since which plan, \
             how to set it up, and where that is documented.",
        )
        .route(
            Method::GET,
            "/lookup_capability",
            "Catalog",
            "Whether a coding agent has a capability, how to set it up, and the sources",
        )
        .example(
            "Whether and how Claude Code connects to MCP servers",
            json!({"agent": "claude-code", "capability": "MCP Support"}),
        )
        .may_fail_with(&[INVALID_ARGUMENT, AGENT_NOT_FOUND])
}

fn compare_capability() -> Operation {
    fn run(
        services: &Services,
        request: &CompareRequest,
        call: &mut Context,
    ) -> Result<CompareResponse, Error> {
        let found =
            services.catalog.compare(request, &|text| services.library.embed_bundled(text))?;
        if found.missed {
            call.missed(&request.capability);
        }
        Ok(found)
    }
    let is_quick = |services: &Services, request: &CompareRequest| {
        services.catalog.is_name(&request.capability)
    };
    Operation::quick_read("compare_capability", Toolset::Catalog, is_quick, run)
        .tool("Compare a capability", "How one capability differs across coding agents.")
        .route(
            Method::GET,
            "/compare_capability",
            "Catalog",
            "How one capability differs across coding agents",
        )
        .example(
            "Hooks of two agents",
            json!({"capability": "hooks", "agents": ["claude-code", "cursor"]}),
        )
        .may_fail_with(&[INVALID_ARGUMENT, AGENT_NOT_FOUND])
}

fn list_capabilities() -> Operation {
    Operation::read("list_capabilities", Toolset::Catalog, |services, request: &ListRequest, _| {
        services.catalog.list(request)
    })
    .tool(
        "List capabilities",
        "What capabilities a coding agent has, or what is in a category. At least one \
         of the two is required; lookup_capability has the details.",
    )
    .route(
        Method::GET,
        "/list_capabilities",
        "Catalog",
        "The capabilities of a coding agent, or of a category: one of the two is needed",
    )
    .example(
        "Everything about security in Codex",
        json!({"agent": "codex-cli", "category": "security"}),
    )
    .may_fail_with(&[INVALID_ARGUMENT, AGENT_NOT_FOUND, CATEGORY_NOT_FOUND])
}

fn get_sources() -> Operation {
    Operation::read("get_sources", Toolset::Catalog, |services, request: &SourcesRequest, _| {
        let embed = |text: &str| services.library.embed_bundled(text);
        services.catalog.sources(request, Services::today(), &embed)
    })
    .tool(
        "Get sources",
        "The authoritative sources for what is said of a coding agent or a \
         capability, to cite or to read.",
    )
    .route(
        Method::GET,
        "/get_sources",
        "Catalog",
        "Where it says so: the sources of what is claimed",
    )
    .example(
        "Where it says how Gemini CLI is sandboxed",
        json!({"agent": "gemini-cli", "capability": "Sandboxing"}),
    )
    .may_fail_with(&[INVALID_ARGUMENT, AGENT_NOT_FOUND])
}
