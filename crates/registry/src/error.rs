//! Errors in the flat form of the contract: a code, a message, details.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::rules::shortened;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("Agent with ID {id} not found")]
    AgentNotFound { id: i64 },
    #[error("Agent '{name}' not found")]
    AgentNotNamed { name: String },
    #[error(
        "Invalid semantic version format: '{}'. Expected format: 'MAJOR.MINOR.PATCH'",
        shortened(provided)
    )]
    InvalidSemver { provided: String, expected: String },
    #[error("There is an agent {id} already, called '{}'", shortened(name))]
    AgentExists { id: i64, name: String },
    #[error("Capability already exists (use upsert): {}", quoted(skills))]
    DuplicateCapability { agent_id: i64, skills: Vec<String> },
    #[error("Agent {agent_id} has no capability '{}'", shortened(skill_name))]
    CapabilityNotFound { agent_id: i64, skill_name: String },
    #[error("{argument}: {problem}")]
    InvalidArgument { argument: String, problem: String },
    #[error("Agent {agent_id} has changed in the meantime")]
    Changed { agent_id: i64 },
    /// The source is for the log only: it may name hosts and tables.
    #[error("Database operation failed")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A stable name for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    AgentNotFound,
    AgentExists,
    InvalidSemver,
    DuplicateCapability,
    CapabilityNotFound,
    DatabaseError,
    InvalidArgument,
    /// Only for a caller that asked for a change to a certain revision.
    PreconditionFailed,
}

/// An error as callers see it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ErrorBody {
    /// Always false
    pub success: bool,
    pub error: Code,
    pub message: String,
    /// What the error is about: an object whose fields depend on the code
    pub details: Value,
}

impl Code {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgentNotFound => "AGENT_NOT_FOUND",
            Self::AgentExists => "AGENT_EXISTS",
            Self::InvalidSemver => "INVALID_SEMVER",
            Self::DuplicateCapability => "DUPLICATE_CAPABILITY",
            Self::CapabilityNotFound => "CAPABILITY_NOT_FOUND",
            Self::DatabaseError => "DATABASE_ERROR",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::PreconditionFailed => "PRECONDITION_FAILED",
        }
    }
}

impl Error {
    pub fn invalid(argument: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::InvalidArgument { argument: argument.into(), problem: problem.into() }
    }

    pub fn database(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Database(Box::new(source))
    }

    pub fn code(&self) -> Code {
        match self {
            Self::AgentNotFound { .. } | Self::AgentNotNamed { .. } => Code::AgentNotFound,
            Self::AgentExists { .. } => Code::AgentExists,
            Self::InvalidSemver { .. } => Code::InvalidSemver,
            Self::DuplicateCapability { .. } => Code::DuplicateCapability,
            Self::CapabilityNotFound { .. } => Code::CapabilityNotFound,
            Self::InvalidArgument { .. } => Code::InvalidArgument,
            Self::Changed { .. } => Code::PreconditionFailed,
            Self::Database(_) => Code::DatabaseError,
        }
    }

    pub fn details(&self) -> Value {
        match self {
            Self::AgentNotFound { id } => json!({"agent_id": id}),
            Self::AgentExists { id, name } => {
                json!({"agent_id": id, "agent_name": shortened(name)})
            }
            Self::AgentNotNamed { name } => json!({"agent_name": shortened(name)}),
            Self::InvalidSemver { provided, expected } => {
                json!({"provided": shortened(provided), "expected": expected})
            }
            Self::DuplicateCapability { agent_id, skills } => {
                json!({"agent_id": agent_id, "skill_names": skills})
            }
            Self::CapabilityNotFound { agent_id, skill_name } => {
                json!({"agent_id": agent_id, "skill_name": shortened(skill_name)})
            }
            Self::InvalidArgument { argument, .. } => json!({"argument": argument}),
            Self::Changed { agent_id } => json!({"agent_id": agent_id}),
            Self::Database(_) => json!({}),
        }
    }

    /// The error as callers see it.
    pub fn body(&self) -> ErrorBody {
        ErrorBody {
            success: false,
            error: self.code(),
            message: self.to_string(),
            details: self.details(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::AgentNotFound { .. } | Self::AgentNotNamed { .. } => {
                "`kenning agents list` lists the agents, `kenning agents add` adds one"
            }
            Self::AgentExists { .. } => "choose another name and id, or use the existing agent",
            Self::InvalidSemver { .. } => "versions follow semver.org, for example 1.2.0",
            Self::DuplicateCapability { .. } => "`upsert: true` updates existing capabilities",
            Self::CapabilityNotFound { .. } => {
                "`get_agent_capabilities` with `active_only: false` lists what the agent has"
            }
            Self::Changed { .. } => "read the agent again and retry with its new revision",
            Self::InvalidArgument { .. } | Self::Database(_) => return None,
        })
    }
}

/// The first few names.
fn quoted(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> =
        names.iter().take(SHOWN).map(|name| format!("'{}'", shortened(name))).collect();
    match names.len() {
        0..=SHOWN => shown.join(", "),
        all => format!("{} and {} more", shown.join(", "), all - SHOWN),
    }
}
