//! What can be asked, each as one registration.

mod catalog;
mod compose;
mod gaps;
mod knowledge;
mod registry;

use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::operation::{Operation, Refusal};

pub(crate) use gaps::accept_proposal;

/// All there is.
pub(crate) fn operations() -> Vec<Operation> {
    let all = [
        knowledge::operations(),
        catalog::operations(),
        registry::operations(),
        gaps::operations(),
        compose::operations(),
    ];
    all.into_iter().flatten().collect()
}

/// An error of the rooms whose tools say a code, a message and the way out.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Hinted {
    /// A stable name for programs
    error: String,
    message: String,
    /// What to do about it
    hint: String,
}

impl Hinted {
    /// The arguments do not fit the schema.
    fn malformed(argument: &str, problem: &str) -> Refusal {
        let hint = "`/api/openapi.json` says what is taken".to_owned();
        Self::refusal("INVALID_ARGUMENT", format!("{argument}: {problem}"), hint)
    }

    fn refusal(code: &str, message: String, hint: String) -> Refusal {
        let status = status(code);
        if status.is_server_error() {
            tracing::error!(code, message, "a room failed");
        }
        let body = Self { error: code.to_owned(), message, hint };
        Refusal { status, body: serde_json::to_value(body).unwrap_or_default() }
    }
}

/// The status that goes with a code of those rooms.
pub(crate) fn status(code: &str) -> StatusCode {
    match code {
        "INTERNAL" | "CATALOG_UNUSABLE" => StatusCode::INTERNAL_SERVER_ERROR,
        "AMBIGUOUS_NODE" => StatusCode::CONFLICT,
        _ if code.ends_with("_NOT_FOUND") => StatusCode::NOT_FOUND,
        _ => StatusCode::BAD_REQUEST,
    }
}
