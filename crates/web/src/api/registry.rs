//! The team's agents and their skills.

use axum::http::{Method, StatusCode};
use kenning_registry::agents::{
    AddAgentRequest, AgentResponse, AgentsResponse, GetAgentRequest, ListAgentsRequest,
    RemoveAgentRequest, RemoveAgentResponse, RenameAgentRequest,
};
use kenning_registry::deactivate::{DeactivateRequest, DeactivateResponse};
use kenning_registry::get::{Formatted, GetRequest};
use kenning_registry::list::{ListRequest, ListResponse};
use kenning_registry::register::{RegisterRequest, RegisterResponse};
use kenning_registry::{Error, ErrorBody, Registry};

use crate::operation::{Answer, Call, Fault, Operation, Refusal};
use crate::site::Rooms;

const CAPABILITIES: &str = "Capabilities";
const AGENTS: &str = "Agents";

pub(super) fn operations() -> Vec<Operation> {
    vec![
        register(),
        get(),
        list(),
        deactivate(),
        list_agents(),
        add_agent(),
        get_agent(),
        rename_agent(),
        remove_agent(),
    ]
}

#[derive(Debug, thiserror::Error)]
#[error("there is no store to keep a registry in")]
struct NoStore;

impl Rooms {
    pub(crate) fn registry(&self) -> Result<&Registry, Error> {
        self.registry.as_ref().ok_or_else(|| Error::database(NoStore))
    }
}

fn register() -> Operation {
    fn run(rooms: &Rooms, call: &Call<RegisterRequest>) -> Result<Answer<RegisterResponse>, Error> {
        let body = rooms.registry()?.register_if(&call.request, call.expected)?;
        Ok(Answer { revision: Some(body.revision), body })
    }
    let path = "/api/v1/register_agent_capabilities";
    Operation {
        group: CAPABILITIES,
        summary: "Register or update the skills of an agent: all of the request or none of it",
        refusals: &[400, 404, 409, 412, 500],
        versioned: true,
        ..Operation::new(Method::POST, path, "register_agent_capabilities", run)
    }
}

fn get() -> Operation {
    fn run(rooms: &Rooms, call: &Call<GetRequest>) -> Result<Answer<Formatted>, Error> {
        let found = rooms.registry()?.get(&call.request)?;
        let revision = Some(found.revision);
        Ok(Answer { body: found.formatted(call.request.format), revision })
    }
    let path = "/api/v1/get_agent_capabilities";
    Operation {
        group: CAPABILITIES,
        summary: "The skills of an agent",
        refusals: &[400, 404, 500],
        versioned: true,
        ..Operation::new(Method::GET, path, "get_agent_capabilities", run)
    }
}

fn list() -> Operation {
    fn run(rooms: &Rooms, call: &Call<ListRequest>) -> Result<Answer<ListResponse>, Error> {
        Ok(rooms.registry()?.list(&call.request)?.into())
    }
    let path = "/api/v1/list_all_capabilities";
    Operation {
        group: CAPABILITIES,
        summary: "The skills of all agents, by skill or by agent; with a query, those that answer \
                  it, best first",
        refusals: &[400, 500],
        ..Operation::new(Method::GET, path, "list_all_capabilities", run)
    }
}

fn deactivate() -> Operation {
    fn run(
        rooms: &Rooms,
        call: &Call<DeactivateRequest>,
    ) -> Result<Answer<DeactivateResponse>, Error> {
        let body = rooms.registry()?.deactivate_if(&call.request, call.expected)?;
        Ok(Answer { revision: Some(body.revision), body })
    }
    let path = "/api/v1/deactivate_capability";
    Operation {
        group: CAPABILITIES,
        summary: "Mark a skill of an agent as inactive; it stays registered",
        refusals: &[400, 404, 412, 500],
        versioned: true,
        ..Operation::new(Method::PATCH, path, "deactivate_capability", run)
    }
}

fn list_agents() -> Operation {
    fn run(rooms: &Rooms, call: &Call<ListAgentsRequest>) -> Result<Answer<AgentsResponse>, Error> {
        Ok(rooms.registry()?.agents(&call.request)?.into())
    }
    Operation {
        group: AGENTS,
        summary: "All agents, by id",
        refusals: &[400, 500],
        ..Operation::new(Method::GET, "/api/v1/agents", "list_agents", run)
    }
}

fn add_agent() -> Operation {
    fn run(rooms: &Rooms, call: &Call<AddAgentRequest>) -> Result<Answer<AgentResponse>, Error> {
        let body = rooms.registry()?.add_agent(&call.request)?;
        Ok(Answer { revision: Some(body.agent.revision), body })
    }
    Operation {
        group: AGENTS,
        summary: "Add an agent",
        success: StatusCode::CREATED,
        refusals: &[400, 409, 500],
        versioned: true,
        ..Operation::new(Method::POST, "/api/v1/agents", "add_agent", run)
    }
}

fn get_agent() -> Operation {
    fn run(rooms: &Rooms, call: &Call<GetAgentRequest>) -> Result<Answer<AgentResponse>, Error> {
        let body = rooms.registry()?.agent(&call.request)?;
        Ok(Answer { revision: Some(body.agent.revision), body })
    }
    Operation {
        group: AGENTS,
        summary: "One agent",
        refusals: &[400, 404, 500],
        versioned: true,
        ..Operation::new(Method::GET, "/api/v1/agents/{agent_id}", "get_agent", run)
    }
}

fn rename_agent() -> Operation {
    fn run(rooms: &Rooms, call: &Call<RenameAgentRequest>) -> Result<Answer<AgentResponse>, Error> {
        let body = rooms.registry()?.rename_agent_if(&call.request, call.expected)?;
        Ok(Answer { revision: Some(body.agent.revision), body })
    }
    Operation {
        group: AGENTS,
        summary: "Give an agent another name",
        refusals: &[400, 404, 409, 412, 500],
        versioned: true,
        ..Operation::new(Method::PATCH, "/api/v1/agents/{agent_id}", "rename_agent", run)
    }
}

fn remove_agent() -> Operation {
    fn run(
        rooms: &Rooms,
        call: &Call<RemoveAgentRequest>,
    ) -> Result<Answer<RemoveAgentResponse>, Error> {
        Ok(rooms.registry()?.remove_agent_if(&call.request, call.expected)?.into())
    }
    Operation {
        group: AGENTS,
        summary: "Remove an agent and all of its skills",
        refusals: &[400, 404, 412, 500],
        ..Operation::new(Method::DELETE, "/api/v1/agents/{agent_id}", "remove_agent", run)
    }
}

impl Fault for Error {
    type Body = ErrorBody;

    fn malformed(argument: &str, problem: String) -> Refusal {
        Self::invalid(argument, problem).refusal()
    }

    fn refusal(self) -> Refusal {
        if let Self::Database(source) = &self {
            tracing::error!(%source, "the registry's store failed");
        }
        let status = StatusCode::from_u16(self.http_status());
        Refusal {
            status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            body: serde_json::to_value(self.body()).unwrap_or_default(),
        }
    }
}
