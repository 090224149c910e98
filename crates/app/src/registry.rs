//! Operations and resources of the registry of a team's agents.

mod resources;

use http::Method;
use kenning_registry::Error;
use kenning_registry::agents::{
    AddAgentRequest, AgentResponse, GetAgentRequest, ListAgentsRequest, RemoveAgentRequest,
    RenameAgentRequest,
};
use kenning_registry::deactivate::{DeactivateRequest, DeactivateResponse};
use kenning_registry::error::Code;
use kenning_registry::get::{Formatted, GetRequest};
use kenning_registry::list::{ListRequest, MAX_GROUPS, MAX_QUERY};
use kenning_registry::register::{RegisterRequest, RegisterResponse};
use kenning_registry::rules::{MAX_CAPABILITIES, MAX_ID, MAX_METADATA, MAX_NAME, MAX_VERSION};
use serde_json::json;

pub(crate) use resources::RegistryResources;
pub use resources::SCHEME;

use crate::call::Context;
use crate::fault::{CommonError, INVALID_ARGUMENT};
use crate::limit::Limit;
use crate::operation::Operation;
use crate::services::Services;
use crate::toolset::Toolset;

const CAPABILITIES: &str = "Capabilities";
const AGENTS: &str = "Agents";

const AGENT_NOT_FOUND: CommonError =
    CommonError { code: Code::AgentNotFound.as_str(), message: "No agent of the team has this id" };
const AGENT_EXISTS: CommonError = CommonError {
    code: Code::AgentExists.as_str(),
    message: "An agent has this id or name already",
};
const INVALID_SEMVER: CommonError = CommonError {
    code: Code::InvalidSemver.as_str(),
    message: "A version is not MAJOR.MINOR.PATCH, as semver.org has it",
};
const DUPLICATE_CAPABILITY: CommonError = CommonError {
    code: Code::DuplicateCapability.as_str(),
    message: "The skill is registered already, and upsert is false",
};
const CAPABILITY_NOT_FOUND: CommonError = CommonError {
    code: Code::CapabilityNotFound.as_str(),
    message: "The agent does not have this skill",
};
const DATABASE_ERROR: CommonError = CommonError {
    code: Code::DatabaseError.as_str(),
    message: "The store failed; nothing was changed",
};

pub(crate) fn limits() -> Vec<Limit> {
    let limit = |name, value| Limit::of(Toolset::Registry, name, value);
    vec![
        limit("max_capabilities_per_call", MAX_CAPABILITIES),
        limit("max_skill_name_chars", MAX_NAME),
        limit("max_version_chars", MAX_VERSION),
        limit("max_metadata_bytes", MAX_METADATA),
        limit("max_listed_groups", MAX_GROUPS),
        limit("max_skill_query_chars", MAX_QUERY),
        Limit {
            name: "max_agent_id",
            value: MAX_ID.unsigned_abs(),
            toolset: Some(Toolset::Registry),
        },
    ]
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        register_agent_capabilities(),
        get_agent_capabilities(),
        list_all_capabilities(),
        deactivate_capability(),
        list_agents(),
        add_agent(),
        get_agent(),
        rename_agent(),
        remove_agent(),
    ]
}

fn register_agent_capabilities() -> Operation {
    fn run(
        services: &Services,
        request: &RegisterRequest,
        call: &mut Context,
    ) -> Result<RegisterResponse, Error> {
        let done = services.registry()?.register_if(request, call.expected)?;
        call.set_revision(done.revision);
        Ok(done)
    }
    Operation::write("register_agent_capabilities", Toolset::Registry, run)
        .tool(
            "Register agent capabilities",
            "Register or update the skills of one of the team's agents: all of the \
             request or none of it.",
        )
        .route(
            Method::POST,
            "/register_agent_capabilities",
            CAPABILITIES,
            "Register or update the skills of an agent: all of the request or none of it",
        )
        .with_revision()
        .conditional()
        .example(
            "Two skills of agent 11",
            json!({
                "agent_id": 11,
                "capabilities": [
                    {
                        "skill_name": "payload-cms-setup", "version": "1.2.0",
                        "metadata": {"category": "backend", "language": "Node.js"}
                    },
                    {"skill_name": "tdd-workflow", "version": "2.0.1"}
                ]
            }),
        )
        .may_fail_with(&[
            AGENT_NOT_FOUND,
            INVALID_SEMVER,
            DUPLICATE_CAPABILITY,
            INVALID_ARGUMENT,
            DATABASE_ERROR,
        ])
}

fn get_agent_capabilities() -> Operation {
    fn run(
        services: &Services,
        request: &GetRequest,
        call: &mut Context,
    ) -> Result<Formatted, Error> {
        let found = services.registry()?.get(request)?;
        call.set_revision(found.revision);
        Ok(found.formatted(request.format))
    }
    Operation::read("get_agent_capabilities", Toolset::Registry, run)
        .tool("Get agent capabilities", "Retrieve the skills of one of the team's agents.")
        .route(Method::GET, "/get_agent_capabilities", CAPABILITIES, "The skills of an agent")
        .with_revision()
        .example("What agent 11 can do, to read", json!({"agent_id": 11, "format": "human"}))
        .may_fail_with(&[AGENT_NOT_FOUND, INVALID_ARGUMENT, DATABASE_ERROR])
}

