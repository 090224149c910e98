//! Errors with a code and a hint.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{name} is empty")]
    Empty { name: &'static str },
    #[error("{name} has {length} characters; at most {most} are read")]
    TooLong { name: &'static str, length: usize, most: usize },
    #[error("there is no agent `{asked}`")]
    AgentNotFound { asked: String, near: Vec<String> },
    #[error("there is no category `{asked}`")]
    CategoryNotFound { asked: String, known: Vec<String> },
    #[error("at least one of agent and category is needed")]
    NoFilter,
    #[error("`{}`: {problem}", path.display())]
    Unusable { path: PathBuf, problem: String },
}

impl Error {
    /// A stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Empty { .. } | Self::TooLong { .. } | Self::NoFilter => "INVALID_ARGUMENT",
            Self::AgentNotFound { .. } => "AGENT_NOT_FOUND",
            Self::CategoryNotFound { .. } => "CATEGORY_NOT_FOUND",
            Self::Unusable { .. } => "CATALOG_UNUSABLE",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Empty { name } => format!("say which {name} is meant"),
            Self::TooLong { .. } => "ask in fewer words".to_owned(),
            Self::AgentNotFound { near, .. } => format!("there is {}", near.join(", ")),
            Self::CategoryNotFound { known, .. } => format!("there is {}", known.join(", ")),
            Self::NoFilter => "ask for an agent, a category, or both".to_owned(),
            Self::Unusable { .. } => "`kenning catalog check` names every fault".to_owned(),
        }
    }
}
