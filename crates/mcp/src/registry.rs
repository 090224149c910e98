//! The registry of a team's agents as tools and resources.

mod resources;

use kenning_registry::Error;
use kenning_registry::deactivate::{DeactivateRequest, DeactivateResponse};
use kenning_registry::error::Code;
use kenning_registry::get::{Formatted, GetRequest};
use kenning_registry::list::{ListRequest, ListResponse, MAX_GROUPS, MAX_QUERY};
use kenning_registry::register::{RegisterRequest, RegisterResponse};
use kenning_registry::rules::{MAX_CAPABILITIES, MAX_ID, MAX_METADATA, MAX_NAME, MAX_VERSION};
use serde_json::json;

pub use resources::{RegistryResources, SCHEME};

use crate::inventory::Toolset;
use crate::limit::Limit;
use crate::rooms::Rooms;
use crate::tool::{CommonError, Effect, Example, INVALID_ARGUMENT, Tool, ToolError};

const AGENT_NOT_FOUND: CommonError =
    CommonError { code: Code::AgentNotFound.as_str(), message: "No agent of the team has this id" };
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

/// What the registry is held to.
pub fn limits() -> Vec<Limit> {
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

pub fn tools() -> Vec<Tool> {
    vec![
        register_agent_capabilities(),
        get_agent_capabilities(),
        list_all_capabilities(),
        deactivate_capability(),
    ]
}

fn register_agent_capabilities() -> Tool {
    fn run(rooms: &Rooms, request: &RegisterRequest) -> Result<RegisterResponse, Error> {
        rooms.registry()?.register(request)
    }
    Tool {
        title: "Register agent capabilities",
        description: "Register or update the skills of one of the team's agents: all of the \
                      request or none of it.",
        effect: Effect::Writes,
        examples: vec![Example {
            description: "Two skills of agent 11",
            arguments: json!({
                "agent_id": 11,
                "capabilities": [
                    {
                        "skill_name": "payload-cms-setup", "version": "1.2.0",
                        "metadata": {"category": "backend", "language": "Node.js"}
                    },
                    {"skill_name": "tdd-workflow", "version": "2.0.1"}
                ]
            }),
        }],
        errors: &[
            AGENT_NOT_FOUND,
            INVALID_SEMVER,
            DUPLICATE_CAPABILITY,
            INVALID_ARGUMENT,
            DATABASE_ERROR,
        ],
        ..Tool::new("register_agent_capabilities", Toolset::Registry, run)
    }
}

fn get_agent_capabilities() -> Tool {
    fn run(rooms: &Rooms, request: &GetRequest) -> Result<Formatted, Error> {
        Ok(rooms.registry()?.get(request)?.formatted(request.format))
    }
    Tool {
        title: "Get agent capabilities",
        description: "Retrieve the skills of one of the team's agents.",
        examples: vec![Example {
            description: "What agent 11 can do, to read",
            arguments: json!({"agent_id": 11, "format": "human"}),
        }],
        errors: &[AGENT_NOT_FOUND, INVALID_ARGUMENT, DATABASE_ERROR],
        ..Tool::new("get_agent_capabilities", Toolset::Registry, run)
    }
}

fn list_all_capabilities() -> Tool {
    fn run(rooms: &Rooms, request: &ListRequest) -> Result<ListResponse, Error> {
        rooms.registry()?.list(request)
    }
    Tool {
        title: "List all capabilities",
        description: "List the skills of all of the team's agents, by skill or by agent; with a \
                      query, those that answer it, best first.",
        examples: vec![Example {
            description: "Who can be asked",
            arguments: json!({"query": "who can set up a CMS?"}),
        }],
        errors: &[INVALID_SEMVER, INVALID_ARGUMENT, DATABASE_ERROR],
        ..Tool::new("list_all_capabilities", Toolset::Registry, run)
    }
}

fn deactivate_capability() -> Tool {
    fn run(rooms: &Rooms, request: &DeactivateRequest) -> Result<DeactivateResponse, Error> {
        rooms.registry()?.deactivate(request)
    }
    Tool {
        title: "Deactivate a capability",
        description: "Mark a skill of one of the team's agents as inactive; it stays registered.",
        effect: Effect::Writes,
        examples: vec![Example {
            description: "Agent 11 no longer uses it",
            arguments: json!({"agent_id": 11, "skill_name": "tdd-workflow"}),
        }],
        errors: &[AGENT_NOT_FOUND, CAPABILITY_NOT_FOUND, INVALID_ARGUMENT, DATABASE_ERROR],
        ..Tool::new("deactivate_capability", Toolset::Registry, run)
    }
}

/// The contract's flat form.
impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        if let Error::Database(source) = &error {
            tracing::error!(%source, "the registry's store failed");
        }
        Self {
            success: Some(false),
            error: error.code().as_str(),
            message: error.to_string(),
            details: Some(Box::new(error.details())),
            hint: error.hint().map(str::to_owned),
        }
    }
}