fn list_all_capabilities() -> Operation {
    let run = |services: &Services, request: &ListRequest, _: &mut Context| {
        services.registry()?.list(request)
    };
    Operation::read("list_all_capabilities", Toolset::Registry, run)
        .tool(
            "List all capabilities",
            "List the skills of all of the team's agents, by skill or by agent; with a \
             query, those that answer it, best first.",
        )
        .route(
            Method::GET,
            "/list_all_capabilities",
            CAPABILITIES,
            "The skills of all agents, by skill or by agent; with a query, those that answer it, \
             best first",
        )
        .example("Who can be asked", json!({"query": "who can set up a CMS?"}))
        .may_fail_with(&[INVALID_SEMVER, INVALID_ARGUMENT, DATABASE_ERROR])
}

fn deactivate_capability() -> Operation {
    fn run(
        services: &Services,
        request: &DeactivateRequest,
        call: &mut Context,
    ) -> Result<DeactivateResponse, Error> {
        let done = services.registry()?.deactivate_if(request, call.expected)?;
        call.set_revision(done.revision);
        Ok(done)
    }
    Operation::write("deactivate_capability", Toolset::Registry, run)
        .tool(
            "Deactivate a capability",
            "Mark a skill of one of the team's agents as inactive; it stays registered.",
        )
        .route(
            Method::PATCH,
            "/deactivate_capability",
            CAPABILITIES,
            "Mark a skill of an agent as inactive; it stays registered",
        )
        .with_revision()
        .conditional()
        .example(
            "Agent 11 no longer uses it",
            json!({"agent_id": 11, "skill_name": "tdd-workflow"}),
        )
        .may_fail_with(&[AGENT_NOT_FOUND, CAPABILITY_NOT_FOUND, INVALID_ARGUMENT, DATABASE_ERROR])
}

fn list_agents() -> Operation {
    let run = |services: &Services, request: &ListAgentsRequest, _: &mut Context| {
        services.registry()?.agents(request)
    };
    Operation::read("list_agents", Toolset::Registry, run)
        .route(Method::GET, "/agents", AGENTS, "All agents, by id")
        .may_fail_with(&[INVALID_ARGUMENT, DATABASE_ERROR])
}

fn add_agent() -> Operation {
    fn run(
        services: &Services,
        request: &AddAgentRequest,
        call: &mut Context,
    ) -> Result<AgentResponse, Error> {
        let added = services.registry()?.add_agent(request)?;
        call.set_revision(added.agent.revision);
        Ok(added)
    }
    Operation::write("add_agent", Toolset::Registry, run)
        .route(Method::POST, "/agents", AGENTS, "Add an agent")
        .creates()
        .with_revision()
        .may_fail_with(&[INVALID_ARGUMENT, AGENT_EXISTS, DATABASE_ERROR])
}

fn get_agent() -> Operation {
    fn run(
        services: &Services,
        request: &GetAgentRequest,
        call: &mut Context,
    ) -> Result<AgentResponse, Error> {
        let found = services.registry()?.agent(request)?;
        call.set_revision(found.agent.revision);
        Ok(found)
    }
    Operation::read("get_agent", Toolset::Registry, run)
        .route(Method::GET, "/agents/{agent_id}", AGENTS, "One agent")
        .with_revision()
        .may_fail_with(&[INVALID_ARGUMENT, AGENT_NOT_FOUND, DATABASE_ERROR])
}

fn rename_agent() -> Operation {
    fn run(
        services: &Services,
        request: &RenameAgentRequest,
        call: &mut Context,
    ) -> Result<AgentResponse, Error> {
        let renamed = services.registry()?.rename_agent_if(request, call.expected)?;
        call.set_revision(renamed.agent.revision);
        Ok(renamed)
    }
    Operation::write("rename_agent", Toolset::Registry, run)
        .route(Method::PATCH, "/agents/{agent_id}", AGENTS, "Give an agent another name")
        .with_revision()
        .conditional()
        .may_fail_with(&[INVALID_ARGUMENT, AGENT_NOT_FOUND, AGENT_EXISTS, DATABASE_ERROR])
}

fn remove_agent() -> Operation {
    let run = |services: &Services, request: &RemoveAgentRequest, call: &mut Context| {
        services.registry()?.remove_agent_if(request, call.expected)
    };
    Operation::delete("remove_agent", Toolset::Registry, run)
        .route(
            Method::DELETE,
            "/agents/{agent_id}",
            AGENTS,
            "Remove an agent and all of its skills",
        )
        .conditional()
        .may_fail_with(&[INVALID_ARGUMENT, AGENT_NOT_FOUND, DATABASE_ERROR])
}
