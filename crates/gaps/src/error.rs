//! Errors in the same flat form as the registry's: a code, a message, details.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::event::BatchError;
use crate::gap::GapError;
use crate::ports::PortError;
use crate::proposal::ProposalError;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no gap `{id}`")]
    GapNotFound { id: String },
    #[error("there is no proposal `{id}`")]
    ProposalNotFound { id: String },
    #[error(transparent)]
    Gap(#[from] GapError),
    #[error(transparent)]
    Proposal(#[from] ProposalError),
    #[error(transparent)]
    Batch(#[from] BatchError),
    #[error("`{argument}` {problem}")]
    InvalidArgument { argument: String, problem: String },
    /// The proposal stays as it was.
    #[error("{0}")]
    NotWritten(String),
    /// The cause is for the log only: it may name hosts and tables.
    #[error("the store failed")]
    Port(#[from] PortError),
}

/// A stable name for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    GapNotFound,
    ProposalNotFound,
    InvalidArgument,
    /// It makes no sense for a gap or a proposal in that state.
    InvalidState,
    DatabaseError,
}

impl Code {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GapNotFound => "GAP_NOT_FOUND",
            Self::ProposalNotFound => "PROPOSAL_NOT_FOUND",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::InvalidState => "INVALID_STATE",
            Self::DatabaseError => "DATABASE_ERROR",
        }
    }
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

impl Error {
    pub(crate) fn invalid(argument: &str, problem: impl Into<String>) -> Self {
        Self::InvalidArgument { argument: argument.to_owned(), problem: problem.into() }
    }

    pub(crate) fn no_gap(id: &str) -> Self {
        Self::GapNotFound { id: id.to_owned() }
    }

    pub(crate) fn no_proposal(id: &str) -> Self {
        Self::ProposalNotFound { id: id.to_owned() }
    }

    pub fn code(&self) -> Code {
        match self {
            Self::GapNotFound { .. } => Code::GapNotFound,
            Self::ProposalNotFound { .. } => Code::ProposalNotFound,
            Self::Gap(_) | Self::Proposal(ProposalError::Decided { .. }) | Self::NotWritten(_) => {
                Code::InvalidState
            }
            Self::Proposal(_) | Self::Batch(_) | Self::InvalidArgument { .. } => {
                Code::InvalidArgument
            }
            Self::Port(_) => Code::DatabaseError,
        }
    }

    /// The error as callers see it.
    pub fn body(&self) -> ErrorBody {
        let details = match self {
            Self::GapNotFound { id } => json!({"gapId": id}),
            Self::ProposalNotFound { id } => json!({"proposalId": id}),
            Self::InvalidArgument { argument, .. } => json!({"argument": argument}),
            _ => json!({}),
        };
        ErrorBody { success: false, error: self.code(), message: self.to_string(), details }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::GapNotFound { .. } => "`kenning gaps --status all` lists the gaps there are",
            Self::ProposalNotFound { .. } => "`kenning proposals` lists the proposals there are",
            Self::Proposal(ProposalError::Decided { .. }) => {
                "a decision is final; propose the text again in other words"
            }
            Self::NotWritten(_) => "the proposal is unchanged; fix the problem and accept it again",
            _ => return None,
        })
    }
}
